// Distances of drawn lengths from what they were drawn from.

#ifndef LEEWAY_TESTS_TRAFFIC_SUPPORT_DISTANCE_H_
#define LEEWAY_TESTS_TRAFFIC_SUPPORT_DISTANCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace leeway::traffic::testing {

// Returns max |F_n − F| over the values, for a distribution function `f` that steps only at values
// which may be drawn, or not at all.
template <typename F>
double KolmogorovDistance(std::vector<std::int64_t> values, const F& f) {
  std::sort(values.begin(), values.end());
  const double n = static_cast<double>(values.size());
  double distance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i + 1 < values.size() && values[i + 1] == values[i]) continue;
    distance = std::max(distance, std::abs(static_cast<double>(i + 1) / n - f(values[i])));
  }
  return distance;
}

// What the distance of n draws exceeds with a probability of at most alpha: the inequality of
// Dvoretzky, Kiefer and Wolfowitz with Massart's constant.
inline double DkwBound(std::size_t n, double alpha) {
  return std::sqrt(std::log(2 / alpha) / (2 * static_cast<double>(n)));
}

}  // namespace leeway::traffic::testing

#endif  // LEEWAY_TESTS_TRAFFIC_SUPPORT_DISTANCE_H_
