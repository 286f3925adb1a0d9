// Drawing arrivals: whole requests for shares, lengths for weights, in integers, so that a seed
// means the same on every machine.

#ifndef LEEWAY_TRAFFIC_DRAW_H_
#define LEEWAY_TRAFFIC_DRAW_H_

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "leeway/status.h"
#include "traffic/body.h"

namespace leeway::traffic {

// Histograms draw so many unless told otherwise.
inline constexpr std::uint64_t kDefaultRequests = 1'000'000;
inline constexpr std::uint64_t kMaxRequests = 100'000'000;

// Returns integers in proportion to `weights`, each exact to 2^-60 of their sum and rounded down;
// the sum is below 2^62. Requires finite weights >= 0 and a finite sum > 0.
std::vector<std::uint64_t> IntegerWeights(std::span<const double> weights);

// Returns whole shares of `total` in proportion to the weights: each rounded down, then one more
// for the largest remainders, the earlier first among equals (Hamilton's method). Requires a sum
// of weights in (0, 2^63).
std::vector<std::uint64_t> Apportion(std::uint64_t total, std::span<const std::uint64_t> weights);

// Returns whole shares for cells that start at rising times and have weights: those of a window's
// cells sum to its requests, in proportion to the weights. Cells before the first window get none.
// kInvalidArgument names a window that has requests and no cell of positive weight.
Result<std::vector<std::uint64_t>> ApportionByWindow(std::span<const WindowDraw> windows,
                                                     std::span<const Instant> cell_starts,
                                                     std::span<const double> weights);

// Draws from a weighted list by inversion of its distribution function.
class WeightedLengths {
 public:
  // Requires a positive finite sum of weights.
  explicit WeightedLengths(const std::vector<std::pair<std::int64_t, double>>& lengths);
  std::int64_t Draw(base::Prng& prng) const;

 private:
  std::vector<std::int64_t> lengths_;
  std::vector<std::uint64_t> cumulative_;
};

// Draws from a piecewise linear quantile function: `values` at rising `positions` from 0 to 1.
// Between two positions every length of the segment has its share, rounded to whole lengths.
class QuantileLengths {
 public:
  // Requires strictly rising positions from 0 to 1 and as many values, rising and >= 1.
  QuantileLengths(std::span<const double> positions, std::span<const std::int64_t> values);
  std::int64_t Draw(base::Prng& prng) const;

 private:
  // In units of 2^-53.
  std::vector<std::uint64_t> positions_;
  std::vector<std::int64_t> values_;
};

// The randomness of one window and stream, independent of every other's: leaving windows out
// moves no draw of the others.
base::Prng CellPrng(std::uint64_t seed, std::size_t window, std::size_t stream);

struct DrawnRequest {
  std::int64_t at_ns = 0;
  std::int64_t length = 0;
  std::uint32_t stream = 0;

  friend auto operator<=>(const DrawnRequest&, const DrawnRequest&) = default;
};

// Reads requests that are drawn one window at a time. Memory: one window.
class DrawnReader : public Reader {
 public:
  Result<std::optional<Arrival>> Next() final;

 protected:
  // Fills the next window's requests, sorted, or returns false at the end.
  virtual Result<bool> DrawWindow(std::vector<DrawnRequest>& requests) = 0;

 private:
  std::vector<DrawnRequest> requests_;
  std::size_t next_ = 0;
};

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_DRAW_H_
