#include "telemetry/length_counts.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/status_macros.h"

namespace leeway::telemetry {
namespace {

constexpr std::size_t kSmallestArray = 1024;

// Cannot overflow: `length` is at most kMaxLength, a multiple of the quantum.
std::int64_t RoundUp(std::int64_t length, std::int64_t quantum) {
  return (length + (quantum - 1)) & ~(quantum - 1);
}

// Appends or adds to the last, where lengths ascend.
void Append(std::vector<LengthCount>& counts, LengthCount next) {
  if (!counts.empty() && counts.back().length == next.length) {
    counts.back().count += next.count;
  } else {
    counts.push_back(next);
  }
}

std::vector<LengthCount> Union(const std::vector<LengthCount>& a,
                               const std::vector<LengthCount>& b) {
  std::vector<LengthCount> merged;
  merged.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    const bool from_a = j == b.size() || (i < a.size() && a[i].length <= b[j].length);
    Append(merged, from_a ? a[i++] : b[j++]);
  }
  return merged;
}

}  // namespace

std::uint64_t AlignedCounts::total() const {
  std::uint64_t total = 0;
  for (const LengthCount& entry : counts) total += entry.count;
  return total;
}

void AlignedCounts::CoarsenTo(std::int64_t coarser) {
  if (coarser <= quantum) return;
  quantum = coarser;
  std::vector<LengthCount> coarse;
  for (const LengthCount& entry : counts) {
    Append(coarse, {RoundUp(entry.length, quantum), entry.count});
  }
  counts = std::move(coarse);
}

Status AlignedCounts::Merge(const AlignedCounts& other, std::size_t max_distinct) {
  std::uint64_t sum;
  if (__builtin_add_overflow(total(), other.total(), &sum)) {
    return base::OutOfRange("the counts of " + std::to_string(counts.size()) + " and " +
                            std::to_string(other.counts.size()) + " lengths exceed 64 bits");
  }
  AlignedCounts aligned = other;
  aligned.CoarsenTo(quantum);
  CoarsenTo(aligned.quantum);
  counts = Union(counts, aligned.counts);
  while (counts.size() > max_distinct) CoarsenTo(quantum * 2);
  return {};
}

LengthCounts::LengthCounts(Options options)
    : first_shift_(std::countr_zero(static_cast<std::uint64_t>(options.quantum))),
      shift_(first_shift_),
      max_distinct_(options.max_distinct) {
  LEEWAY_CHECK(options.quantum > 0 && options.quantum <= kMaxLength &&
               std::has_single_bit(static_cast<std::uint64_t>(options.quantum)));
  LEEWAY_CHECK(options.max_distinct >= 2);
}

void LengthCounts::Add(std::int64_t length, std::uint64_t count) {
  if (count == 0) return;
  const std::int64_t bounded = std::min(length, kMaxLength);
  std::uint64_t& counter = At((bounded + (quantum() - 1)) >> shift_);
  const bool first = counter == 0;
  counter += count;
  if (!first) return;
  ++distinct_;
  while (distinct_ > max_distinct_) Coarsen();
}

std::uint64_t& LengthCounts::At(std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  if (at < flat_.size()) [[likely]]
    return flat_[at];
  if (index >= kFlat) return sparse_[index];
  flat_.resize(std::max(kSmallestArray, std::bit_ceil(at + 1)));
  return flat_[at];
}

void LengthCounts::Coarsen() {
  ++shift_;
  distinct_ = 0;
  const auto add = [this](std::int64_t index, std::uint64_t count) {
    std::uint64_t& counter = At(index);
    distinct_ += counter == 0 ? 1 : 0;
    counter += count;
  };
  // In place: an index moves to one that was read before, or stays (0 and 1).
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    if (const std::uint64_t count = std::exchange(flat_[i], 0); count > 0) {
      add(static_cast<std::int64_t>((i + 1) / 2), count);
    }
  }
  for (const auto& [index, count] : std::exchange(sparse_, {})) add((index + 1) / 2, count);
}

void LengthCounts::Clear() {
  shift_ = first_shift_;
  distinct_ = 0;
  std::fill(flat_.begin(), flat_.end(), 0);
  sparse_.clear();
}

AlignedCounts LengthCounts::Counts() const {
  AlignedCounts result;
  result.quantum = quantum();
  result.counts.reserve(distinct_);
  for (std::size_t i = 0; i < flat_.size(); ++i) {
    if (flat_[i] > 0) {
      result.counts.push_back({static_cast<std::int64_t>(i) << shift_, flat_[i]});
    }
  }
  for (const auto& [index, count] : sparse_) result.counts.push_back({index << shift_, count});
  return result;
}

}  // namespace leeway::telemetry
