// What a window of traffic asked for: distinct lengths, each with a weight. Lengths are small
// integers, so the histogram is exact; weights may be fractional (expected counts, decayed or
// normalised history).
//
// Threading: a value; distinct objects may be used from distinct threads.
// Order:     entries ascend by length and every sum runs in that order, so that equal inputs give
//            equal bits on every machine.

#ifndef LEEWAY_RETUNE_LENGTH_HISTOGRAM_H_
#define LEEWAY_RETUNE_LENGTH_HISTOGRAM_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/prng.h"

namespace leeway::retune {

struct LengthWeight {
  std::int64_t length = 0;
  double weight = 0;

  friend bool operator==(const LengthWeight&, const LengthWeight&) = default;
};

class LengthHistogram {
 public:
  using const_iterator = std::vector<LengthWeight>::const_iterator;

  LengthHistogram() = default;
  // Takes entries in any order; the weights of equal lengths are summed.
  explicit LengthHistogram(std::vector<LengthWeight> entries);

  // Constant time for a length at or past the largest, O(log n) for one already present, O(n) for
  // a new one in between. Requires length >= 1 and a finite weight >= 0.
  void Add(std::int64_t length, double weight = 1.0);
  void Merge(const LengthHistogram& other);
  void Scale(double factor);
  // Removes the lengths that weigh less.
  void DropBelow(double weight);

  // Returns the same shape with weights that sum to 1; an empty or weightless one stays empty.
  LengthHistogram Normalised() const;

  bool empty() const { return entries_.empty(); }
  // The number of distinct lengths.
  std::size_t size() const { return entries_.size(); }
  double total() const;
  // The largest length, 0 if empty.
  std::int64_t max_length() const { return entries_.empty() ? 0 : entries_.back().length; }

  const_iterator begin() const { return entries_.begin(); }
  const_iterator end() const { return entries_.end(); }
  const LengthWeight& operator[](std::size_t i) const { return entries_[i]; }

  friend bool operator==(const LengthHistogram&, const LengthHistogram&) = default;
  // Returns a·left + b·right over the union of their lengths. Requires a, b >= 0.
  friend LengthHistogram Blend(double a, const LengthHistogram& left, double b,
                               const LengthHistogram& right);

 private:
  std::vector<LengthWeight> entries_;
};

LengthHistogram Blend(double a, const LengthHistogram& left, double b,
                      const LengthHistogram& right);

// Returns the smallest length that so large a share of the weight does not exceed; 0 if empty.
std::int64_t LengthAt(const LengthHistogram& lengths, double q);

// Returns two disjoint random halves. A whole weight is a count and is split by a binomial draw,
// so the halves sum to it; a fractional weight is an expectation and gives two independent Poisson
// counts of half its mean, which is what splitting the requests it stands for would give.
std::pair<LengthHistogram, LengthHistogram> Thin(const LengthHistogram& whole, base::Prng& prng);

// An exponentially weighted average of windows: what is usual. What a window weighs is the
// caller's: Normalised() makes every window count the same, whatever its volume.
class LengthHistory {
 public:
  // `alpha` in (0, 1] is the share of the newest window. Weights below 1e-12 of the total are
  // dropped, which bounds the memory by the lengths of the last 28/alpha windows.
  explicit LengthHistory(double alpha) : alpha_(alpha) {}

  // The first window seeds the average; an empty one changes nothing.
  void Fold(const LengthHistogram& window);
  // Empty before the first window.
  const LengthHistogram& mean() const { return mean_; }

 private:
  double alpha_;
  LengthHistogram mean_;
};

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LENGTH_HISTOGRAM_H_
