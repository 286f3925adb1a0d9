#include "device/thermal.h"

#include <algorithm>

#include "base/check.h"
#include "base/math.h"

namespace leeway::device {
namespace {

// The ladder's equations with the power as one more unknown that never changes: its exponential
// holds both what temperatures become by themselves and what a watt adds.
constexpr std::size_t kSide = kMaxThermalNodes + 1;
using Matrix = std::array<std::array<double, kSide>, kSide>;

Matrix Times(const Matrix& a, const Matrix& b) {
  Matrix product{};
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t k = 0; k < kSide; ++k) {
      for (std::size_t j = 0; j < kSide; ++j) product[i][j] += a[i][k] * b[k][j];
    }
  }
  return product;
}

// C·dT/dt = power into the die + what flows in from and out to the neighbours, times `seconds`.
Matrix Equations(const Thermal& ladder, double seconds) {
  Matrix of{};
  const std::size_t n = ladder.nodes.size();
  for (std::size_t i = 0; i < n; ++i) {
    const double scale = seconds / ladder.nodes[i].joules_per_kelvin;
    const double out = scale / ladder.nodes[i].kelvins_per_watt;
    of[i][i] -= out;
    if (i + 1 < n) of[i][i + 1] += out;
    if (i == 0) {
      of[i][kSide - 1] = scale;
      continue;
    }
    const double in = scale / ladder.nodes[i - 1].kelvins_per_watt;
    of[i][i] -= in;
    of[i][i - 1] += in;
  }
  return of;
}

double Norm(const Matrix& of) {
  double norm = 0;
  for (const auto& row : of) {
    double sum = 0;
    for (const double x : row) sum += x < 0 ? -x : x;
    norm = std::max(norm, sum);
  }
  return norm;
}

// Taylor's series of a fraction 2⁻ˢ of the matrix, squared s times.
Matrix Exponential(Matrix of) {
  constexpr int kTerms = 18;  // 2⁻¹⁸ / 18! is far below the precision
  int squarings = 0;
  for (double norm = Norm(of); norm > 0.5; norm /= 2) ++squarings;
  double fraction = 1;
  for (int i = 0; i < squarings; ++i) fraction /= 2;
  for (auto& row : of) {
    for (double& x : row) x *= fraction;
  }
  Matrix sum{}, term{};
  for (std::size_t i = 0; i < kSide; ++i) sum[i][i] = term[i][i] = 1;
  for (int k = 1; k <= kTerms; ++k) {
    term = Times(term, of);
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t j = 0; j < kSide; ++j) sum[i][j] += term[i][j] /= k;
    }
  }
  for (int i = 0; i < squarings; ++i) sum = Times(sum, sum);
  return sum;
}

}  // namespace

ThermalStep::ThermalStep(const Thermal& ladder, Nanos period) : nodes_(ladder.nodes.size()) {
  LEEWAY_CHECK(nodes_ >= 1 && nodes_ <= kMaxThermalNodes && period > Nanos{0});
  const Matrix step = Exponential(Equations(ladder, static_cast<double>(period.count()) * 1e-9));
  for (std::size_t i = 0; i < nodes_; ++i) {
    for (std::size_t j = 0; j < nodes_; ++j) carried_[i][j] = step[i][j];
    heated_[i] = step[i][kSide - 1];
  }
}

Temperatures ThermalStep::After(const Temperatures& before, double watts) const {
  Temperatures after{};
  for (std::size_t i = 0; i < nodes_; ++i) {
    after[i] = heated_[i] * watts;
    for (std::size_t j = 0; j < nodes_; ++j) after[i] += carried_[i][j] * before[j];
  }
  return after;
}

double LeakageWatts(const Thermal& ladder, double celsius, double volts) {
  if (ladder.leakage_watts == 0) return 0;
  return ladder.leakage_watts *
         base::Exp(ladder.leakage_per_kelvin * (celsius - ladder.leakage_celsius) +
                   ladder.leakage_per_volt * volts);
}

double LadderResistance(const Thermal& ladder) {
  double sum = 0;
  for (const ThermalNode& node : ladder.nodes) sum += node.kelvins_per_watt;
  return sum;
}

std::optional<double> SteadyCelsius(const Thermal& ladder, double watts) {
  constexpr double kPrecision = 1e-9;
  const double resistance = LadderResistance(ladder);
  // What heats beyond what cools, as a function of temperature, is convex: Newton's steps from the
  // cold side rise to its first root, if it has one.
  double celsius = ladder.ambient_celsius + resistance * watts;
  for (int i = 0; i < 200; ++i) {
    const double leakage = LeakageWatts(ladder, celsius, 0);
    const double excess = ladder.ambient_celsius + resistance * (watts + leakage) - celsius;
    const double slope = resistance * leakage * ladder.leakage_per_kelvin - 1;
    if (excess <= kPrecision && slope < 0) return celsius;
    if (!(slope < 0)) return std::nullopt;
    celsius -= excess / slope;
  }
  return std::nullopt;
}

}  // namespace leeway::device
