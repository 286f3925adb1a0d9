// What replicas saw in ranges of their lives, as plain values: a mirror of telemetry.proto.
//
// Merging:   associative and commutative, byte for byte after Serialize(); an empty snapshot is the
//            neutral element. Snapshots of different plans, devices or origins do not merge: their
//            sums would mean nothing. A replica exports either its whole life so far, of which only
//            the newest is merged, or ranges cut where nothing is in flight.
// Canonical: lists are sorted by their keys, equal keys are summed, adjacent ranges of one life are
//            one. Merge, Serialize and Parse give nothing else.
// Threading: a value.
// Errors:    sums never wrap: an overflow is kOutOfRange and names the sum.

#ifndef LEEWAY_TELEMETRY_SNAPSHOT_H_
#define LEEWAY_TELEMETRY_SNAPSHOT_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/attribution.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/types.h"
#include "telemetry/exponential_histogram.h"
#include "telemetry/length_recorder.h"

namespace leeway::telemetry {

// A replica's life begins when its process does; a restart begins another.
struct ReplicaRange {
  std::string replica;
  std::int64_t start_unix_ns = 0;
  // Inclusive.
  std::uint64_t first_sequence = 0;
  std::uint64_t last_sequence = 0;

  friend auto operator<=>(const ReplicaRange&, const ReplicaRange&) = default;
};

struct ReasonCount {
  std::string reason;
  std::uint64_t count = 0;
  // Core time that went into it; of fallbacks.
  Nanos core_time{0};

  friend bool operator==(const ReasonCount&, const ReasonCount&) = default;
};

struct Counters {
  std::uint64_t submitted = 0;
  std::uint64_t ok = 0;
  std::uint64_t rejected = 0;
  std::uint64_t expired = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t failed = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t fallback = 0;
  std::uint64_t steps = 0;
  std::uint64_t steals = 0;
  std::uint64_t stray_completions = 0;
  std::uint64_t events_dropped = 0;
  std::uint64_t attribution_missing = 0;
  std::uint64_t runs = 0;
  std::uint64_t affinity_holds = 0;
  std::vector<ReasonCount> rejected_by;
  std::vector<ReasonCount> fallback_by;

  // Every submitted request has ended once or is in flight.
  bool Balanced() const;

  friend bool operator==(const Counters&, const Counters&) = default;
};

struct StreamTelemetry {
  std::string name;
  // 0 if unknown.
  std::uint32_t priority_level = 0;
  Counters counters;
  ExponentialHistogram latency_ns;
  ExponentialHistogram queue_wait_ns;
  // Sums over all OK requests.
  Attribution attribution;

  friend bool operator==(const StreamTelemetry&, const StreamTelemetry&) = default;
};

struct CoreTelemetry {
  std::string name;
  Nanos busy{0};
  std::uint64_t steps = 0;
  std::int64_t dram_bytes = 0;
  std::int64_t energy_pj = 0;
  // Weights that stay between runs: found, not found and fetched, evicted; bytes fetched.
  std::uint64_t weight_hits = 0, weight_misses = 0, weight_evictions = 0;
  std::int64_t weight_bytes = 0;

  friend bool operator==(const CoreTelemetry&, const CoreTelemetry&) = default;
};

struct GroupTelemetry {
  std::string entry;
  std::string variant;
  std::string group;
  std::uint64_t launches = 0;
  Nanos observed{0};
  Nanos predicted{0};
  Nanos fallback{0};

  friend bool operator==(const GroupTelemetry&, const GroupTelemetry&) = default;
};

// A hole in what a snapshot covers: sequences missing between two ranges of one life, or a new life
// of the same replica.
struct Discontinuity {
  enum class Kind { kGap, kRestart };
  Kind kind = Kind::kGap;
  std::string replica;
  // Of the life with the gap, or of the new life.
  std::int64_t start_unix_ns = 0;
  // Missing sequences, inclusive; 0 for a restart.
  std::uint64_t first_missing = 0;
  std::uint64_t last_missing = 0;

  friend bool operator==(const Discontinuity&, const Discontinuity&) = default;
};

struct Snapshot {
  // Bounds that Parse() and Serialize() hold to.
  static constexpr std::size_t kMaxBytes = std::size_t{64} << 20;
  static constexpr std::size_t kMaxMessages = std::size_t{1} << 18;
  static constexpr std::size_t kMaxNameBytes = 1024;
  static constexpr std::size_t kMaxDistinctLengths = std::size_t{1} << 16;
  static constexpr std::uint32_t kReaderVersion = 1;

  std::vector<ReplicaRange> ranges;
  // None only in an empty snapshot.
  std::optional<Origin> origin;
  // 32 bytes, or empty if there was none.
  std::string plan_digest;
  std::string device_digest;
  std::vector<StreamTelemetry> streams;
  std::vector<CoreTelemetry> cores;
  std::vector<LengthWindow> lengths;
  std::vector<GroupTelemetry> groups;
  Counters counters;

  // Adds `other`. On an error nothing changed: kAlreadyExists if both cover the same sequences of a
  // replica, kFailedPrecondition for another plan, device or origin, or a part without a range,
  // kOutOfRange for a sum that overflows.
  Status Merge(const Snapshot& other);

  // Makes the canonical form. kAlreadyExists for ranges that overlap, kOutOfRange.
  Status Canonicalise();

  // Returns the bytes of the canonical form. Errors of Canonicalise(), and kInvalidArgument for
  // what Parse() would refuse, by field path.
  Result<std::string> Serialize() const;
  // kInvalidArgument by field path, kResourceExhausted past a bound, kFailedPrecondition if written
  // for a newer reader. Time and memory are bounded by the size of `bytes`.
  static Result<Snapshot> Parse(std::string_view bytes);

  // submitted = ok + rejected + expired + cancelled + failed + in_flight, for each stream and in
  // all, and the streams add up to all. kFailedPrecondition names the first that does not hold.
  Status CheckBalance() const;

  // Requires the canonical form. In the order of the ranges.
  std::vector<Discontinuity> Discontinuities() const;

  bool empty() const { return *this == Snapshot(); }
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

// Checks the values of a canonical snapshot against what Parse() accepts (snapshot_check.cc).
Status CheckValues(const Snapshot& snapshot);

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_SNAPSHOT_H_
