// The only file here that sees generated code: snapshots to bytes and back.

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "base/status_macros.h"
#include "leeway_internal/telemetry/v1alpha/telemetry.pb.h"
#include "telemetry/message_count.h"
#include "telemetry/snapshot.h"

namespace leeway::telemetry {

namespace pb = ::leeway_internal::telemetry::v1alpha;

namespace {

__extension__ typedef __int128 Int128;

Status Malformed(const std::string& path, const std::string& what) {
  return base::InvalidArgument(path + ": " + what);
}

// Generated code counts elements with int.
template <typename Repeated>
std::size_t SizeOf(const Repeated& repeated) {
  return static_cast<std::size_t>(repeated.size());
}

// What the counts and bounds of a histogram must agree on, buckets aside.
Status CheckSums(const pb::ExponentialHistogram& in, std::uint64_t total, const std::string& path) {
  if (in.count() != total) {
    return Malformed(path + ".count", std::to_string(in.count()) + " is not the buckets' sum " +
                                          std::to_string(total));
  }
  if (in.min() < 0 || in.min() > in.max()) {
    return Malformed(path, "min " + std::to_string(in.min()) + " and max " +
                               std::to_string(in.max()) + " are no range of what is not negative");
  }
  // A saturated sum is below its bounds.
  const bool saturated = in.sum() == std::numeric_limits<std::int64_t>::max();
  const Int128 count = static_cast<Int128>(total);
  if (in.sum() > count * in.max() || (!saturated && in.sum() < count * in.min())) {
    return Malformed(path + ".sum", std::to_string(in.sum()) + " is not within count·[min, max]");
  }
  return {};
}

}  // namespace

// Befriended by the histogram: makes one from parts that were checked.
class SnapshotCodec {
 public:
  static Result<ExponentialHistogram> Histogram(const pb::ExponentialHistogram& in,
                                                const std::string& path) {
    LEEWAY_RETURN_IF_ERROR(CheckShape(in, path));
    ExponentialHistogram out(in.scale());
    const auto& buckets = in.buckets();
    // Others may pad with empty buckets; the canonical form does not.
    auto first = std::find_if(buckets.begin(), buckets.end(), IsUsed);
    auto last = std::find_if(std::make_reverse_iterator(buckets.end()),
                             std::make_reverse_iterator(first), IsUsed)
                    .base();
    out.buckets_.assign(first, last);
    if (first != last)
      out.offset_ = in.offset() + static_cast<std::int32_t>(first - buckets.begin());
    std::uint64_t total = in.zero_count();
    for (std::uint64_t count : out.buckets_) {
      if (__builtin_add_overflow(total, count, &total)) {
        return Malformed(path + ".buckets", "their sum exceeds 64 bits");
      }
    }
    LEEWAY_RETURN_IF_ERROR(CheckSums(in, total, path));
    out.zero_count_ = in.zero_count();
    out.count_ = total;
    out.sum_ = in.sum();
    out.min_ = in.min();
    out.max_ = in.max();
    LEEWAY_RETURN_IF_ERROR(CheckExtremes(out, path));
    return out;
  }

 private:
  static bool IsUsed(std::uint64_t count) { return count > 0; }

  static Status CheckShape(const pb::ExponentialHistogram& in, const std::string& path) {
    if (in.scale() < 0 || in.scale() > ExponentialHistogram::kMaxScale) {
      return Malformed(path + ".scale", std::to_string(in.scale()) + " is not within [0, " +
                                            std::to_string(ExponentialHistogram::kMaxScale) + "]");
    }
    // 1 is in bucket −1, the largest int64 in the last.
    const std::int64_t end = std::int64_t{63} << in.scale();
    const std::int64_t past = in.offset() + static_cast<std::int64_t>(in.buckets_size());
    if (in.buckets_size() > 0 && (in.offset() < -1 || past > end)) {
      return Malformed(path + ".buckets", std::to_string(in.buckets_size()) + " from offset " +
                                              std::to_string(in.offset()) +
                                              " are not within [-1, " + std::to_string(end) + ")");
    }
    return {};
  }

  // The extremes must be in the outermost buckets: quantiles rely on it.
  static Status CheckExtremes(const ExponentialHistogram& h, const std::string& path) {
    const auto bucket = [&h](std::int64_t value) {
      return ExponentialHistogram::BucketOf(value, h.scale_);
    };
    bool ok = true;
    if (h.buckets_.empty()) {
      ok = h.min_ == 0 && h.max_ == 0;
    } else {
      const auto last = h.offset_ + static_cast<std::int32_t>(h.buckets_.size()) - 1;
      ok = h.zero_count_ > 0 ? h.min_ == 0 : h.min_ > 0 && bucket(h.min_) == h.offset_;
      ok = ok && h.max_ > 0 && bucket(h.max_) == last;
    }
    return ok ? Status() : Malformed(path, "min or max is not in the outermost buckets");
  }
};

namespace {

void Write(const ExponentialHistogram& in, pb::ExponentialHistogram& out) {
  out.set_scale(in.scale());
  out.set_zero_count(in.zero_count());
  out.set_offset(in.offset());
  out.mutable_buckets()->Add(in.buckets().begin(), in.buckets().end());
  out.set_count(in.count());
  out.set_sum(in.sum());
  out.set_min(in.min());
  out.set_max(in.max());
}

void Write(const std::vector<ReasonCount>& in,
           google::protobuf::RepeatedPtrField<pb::ReasonCount>& out) {
  for (const ReasonCount& reason : in) {
    pb::ReasonCount& to = *out.Add();
    to.set_reason(reason.reason);
    to.set_count(reason.count);
    to.set_core_ns(reason.core_time.count());
  }
}

std::vector<ReasonCount> Read(const google::protobuf::RepeatedPtrField<pb::ReasonCount>& in) {
  std::vector<ReasonCount> out;
  out.reserve(SizeOf(in));
  for (const pb::ReasonCount& reason : in) {
    out.push_back({reason.reason(), reason.count(), Nanos(reason.core_ns())});
  }
  return out;
}

void Write(const Counters& in, pb::Counters& out) {
  out.set_submitted(in.submitted);
  out.set_ok(in.ok);
  out.set_rejected(in.rejected);
  out.set_expired(in.expired);
  out.set_cancelled(in.cancelled);
  out.set_failed(in.failed);
  out.set_in_flight(in.in_flight);
  out.set_fallback(in.fallback);
  out.set_steps(in.steps);
  out.set_steals(in.steals);
  out.set_stray_completions(in.stray_completions);
  out.set_events_dropped(in.events_dropped);
  out.set_attribution_missing(in.attribution_missing);
  out.set_runs(in.runs);
  out.set_affinity_holds(in.affinity_holds);
  Write(in.rejected_by, *out.mutable_rejected_by());
  Write(in.fallback_by, *out.mutable_fallback_by());
}

Counters Read(const pb::Counters& in) {
  Counters out;
  out.submitted = in.submitted();
  out.ok = in.ok();
  out.rejected = in.rejected();
  out.expired = in.expired();
  out.cancelled = in.cancelled();
  out.failed = in.failed();
  out.in_flight = in.in_flight();
  out.fallback = in.fallback();
  out.steps = in.steps();
  out.steals = in.steals();
  out.stray_completions = in.stray_completions();
  out.events_dropped = in.events_dropped();
  out.attribution_missing = in.attribution_missing();
  out.runs = in.runs();
  out.affinity_holds = in.affinity_holds();
  out.rejected_by = Read(in.rejected_by());
  out.fallback_by = Read(in.fallback_by());
  return out;
}

void Write(const ReplicaRange& in, pb::ReplicaRange& out) {
  out.set_replica(in.replica);
  out.set_start_unix_ns(in.start_unix_ns);
  out.set_first_sequence(in.first_sequence);
  out.set_last_sequence(in.last_sequence);
}

Result<ReplicaRange> Read(const pb::ReplicaRange& in, const std::string&) {
  return ReplicaRange{in.replica(), in.start_unix_ns(), in.first_sequence(), in.last_sequence()};
}

void Write(const StreamTelemetry& in, pb::StreamTelemetry& out) {
  out.set_name(in.name);
  out.set_priority_level(in.priority_level);
  Write(in.counters, *out.mutable_counters());
  Write(in.latency_ns, *out.mutable_latency_ns());
  Write(in.queue_wait_ns, *out.mutable_queue_wait_ns());
  // Causes that came after the first version are written where there is something to tell, so that
  // a reader that does not know them can read all other snapshots.
  constexpr std::size_t kFirstCauses = 17;
  std::size_t causes = kCauseCount;
  while (causes > kFirstCauses && in.attribution.parts[causes - 1] == Nanos{0}) --causes;
  for (std::size_t i = 0; i < causes; ++i) {
    out.add_attribution_ns(in.attribution.parts[i].count());
  }
}

Result<StreamTelemetry> Read(const pb::StreamTelemetry& in, const std::string& path) {
  // An earlier writer may know fewer causes.
  if (SizeOf(in.attribution_ns()) > kCauseCount) {
    return Malformed(path + ".attribution_ns", std::to_string(in.attribution_ns_size()) +
                                                   " parts exceed " + std::to_string(kCauseCount));
  }
  StreamTelemetry out;
  out.name = in.name();
  out.priority_level = in.priority_level();
  out.counters = Read(in.counters());
  if (in.has_latency_ns()) {
    LEEWAY_ASSIGN_OR_RETURN(out.latency_ns,
                            SnapshotCodec::Histogram(in.latency_ns(), path + ".latency_ns"));
  }
  if (in.has_queue_wait_ns()) {
    LEEWAY_ASSIGN_OR_RETURN(out.queue_wait_ns,
                            SnapshotCodec::Histogram(in.queue_wait_ns(), path + ".queue_wait_ns"));
  }
  std::transform(in.attribution_ns().begin(), in.attribution_ns().end(),
                 out.attribution.parts.begin(), [](std::int64_t part) { return Nanos(part); });
  return out;
}

void Write(const CoreTelemetry& in, pb::CoreTelemetry& out) {
  out.set_name(in.name);
  out.set_busy_ns(in.busy.count());
  out.set_steps(in.steps);
  out.set_dram_bytes(in.dram_bytes);
  out.set_energy_pj(in.energy_pj);
  out.set_weight_hits(in.weight_hits);
  out.set_weight_misses(in.weight_misses);
  out.set_weight_evictions(in.weight_evictions);
  out.set_weight_bytes(in.weight_bytes);
}

Result<CoreTelemetry> Read(const pb::CoreTelemetry& in, const std::string&) {
  return CoreTelemetry{in.name(),          Nanos(in.busy_ns()),   in.steps(),
                       in.dram_bytes(),    in.energy_pj(),        in.weight_hits(),
                       in.weight_misses(), in.weight_evictions(), in.weight_bytes()};
}

void Write(const LengthWindow& in, pb::LengthWindow& out) {
  out.set_entry(in.entry);
  out.set_dim(in.dim);
  out.set_stream(in.stream);
  out.set_start_ns(in.start_ns);
  out.set_end_ns(in.end_ns);
  out.set_quantum(in.counts.quantum);
  std::int64_t last = 0;
  for (const LengthCount& entry : in.counts.counts) {
    out.add_length_delta(entry.length - last);
    out.add_counts(entry.count);
    last = entry.length;
  }
}

Result<LengthWindow> Read(const pb::LengthWindow& in, const std::string& path) {
  const std::size_t size = SizeOf(in.length_delta());
  if (size != SizeOf(in.counts()) || size > Snapshot::kMaxDistinctLengths) {
    return Malformed(path, std::to_string(size) + " lengths and " +
                               std::to_string(in.counts_size()) + " counts differ or exceed " +
                               std::to_string(Snapshot::kMaxDistinctLengths));
  }
  LengthWindow out{in.entry(), in.dim(), in.stream(), in.start_ns(), in.end_ns(), {}};
  out.counts.quantum = in.quantum() == 0 ? 1 : in.quantum();
  out.counts.counts.reserve(size);
  std::int64_t length = 0;
  for (int i = 0; i < in.length_delta_size(); ++i) {
    if (__builtin_add_overflow(length, in.length_delta(i), &length)) {
      return Malformed(path + ".length_delta[" + std::to_string(i) + "]",
                       "the sum exceeds 64 bits");
    }
    out.counts.counts.push_back({length, in.counts(i)});
  }
  return out;
}

void Write(const GroupTelemetry& in, pb::GroupTelemetry& out) {
  out.set_entry(in.entry);
  out.set_variant(in.variant);
  out.set_group(in.group);
  out.set_launches(in.launches);
  out.set_observed_ns(in.observed.count());
  out.set_predicted_ns(in.predicted.count());
  out.set_fallback_ns(in.fallback.count());
}

Result<GroupTelemetry> Read(const pb::GroupTelemetry& in, const std::string&) {
  return GroupTelemetry{in.entry(),
                        in.variant(),
                        in.group(),
                        in.launches(),
                        Nanos(in.observed_ns()),
                        Nanos(in.predicted_ns()),
                        Nanos(in.fallback_ns())};
}

template <typename T, typename Message>
void WriteEach(const std::vector<T>& in, google::protobuf::RepeatedPtrField<Message>& out) {
  for (const T& one : in) Write(one, *out.Add());
}

template <typename T, typename Message>
Status ReadEach(const google::protobuf::RepeatedPtrField<Message>& in, const char* list,
                std::vector<T>& out) {
  out.reserve(SizeOf(in));
  for (int i = 0; i < in.size(); ++i) {
    LEEWAY_ASSIGN_OR_RETURN(T one, Read(in[i], std::string(list) + "[" + std::to_string(i) + "]"));
    out.push_back(std::move(one));
  }
  return {};
}

Result<Snapshot> Read(const pb::Snapshot& in) {
  Snapshot out;
  if (in.origin() < 0 || in.origin() > pb::Snapshot::SIMULATED_UNCALIBRATED) {
    return Malformed("origin", std::to_string(in.origin()) + " is unknown");
  }
  // The enumerations agree by number.
  if (in.origin() != pb::Snapshot::ORIGIN_UNSPECIFIED)
    out.origin = static_cast<Origin>(in.origin());
  out.plan_digest = in.plan_digest();
  out.device_digest = in.device_digest();
  LEEWAY_RETURN_IF_ERROR(ReadEach(in.ranges(), "ranges", out.ranges));
  LEEWAY_RETURN_IF_ERROR(ReadEach(in.streams(), "streams", out.streams));
  LEEWAY_RETURN_IF_ERROR(ReadEach(in.cores(), "cores", out.cores));
  LEEWAY_RETURN_IF_ERROR(ReadEach(in.lengths(), "lengths", out.lengths));
  LEEWAY_RETURN_IF_ERROR(ReadEach(in.groups(), "groups", out.groups));
  out.counters = Read(in.counters());
  return out;
}

static_assert(static_cast<int>(Origin::kMeasured) == pb::Snapshot::MEASURED);
static_assert(static_cast<int>(Origin::kEmulated) == pb::Snapshot::EMULATED);
static_assert(static_cast<int>(Origin::kSimulatedCalibrated) == pb::Snapshot::SIMULATED_CALIBRATED);
static_assert(static_cast<int>(Origin::kSimulatedUncalibrated) ==
              pb::Snapshot::SIMULATED_UNCALIBRATED);

Status TooLarge(const char* what, std::size_t size, std::size_t bound) {
  return base::ResourceExhausted("a snapshot of " + std::to_string(size) + " " + what +
                                 " exceeds " + std::to_string(bound));
}

}  // namespace

Result<std::string> Snapshot::Serialize() const {
  Snapshot canonical = *this;
  LEEWAY_RETURN_IF_ERROR(canonical.Canonicalise());
  LEEWAY_RETURN_IF_ERROR(CheckValues(canonical));
  pb::Snapshot out;
  if (canonical.origin) out.set_origin(static_cast<pb::Snapshot::Origin>(*canonical.origin));
  out.set_plan_digest(canonical.plan_digest);
  out.set_device_digest(canonical.device_digest);
  out.set_min_reader_version(kReaderVersion);
  WriteEach(canonical.ranges, *out.mutable_ranges());
  WriteEach(canonical.streams, *out.mutable_streams());
  WriteEach(canonical.cores, *out.mutable_cores());
  WriteEach(canonical.lengths, *out.mutable_lengths());
  WriteEach(canonical.groups, *out.mutable_groups());
  Write(canonical.counters, *out.mutable_counters());
  const std::size_t size = out.ByteSizeLong();
  if (size > kMaxBytes) return TooLarge("bytes", size, kMaxBytes);
  return out.SerializeAsString();
}

Result<Snapshot> Snapshot::Parse(std::string_view bytes) {
  if (bytes.size() > kMaxBytes) return TooLarge("bytes", bytes.size(), kMaxBytes);
  // A message of two bytes takes a hundred in memory: count before the parser allocates them.
  const std::size_t messages = CountSnapshotMessages(bytes);
  if (messages > kMaxMessages) return TooLarge("messages", messages, kMaxMessages);
  pb::Snapshot in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return base::InvalidArgument("the bytes are no telemetry snapshot");
  }
  if (in.min_reader_version() > kReaderVersion) {
    return base::FailedPrecondition(
        "min_reader_version: " + std::to_string(in.min_reader_version()) +
        " is newer than this reader's " + std::to_string(kReaderVersion));
  }
  LEEWAY_ASSIGN_OR_RETURN(Snapshot out, Read(in));
  // Before sums are made of it; they are valid when their parts are.
  LEEWAY_RETURN_IF_ERROR(CheckValues(out));
  LEEWAY_RETURN_IF_ERROR(out.Canonicalise());
  return out;
}

}  // namespace leeway::telemetry
