#include "traffic/draw.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/check.h"
#include "base/status_macros.h"

namespace leeway::traffic {
namespace {

__extension__ typedef unsigned __int128 Uint128;  // NOLINT: __extension__ takes no alias

constexpr int kPositionBits = 53;

}  // namespace

std::vector<std::uint64_t> IntegerWeights(std::span<const double> weights) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  LEEWAY_CHECK(sum > 0 && std::isfinite(sum));
  int exponent = 0;
  std::frexp(sum, &exponent);
  std::vector<std::uint64_t> integers;
  integers.reserve(weights.size());
  // The sum becomes at least 2^60 and at most 2^61, give or take the rounding of the sum.
  for (const double weight : weights) {
    integers.push_back(static_cast<std::uint64_t>(std::ldexp(weight, 61 - exponent)));
  }
  return integers;
}

std::vector<std::uint64_t> Apportion(std::uint64_t total, std::span<const std::uint64_t> weights) {
  const std::uint64_t sum = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  LEEWAY_CHECK(sum > 0);
  std::vector<std::uint64_t> shares(weights.size());
  std::vector<std::pair<std::uint64_t, std::size_t>> remainders(weights.size());
  std::uint64_t left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Uint128 product = static_cast<Uint128>(total) * weights[i];
    shares[i] = static_cast<std::uint64_t>(product / sum);
    // Complemented: the largest remainder sorts first.
    remainders[i] = {sum - static_cast<std::uint64_t>(product % sum), i};
    left -= shares[i];
  }
  std::sort(remainders.begin(), remainders.end());
  for (std::uint64_t i = 0; i < left; ++i) ++shares[remainders[i].second];
  return shares;
}

Result<std::vector<std::uint64_t>> ApportionByWindow(std::span<const WindowDraw> windows,
                                                     std::span<const Instant> cell_starts,
                                                     std::span<const double> weights) {
  std::vector<std::uint64_t> shares(weights.size());
  auto from = static_cast<std::size_t>(0);
  for (std::size_t w = 0; w < windows.size(); ++w) {
    while (from < cell_starts.size() && cell_starts[from] < windows[w].start) ++from;
    std::size_t to = from;
    double sum = 0;
    for (; to < cell_starts.size() &&
           (w + 1 == windows.size() || cell_starts[to] < windows[w + 1].start);
         ++to) {
      sum += weights[to];
    }
    if (windows[w].requests > 0 && !(sum > 0)) {
      return base::InvalidArgument("the window at " + std::to_string(windows[w].start.count()) +
                                   " ns has no requests to draw from");
    }
    if (sum > 0) {
      const std::vector<std::uint64_t> part =
          Apportion(windows[w].requests, IntegerWeights(weights.subspan(from, to - from)));
      std::copy(part.begin(), part.end(), shares.begin() + static_cast<std::ptrdiff_t>(from));
    }
    from = to;
  }
  return shares;
}

WeightedLengths::WeightedLengths(const std::vector<std::pair<std::int64_t, double>>& lengths) {
  std::vector<double> weights;
  weights.reserve(lengths.size());
  for (const auto& [length, weight] : lengths) {
    lengths_.push_back(length);
    weights.push_back(weight);
  }
  cumulative_ = IntegerWeights(weights);
  std::partial_sum(cumulative_.begin(), cumulative_.end(), cumulative_.begin());
}

std::int64_t WeightedLengths::Draw(base::Prng& prng) const {
  const std::uint64_t rank = prng.Below(cumulative_.back());
  const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), rank);
  return lengths_[static_cast<std::size_t>(found - cumulative_.begin())];
}

QuantileLengths::QuantileLengths(std::span<const double> positions,
                                 std::span<const std::int64_t> values)
    : values_(values.begin(), values.end()) {
  positions_.reserve(positions.size());
  for (const double position : positions) {
    positions_.push_back(static_cast<std::uint64_t>(std::ldexp(position, kPositionBits)));
  }
}

std::int64_t QuantileLengths::Draw(base::Prng& prng) const {
  const std::uint64_t u = prng.Next() >> (64 - kPositionBits);
  const auto above = std::upper_bound(positions_.begin(), positions_.end(), u);
  const auto i = static_cast<std::size_t>(above - positions_.begin());
  const std::uint64_t width = positions_[i] - positions_[i - 1];
  const auto rise = static_cast<std::uint64_t>(values_[i] - values_[i - 1]);
  const Uint128 part = static_cast<Uint128>(rise) * (u - positions_[i - 1]) + width / 2;
  return values_[i - 1] + static_cast<std::int64_t>(part / width);
}

base::Prng CellPrng(std::uint64_t seed, std::size_t window, std::size_t stream) {
  return base::Prng(seed).Fork("traffic window " + std::to_string(window) + " stream " +
                               std::to_string(stream));
}

Result<std::optional<Arrival>> DrawnReader::Next() {
  while (next_ == requests_.size()) {
    requests_.clear();
    next_ = 0;
    LEEWAY_ASSIGN_OR_RETURN(const bool drawn, DrawWindow(requests_));
    if (!drawn) return std::optional<Arrival>();
  }
  const DrawnRequest& request = requests_[next_++];
  Arrival arrival;
  arrival.at = Instant(Nanos(request.at_ns));
  arrival.stream = request.stream;
  arrival.dims[0] = request.length;
  return std::optional(arrival);
}

}  // namespace leeway::traffic
