#include <bit>
#include <limits>
#include <string>
#include <string_view>

#include "base/status_macros.h"
#include "base/utf8.h"
#include "telemetry/snapshot.h"

namespace leeway::telemetry {
namespace {

std::string At(const char* list, std::size_t i, const char* field = "") {
  return std::string(list) + "[" + std::to_string(i) + "]" + field;
}

Status Invalid(const std::string& path, const std::string& what) {
  return base::InvalidArgument(path + ": " + what);
}

Status CheckName(const std::string& name, const std::string& path) {
  if (name.size() > Snapshot::kMaxNameBytes) {
    return Invalid(path, std::to_string(name.size()) + " bytes exceed " +
                             std::to_string(Snapshot::kMaxNameBytes));
  }
  return base::IsUtf8(name) ? Status() : Invalid(path, "is not UTF-8");
}

Status CheckNotNegative(std::int64_t value, const std::string& path) {
  return value >= 0 ? Status() : Invalid(path, std::to_string(value) + " is negative");
}

Status CheckDigest(const std::string& digest, const char* path) {
  if (digest.empty() || digest.size() == 32) return {};
  return Invalid(path, std::to_string(digest.size()) + " bytes are not a digest of 32");
}

Status CheckReasons(const std::vector<ReasonCount>& reasons, const std::string& path) {
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const std::string at = At(path.c_str(), i);
    LEEWAY_RETURN_IF_ERROR(CheckName(reasons[i].reason, at + ".reason"));
    LEEWAY_RETURN_IF_ERROR(CheckNotNegative(reasons[i].core_time.count(), at + ".core_ns"));
  }
  return {};
}

Status CheckCounters(const Counters& counters, const std::string& path) {
  LEEWAY_RETURN_IF_ERROR(CheckReasons(counters.rejected_by, path + ".rejected_by"));
  return CheckReasons(counters.fallback_by, path + ".fallback_by");
}

// `least` is exclusive, so that the lengths ascend.
Status CheckLength(const LengthCount& entry, std::int64_t quantum, std::int64_t least,
                   const std::string& path) {
  const std::string length = "length " + std::to_string(entry.length);
  if (entry.length <= least) return Invalid(path, length + " does not ascend");
  if (entry.length > kMaxLength) return Invalid(path, length + " is too large");
  if (entry.length % quantum != 0) {
    return Invalid(path, length + " is no multiple of " + std::to_string(quantum));
  }
  if (entry.count == 0) return Invalid(path, length + " has a count of 0");
  return {};
}

Status CheckLengths(const AlignedCounts& counts, const std::string& path) {
  const std::int64_t quantum = counts.quantum;
  if (quantum < 1 || quantum > kMaxLength ||
      !std::has_single_bit(static_cast<std::uint64_t>(quantum))) {
    return Invalid(path + ".quantum", std::to_string(quantum) + " is no power of two");
  }
  if (counts.counts.size() > Snapshot::kMaxDistinctLengths) {
    return Invalid(path, std::to_string(counts.counts.size()) + " lengths exceed " +
                             std::to_string(Snapshot::kMaxDistinctLengths));
  }
  std::int64_t last = -1;
  std::uint64_t total = 0;
  for (const LengthCount& entry : counts.counts) {
    LEEWAY_RETURN_IF_ERROR(CheckLength(entry, quantum, last, path));
    last = entry.length;
    if (__builtin_add_overflow(total, entry.count, &total)) {
      return Invalid(path + ".counts", "their sum exceeds 64 bits");
    }
  }
  return {};
}

Status CheckWindow(const LengthWindow& window, const std::string& path) {
  LEEWAY_RETURN_IF_ERROR(CheckName(window.entry, path + ".entry"));
  LEEWAY_RETURN_IF_ERROR(CheckName(window.dim, path + ".dim"));
  LEEWAY_RETURN_IF_ERROR(CheckName(window.stream, path + ".stream"));
  if (window.start_ns >= window.end_ns) {
    return Invalid(path, "start_ns " + std::to_string(window.start_ns) + " is not before end_ns " +
                             std::to_string(window.end_ns));
  }
  return CheckLengths(window.counts, path);
}

Status CheckCore(const CoreTelemetry& core, const std::string& path) {
  LEEWAY_RETURN_IF_ERROR(CheckName(core.name, path + ".name"));
  LEEWAY_RETURN_IF_ERROR(CheckNotNegative(core.busy.count(), path + ".busy_ns"));
  LEEWAY_RETURN_IF_ERROR(CheckNotNegative(core.dram_bytes, path + ".dram_bytes"));
  LEEWAY_RETURN_IF_ERROR(CheckNotNegative(core.energy_pj, path + ".energy_pj"));
  return CheckNotNegative(core.weight_bytes, path + ".weight_bytes");
}

// The fallback time may be negative: generic time less what was predicted.
Status CheckGroup(const GroupTelemetry& group, const std::string& path) {
  LEEWAY_RETURN_IF_ERROR(CheckName(group.entry, path + ".entry"));
  LEEWAY_RETURN_IF_ERROR(CheckName(group.variant, path + ".variant"));
  LEEWAY_RETURN_IF_ERROR(CheckName(group.group, path + ".group"));
  LEEWAY_RETURN_IF_ERROR(CheckNotNegative(group.observed.count(), path + ".observed_ns"));
  return CheckNotNegative(group.predicted.count(), path + ".predicted_ns");
}

Status CheckRange(const ReplicaRange& range, const std::string& path) {
  if (range.replica.empty()) return Invalid(path + ".replica", "is empty");
  LEEWAY_RETURN_IF_ERROR(CheckName(range.replica, path + ".replica"));
  if (range.first_sequence > range.last_sequence) {
    return Invalid(path, "first_sequence " + std::to_string(range.first_sequence) +
                             " is past last_sequence " + std::to_string(range.last_sequence));
  }
  return {};
}

Status CheckStream(const StreamTelemetry& stream, const std::string& path) {
  LEEWAY_RETURN_IF_ERROR(CheckName(stream.name, path + ".name"));
  if (stream.priority_level > Priority::kLeastUrgent) {
    return Invalid(path + ".priority_level", std::to_string(stream.priority_level) + " exceeds " +
                                                 std::to_string(Priority::kLeastUrgent));
  }
  return CheckCounters(stream.counters, path + ".counters");
}

template <typename T>
Status CheckEach(const std::vector<T>& all, const char* list,
                 Status (*check)(const T&, const std::string&)) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    LEEWAY_RETURN_IF_ERROR(check(all[i], At(list, i)));
  }
  return {};
}

Status CheckMessageCount(const Snapshot& s) {
  std::size_t messages = s.ranges.size() + s.cores.size() + s.lengths.size() + s.groups.size() +
                         s.counters.rejected_by.size() + s.counters.fallback_by.size() + 1;
  for (const StreamTelemetry& stream : s.streams) {
    messages += 4 + stream.counters.rejected_by.size() + stream.counters.fallback_by.size();
  }
  if (messages <= Snapshot::kMaxMessages) return {};
  return base::ResourceExhausted("a snapshot of " + std::to_string(messages) +
                                 " messages exceeds " + std::to_string(Snapshot::kMaxMessages));
}

}  // namespace

Status CheckValues(const Snapshot& snapshot) {
  if (snapshot.empty()) return {};
  LEEWAY_RETURN_IF_ERROR(CheckMessageCount(snapshot));
  if (snapshot.ranges.empty()) return Invalid("ranges", "are empty, but the snapshot is not");
  if (!snapshot.origin) return Invalid("origin", "is not specified");
  LEEWAY_RETURN_IF_ERROR(CheckDigest(snapshot.plan_digest, "plan_digest"));
  LEEWAY_RETURN_IF_ERROR(CheckDigest(snapshot.device_digest, "device_digest"));
  LEEWAY_RETURN_IF_ERROR(CheckEach(snapshot.ranges, "ranges", CheckRange));
  LEEWAY_RETURN_IF_ERROR(CheckEach(snapshot.streams, "streams", CheckStream));
  LEEWAY_RETURN_IF_ERROR(CheckEach(snapshot.cores, "cores", CheckCore));
  LEEWAY_RETURN_IF_ERROR(CheckEach(snapshot.lengths, "lengths", CheckWindow));
  LEEWAY_RETURN_IF_ERROR(CheckEach(snapshot.groups, "groups", CheckGroup));
  return CheckCounters(snapshot.counters, "counters");
}

}  // namespace leeway::telemetry
