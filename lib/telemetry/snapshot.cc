#include "telemetry/snapshot.h"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/status_macros.h"

namespace leeway::telemetry {
namespace {

// Adds without wrapping and remembers the first sum that would have.
class Adder {
 public:
  template <typename T>
  void Add(T& sum, T more, const char* what) {
    if constexpr (std::is_same_v<T, Nanos>) {
      std::int64_t count = sum.count();
      Add(count, more.count(), what);
      sum = Nanos(count);
    } else if (T total; __builtin_add_overflow(sum, more, &total)) {
      Overflow(what);
    } else {
      sum = total;
    }
  }

  void Overflow(const std::string& what) {
    if (status_.ok()) status_ = base::OutOfRange("the sum of " + what + " exceeds 64 bits");
  }

  void Keep(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }

  const Status& status() const { return status_; }

 private:
  Status status_;
};

struct CounterField {
  std::uint64_t Counters::*field;
  const char* name;
};

constexpr CounterField kFields[] = {
    {&Counters::submitted, "submitted"},
    {&Counters::ok, "ok"},
    {&Counters::rejected, "rejected"},
    {&Counters::expired, "expired"},
    {&Counters::cancelled, "cancelled"},
    {&Counters::failed, "failed"},
    {&Counters::in_flight, "in_flight"},
    {&Counters::fallback, "fallback"},
    {&Counters::steps, "steps"},
    {&Counters::steals, "steals"},
    {&Counters::stray_completions, "stray_completions"},
    {&Counters::events_dropped, "events_dropped"},
    {&Counters::attribution_missing, "attribution_missing"},
    {&Counters::runs, "runs"},
    {&Counters::affinity_holds, "affinity_holds"},
};

// The first seven are about requests: streams add up to the whole.
constexpr std::size_t kRequestFields = 7;

auto KeyOf(const ReasonCount& r) { return std::tie(r.reason); }
auto KeyOf(const StreamTelemetry& s) { return std::tie(s.name, s.priority_level); }
auto KeyOf(const CoreTelemetry& c) { return std::tie(c.name); }
auto KeyOf(const GroupTelemetry& g) { return std::tie(g.entry, g.variant, g.group); }
auto KeyOf(const LengthWindow& w) {
  return std::tie(w.entry, w.dim, w.stream, w.start_ns, w.end_ns);
}

void AddTo(ReasonCount& to, const ReasonCount& from, Adder& adder) {
  adder.Add(to.count, from.count, "reason counts");
  adder.Add(to.core_time, from.core_time, "core time by reason");
}

void AddTo(CoreTelemetry& to, const CoreTelemetry& from, Adder& adder) {
  adder.Add(to.busy, from.busy, "busy time");
  adder.Add(to.steps, from.steps, "steps of a core");
  adder.Add(to.dram_bytes, from.dram_bytes, "dram_bytes");
  adder.Add(to.energy_pj, from.energy_pj, "energy_pj");
  adder.Add(to.weight_hits, from.weight_hits, "weight_hits");
  adder.Add(to.weight_misses, from.weight_misses, "weight_misses");
  adder.Add(to.weight_evictions, from.weight_evictions, "weight_evictions");
  adder.Add(to.weight_bytes, from.weight_bytes, "weight_bytes");
}

void AddTo(GroupTelemetry& to, const GroupTelemetry& from, Adder& adder) {
  adder.Add(to.launches, from.launches, "launches");
  adder.Add(to.observed, from.observed, "observed time");
  adder.Add(to.predicted, from.predicted, "predicted time");
  adder.Add(to.fallback, from.fallback, "fallback time");
}

void AddTo(LengthWindow& to, const LengthWindow& from, Adder& adder) {
  adder.Keep(to.counts.Merge(from.counts, Snapshot::kMaxDistinctLengths));
}

void AddTo(ExponentialHistogram& to, const ExponentialHistogram& from, Adder& adder,
           const char* what) {
  std::uint64_t count = to.count();
  adder.Add(count, from.count(), what);
  // A histogram's own sum saturates; a merged one that did would lie.
  std::int64_t sum = to.sum();
  adder.Add(sum, from.sum(), what);
  to.Merge(from);
}

template <typename T>
void Append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// Leaves the reasons to be sorted and summed by Fold().
void AddTo(Counters& to, const Counters& from, Adder& adder) {
  for (const CounterField& f : kFields) adder.Add(to.*f.field, from.*f.field, f.name);
  Append(to.rejected_by, from.rejected_by);
  Append(to.fallback_by, from.fallback_by);
}

void AddTo(StreamTelemetry& to, const StreamTelemetry& from, Adder& adder) {
  AddTo(to.counters, from.counters, adder);
  AddTo(to.latency_ns, from.latency_ns, adder, "latency_ns");
  AddTo(to.queue_wait_ns, from.queue_wait_ns, adder, "queue_wait_ns");
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    adder.Add(to.attribution.parts[i], from.attribution.parts[i], "attribution_ns");
  }
}

// Sorts by key and sums what has the same key.
template <typename T>
void Fold(std::vector<T>& all, Adder& adder) {
  std::sort(all.begin(), all.end(), [](const T& a, const T& b) { return KeyOf(a) < KeyOf(b); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (kept > 0 && KeyOf(all[kept - 1]) == KeyOf(all[i])) {
      AddTo(all[kept - 1], all[i], adder);
    } else {
      if (kept != i) all[kept] = std::move(all[i]);
      ++kept;
    }
  }
  all.resize(kept);
}

void FoldReasons(Counters& counters, Adder& adder) {
  Fold(counters.rejected_by, adder);
  Fold(counters.fallback_by, adder);
}

bool SameLife(const ReplicaRange& a, const ReplicaRange& b) {
  return a.replica == b.replica && a.start_unix_ns == b.start_unix_ns;
}

Status FoldRanges(std::vector<ReplicaRange>& ranges) {
  std::sort(ranges.begin(), ranges.end());
  std::size_t kept = 0;
  for (const ReplicaRange& range : ranges) {
    ReplicaRange* last = kept > 0 ? &ranges[kept - 1] : nullptr;
    if (last == nullptr || !SameLife(*last, range)) {
      ranges[kept++] = ReplicaRange(range);
    } else if (range.first_sequence <= last->last_sequence) {
      return Status(StatusCode::kAlreadyExists,
                    "replica \"" + range.replica + "\" started at " +
                        std::to_string(range.start_unix_ns) + ": sequences " +
                        std::to_string(range.first_sequence) + " to " +
                        std::to_string(std::min(range.last_sequence, last->last_sequence)) +
                        " are covered twice");
    } else if (range.first_sequence - 1 == last->last_sequence) {
      last->last_sequence = range.last_sequence;
    } else {
      ranges[kept++] = ReplicaRange(range);
    }
  }
  ranges.resize(kept);
  return {};
}

Status CheckMergeable(const Snapshot& a, const Snapshot& b) {
  const auto refuse = [](const char* what) {
    return base::FailedPrecondition(std::string("snapshots of different ") + what +
                                    " do not merge");
  };
  for (const Snapshot* s : {&a, &b}) {
    if (s->ranges.empty() && !s->empty()) {
      return base::FailedPrecondition("a snapshot without a replica range does not merge");
    }
  }
  if (a.empty() || b.empty()) return {};
  if (a.origin != b.origin) return refuse("origins");
  if (a.plan_digest != b.plan_digest) return refuse("plans");
  if (a.device_digest != b.device_digest) return refuse("devices");
  return {};
}

Status CheckBalanceOf(const Counters& counters, const std::string& what) {
  if (counters.Balanced()) return {};
  return base::FailedPrecondition(
      what + ": submitted " + std::to_string(counters.submitted) + " is not ok " +
      std::to_string(counters.ok) + " + rejected " + std::to_string(counters.rejected) +
      " + expired " + std::to_string(counters.expired) + " + cancelled " +
      std::to_string(counters.cancelled) + " + failed " + std::to_string(counters.failed) +
      " + in_flight " + std::to_string(counters.in_flight));
}

}  // namespace

bool Counters::Balanced() const {
  std::uint64_t accounted = 0;
  for (std::uint64_t part : {ok, rejected, expired, cancelled, failed, in_flight}) {
    if (__builtin_add_overflow(accounted, part, &accounted)) return false;
  }
  return submitted == accounted;
}

Status Snapshot::Canonicalise() {
  LEEWAY_RETURN_IF_ERROR(FoldRanges(ranges));
  Adder adder;
  Fold(streams, adder);
  Fold(cores, adder);
  Fold(lengths, adder);
  Fold(groups, adder);
  FoldReasons(counters, adder);
  for (StreamTelemetry& stream : streams) FoldReasons(stream.counters, adder);
  return adder.status();
}

Status Snapshot::Merge(const Snapshot& other) {
  LEEWAY_RETURN_IF_ERROR(CheckMergeable(*this, other));
  Snapshot merged = *this;
  if (empty()) {
    merged.origin = other.origin;
    merged.plan_digest = other.plan_digest;
    merged.device_digest = other.device_digest;
  }
  Append(merged.ranges, other.ranges);
  Append(merged.streams, other.streams);
  Append(merged.cores, other.cores);
  Append(merged.lengths, other.lengths);
  Append(merged.groups, other.groups);
  Adder adder;
  AddTo(merged.counters, other.counters, adder);
  LEEWAY_RETURN_IF_ERROR(merged.Canonicalise());
  LEEWAY_RETURN_IF_ERROR(adder.status());
  *this = std::move(merged);
  return {};
}

Status Snapshot::CheckBalance() const {
  LEEWAY_RETURN_IF_ERROR(CheckBalanceOf(counters, "all streams"));
  Counters sum;
  Adder adder;
  for (const StreamTelemetry& stream : streams) {
    LEEWAY_RETURN_IF_ERROR(CheckBalanceOf(stream.counters, "stream \"" + stream.name + "\""));
    AddTo(sum, stream.counters, adder);
  }
  LEEWAY_RETURN_IF_ERROR(adder.status());
  for (std::size_t i = 0; i < kRequestFields && !streams.empty(); ++i) {
    const std::uint64_t whole = counters.*kFields[i].field;
    const std::uint64_t parts = sum.*kFields[i].field;
    if (whole == parts) continue;
    return base::FailedPrecondition(std::string("all streams: ") + kFields[i].name + " " +
                                    std::to_string(whole) + " is not the streams' sum " +
                                    std::to_string(parts));
  }
  return {};
}

std::vector<Discontinuity> Snapshot::Discontinuities() const {
  std::vector<Discontinuity> found;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const ReplicaRange& before = ranges[i - 1];
    const ReplicaRange& range = ranges[i];
    if (before.replica != range.replica) continue;
    Discontinuity d;
    d.replica = range.replica;
    d.start_unix_ns = range.start_unix_ns;
    if (SameLife(before, range)) {
      d.first_missing = before.last_sequence + 1;
      d.last_missing = range.first_sequence - 1;
    } else {
      d.kind = Discontinuity::Kind::kRestart;
    }
    found.push_back(std::move(d));
  }
  return found;
}

}  // namespace leeway::telemetry
