// Exact histograms of small integers (lengths, batch sizes): every distinct value is counted by
// itself. Memory is bounded: past a number of distinct values the quantum doubles, to a multiple of
// which lengths are rounded up, and the quantum in the result says so.
//
// Threading: values; one thread at a time each.
// Merging:   associative and commutative for one bound, since quanta are powers of two: the result
//            has the smallest quantum that is neither finer than a part's nor breaks the bound.

#ifndef LEEWAY_TELEMETRY_LENGTH_COUNTS_H_
#define LEEWAY_TELEMETRY_LENGTH_COUNTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "leeway/status.h"

namespace leeway::telemetry {

struct LengthCount {
  std::int64_t length = 0;
  std::uint64_t count = 0;

  friend bool operator==(const LengthCount&, const LengthCount&) = default;
};

// Longer ones are counted as this. A multiple of every quantum.
inline constexpr std::int64_t kMaxLength = std::int64_t{1} << 62;

// A finished histogram.
struct AlignedCounts {
  // A power of two up to kMaxLength; 1 is exact.
  std::int64_t quantum = 1;
  // Ascending multiples of the quantum, counts above 0, their sum below 2^64.
  std::vector<LengthCount> counts;

  std::uint64_t total() const;
  // Rounds up to a coarser quantum; a finer one changes nothing.
  void CoarsenTo(std::int64_t coarser);
  // Adds `other` and coarsens until at most `max_distinct` >= 2 lengths are left. kOutOfRange if
  // the total leaves 64 bits: then nothing changed.
  Status Merge(const AlignedCounts& other, std::size_t max_distinct);

  friend bool operator==(const AlignedCounts&, const AlignedCounts&) = default;
};

// A histogram that is being filled.
class LengthCounts {
 public:
  // Values up to here times the quantum take one array access; those above a tree.
  static constexpr std::int64_t kFlat = std::int64_t{1} << 17;

  struct Options {
    // A power of two.
    std::int64_t quantum = 1;
    // At least 2.
    std::size_t max_distinct = std::size_t{1} << 14;
  };

  LengthCounts() : LengthCounts(Options()) {}
  explicit LengthCounts(Options options);

  // Requires length >= 0.
  void Add(std::int64_t length, std::uint64_t count = 1);
  // Back to nothing and the first quantum; keeps the memory.
  void Clear();

  std::int64_t quantum() const { return std::int64_t{1} << shift_; }
  // How often the quantum doubled.
  int coarsenings() const { return shift_ - first_shift_; }
  std::size_t distinct() const { return distinct_; }
  AlignedCounts Counts() const;

 private:
  // Counts for length = index · quantum. Returns the counter.
  std::uint64_t& At(std::int64_t index);
  void Coarsen();

  int first_shift_;
  int shift_;
  std::size_t max_distinct_;
  std::size_t distinct_ = 0;
  std::vector<std::uint64_t> flat_;
  std::map<std::int64_t, std::uint64_t> sparse_;
};

}  // namespace leeway::telemetry

#endif  // LEEWAY_TELEMETRY_LENGTH_COUNTS_H_
