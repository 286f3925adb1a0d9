// Intervals for figures of a run whose latencies are autocorrelated: a queue remembers. Whole
// blocks of adjacent windows are drawn again, not single latencies, so that a resample keeps the
// memory within a block.
//
// A resample is told by multiplicities: how often each window counts. Two arms that served the same
// arrivals are compared on the same multiplicities, which is what pairs them.
//
// Threading:   WindowedLatencies is immutable, any thread may read; the rest are pure functions.
// Determinism: equal seeds give equal resamples on every machine.

#ifndef LEEWAY_RETUNE_BLOCK_BOOTSTRAP_H_
#define LEEWAY_RETUNE_BLOCK_BOOTSTRAP_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "leeway/time.h"

namespace leeway::retune {

struct WindowedLatency {
  std::uint32_t window = 0;
  Nanos latency{0};
};

// How often each window counts; one number per window.
using Multiplicities = std::vector<std::uint32_t>;

// The latencies of one arm, in windows of the time of arrival. Nothing is rounded.
class WindowedLatencies {
 public:
  // Requires every window below `windows`, latencies >= 0, and fewer than 2^32 of them. Sorts once:
  // O(n log n); keeps 12 bytes a latency and at most a byte more for what makes a percentile cheap.
  WindowedLatencies(std::size_t windows, std::vector<WindowedLatency> latencies);

  std::size_t windows() const { return counts_.size(); }
  std::size_t size() const { return latencies_.size(); }
  // Latencies in one window.
  std::uint64_t count(std::size_t window) const { return counts_[window]; }

  // Returns the smallest latency such that at least ⌈q·total⌉ (at least 1) do not exceed it, in the
  // sample where window w counts multiplicity[w] times; 0 if that is empty. q in [0, 1]; requires a
  // multiplicity for every window. O(windows · log n) and one scan of at most 4,096 latencies or
  // four a window.
  Nanos Percentile(double q, std::span<const std::uint32_t> multiplicity) const;
  // Returns the mean of that sample in nanoseconds, 0 if it is empty. O(windows).
  double Mean(std::span<const std::uint32_t> multiplicity) const;

  // The same with every window once.
  Nanos Percentile(double q) const { return Percentile(q, once_); }
  double Mean() const { return Mean(once_); }

 private:
  // An overloaded run's hour of latencies of an hour exceeds 64 bits.
  __extension__ typedef __int128 Sum;  // NOLINT: __extension__ takes no alias

  std::uint64_t Total(std::span<const std::uint32_t> multiplicity) const;
  // Latencies of the sample in the blocks before `block`.
  std::uint64_t Before(std::size_t block, std::span<const std::uint32_t> multiplicity) const;

  std::size_t block_size_;
  // Ascending latencies, and the window of each.
  std::vector<std::int64_t> latencies_;
  std::vector<std::uint32_t> window_of_;
  // Row b: of each window, the latencies in the first b blocks.
  std::vector<std::uint32_t> before_;
  // Of each window.
  std::vector<std::uint64_t> counts_;
  std::vector<Sum> sums_;
  Multiplicities once_;
};

// Returns the length of a block: ⌈windows^⅓⌉, the rate at which the bias of a block bootstrap's
// variance and its own variance balance (Hall, Horowitz and Jing, Biometrika 1995).
std::size_t BlockLength(std::size_t windows);

// Returns `resamples` multiplicities of a moving-block bootstrap (Künsch, Annals of Statistics
// 1989) in its circular form (Politis and Romano 1992): a block may run on from the last window to
// the first. So every window is drawn equally often in expectation; without it those at the ends
// would count less, and with the half dozen windows of a short trace that shows. Each sums to
// `windows`: the last block is cut. Empty for no windows.
std::vector<Multiplicities> BlockResamples(std::size_t windows, std::size_t resamples,
                                           std::uint64_t seed);

// What intervals are made of, unless said otherwise.
inline constexpr std::size_t kResamples = 1000;
inline constexpr double kLevel = 0.95;

struct Interval {
  double low = 0;
  double high = 0;

  bool Contains(double value) const { return low <= value && value <= high; }
  friend bool operator==(const Interval&, const Interval&) = default;
};

// Returns the percentile interval of bootstrap values: what is left when ⌊(1 − level)/2 · n⌋ values
// are taken from either end. Requires 0 < level < 1 and a value, none of them NaN.
Interval PercentileInterval(std::vector<double> values, double level);

// Fewer scored windows prove nothing.
inline constexpr std::size_t kFewestWindows = 4;

// Returns the percentile interval at kLevel of `figure` over kResamples resamples of the windows,
// those for which it has no value left out. Nothing for fewer than kFewestWindows windows, where no
// resample has a value, or where an end of the interval is not finite.
std::optional<Interval> BootstrapInterval(
    std::size_t windows, std::uint64_t seed,
    const std::function<std::optional<double>(const Multiplicities&)>& figure);

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_BLOCK_BOOTSTRAP_H_
