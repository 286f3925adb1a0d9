#include "base/prng.h"

#include <bit>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "base/math.h"

namespace leeway::base {
namespace {

__extension__ typedef unsigned __int128 Uint128;  // NOLINT: __extension__ takes no alias

constexpr double kTwoPi = 0x1.921fb54442d18p+2;
constexpr std::uint64_t kGoldenGamma = 0x9e3779b97f4a7c15;
// Below it the mean number of steps of the simple methods is cheaper than a rejection.
constexpr double kPoissonRejectionMean = 30;
constexpr double kBinomialRejectionMean = 10;

// The output function of SplitMix64: a bijection.
std::uint64_t Mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Returns ln(1 + x) for x > −1. The factor x / (u − 1) undoes what rounding 1 + x lost.
double LogOnePlus(double x) {
  const double u = 1 + x;
  return u == 1 ? x : Log(u) * (x / (u - 1));
}

// The log-probabilities below follow C. Loader, "Fast and accurate computation of binomial
// probabilities" (2000): a deviance and Stirling's remainder, so that nothing large cancels.

// Returns ln(k!) − ln(√(2πk)·(k/e)^k) for an integer k >= 1.
double StirlingRemainder(double k) {
  if (k < 16) {
    double factorial = 1;
    for (double i = 2; i <= k; ++i) factorial *= i;
    return Log(factorial) - (0.5 * Log(kTwoPi * k) + k * Log(k) - k);
  }
  const double square = k * k;
  return (1 / 12.0 - (1 / 360.0 - (1 / 1260.0 - 1 / 1680.0 / square) / square) / square) / k;
}

// Returns x·ln(x/mean) + mean − x for x, mean > 0.
double Deviance(double x, double mean) {
  if (std::abs(x - mean) >= 0.1 * (x + mean)) return x * Log(x / mean) + mean - x;
  const double v = (x - mean) / (x + mean);
  double sum = (x - mean) * v;
  double power = 2 * x * v;
  // Each term is at most 1/100 of the one before it.
  for (double j = 3;; j += 2) {
    power *= v * v;
    const double next = sum + power / j;
    if (next == sum) return sum;
    sum = next;
  }
}

double LogPoissonProbability(double k, double mean) {
  if (k == 0) return -mean;
  return -StirlingRemainder(k) - Deviance(k, mean) - 0.5 * Log(kTwoPi * k);
}

// Requires 0 < p < 1 and 0 <= k <= n.
double LogBinomialProbability(double k, double n, double p) {
  if (k == 0) return n * LogOnePlus(-p);
  if (k == n) return n * Log(p);
  return StirlingRemainder(n) - StirlingRemainder(k) - StirlingRemainder(n - k) -
         Deviance(k, n * p) - Deviance(n - k, n * (1 - p)) + 0.5 * Log(n / (kTwoPi * k * (n - k)));
}

// Returns ⌊x⌋ as a double, or x itself beyond 2^53 where every double is an integer.
double Floor(double x) {
  if (!(std::abs(x) < 0x1p53)) return x;
  const auto whole = static_cast<double>(static_cast<std::int64_t>(x));
  return whole > x ? whole - 1 : whole;
}

std::uint64_t SaturatedU64(double x) {
  return x < 0x1p64 ? static_cast<std::uint64_t>(x) : std::numeric_limits<std::uint64_t>::max();
}

// Knuth's products of uniforms: the arrivals of a unit-rate process before `mean`.
std::uint64_t PoissonByProducts(Prng& prng, double mean) {
  const double limit = Exp(-mean);
  std::uint64_t count = 0;
  for (double product = prng.UnitOpenLow(); product > limit; ++count) {
    product *= prng.UnitOpenLow();
  }
  return count;
}

// W. Hörmann, "The transformed rejection method for generating Poisson random variables",
// Insurance: Mathematics and Economics 12 (1993), algorithm PTRS. Requires mean >= 10.
std::uint64_t PoissonByRejection(Prng& prng, double mean) {
  const double b = 0.931 + 2.53 * std::sqrt(mean);
  const double a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
  const double squeeze = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = prng.Unit() - 0.5;
    const double v = prng.UnitOpenLow();
    const double us = 0.5 - std::abs(u);
    const double k = Floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= squeeze) return SaturatedU64(k);
    // us = 0 gives k = −∞ and ends here.
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (Log(v * inverse_alpha / (a / (us * us) + b)) <= LogPoissonProbability(k, mean)) {
      return SaturatedU64(k);
    }
  }
}

// Walks the distribution function upwards from 0. Requires 0 < p <= ½ and a mean below 10.
std::uint64_t BinomialByInversion(Prng& prng, std::uint64_t n, double p) {
  const auto trials = static_cast<double>(n);
  const double none = Exp(trials * LogOnePlus(-p));
  const double odds = p / (1 - p);
  // Rounding may leave a rest that no term covers. Beyond 200 lies less than 1e-170.
  const std::uint64_t last = n < 200 ? n : 200;
  for (;;) {
    double rest = prng.Unit();
    double term = none;
    for (std::uint64_t k = 0; k <= last; ++k) {
      if (rest < term) return k;
      rest -= term;
      term *= odds * (trials - static_cast<double>(k)) / static_cast<double>(k + 1);
    }
  }
}

// W. Hörmann, "The generation of binomial random variates", J. Statistical Computation and
// Simulation 46 (1993), algorithm BTRS. Requires p <= ½ and a mean >= 10.
std::uint64_t BinomialByRejection(Prng& prng, std::uint64_t n, double p) {
  const auto trials = static_cast<double>(n);
  const double deviation = std::sqrt(trials * p * (1 - p));
  const double b = 1.15 + 2.53 * deviation;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double centre = trials * p + 0.5;
  const double alpha = (2.83 + 5.1 / b) * deviation;
  const double squeeze = 0.92 - 4.2 / b;
  const double mode = LogBinomialProbability(Floor((trials + 1) * p), trials, p);
  for (;;) {
    const double u = prng.Unit() - 0.5;
    const double v = prng.UnitOpenLow();
    const double us = 0.5 - std::abs(u);
    const double k = Floor((2 * a / us + b) * u + centre);
    if (us >= 0.07 && v <= squeeze) return SaturatedU64(k);
    if (!(k >= 0 && k <= trials)) continue;
    const double log_ratio = LogBinomialProbability(k, trials, p) - mode;
    if (Log(v * alpha / (a / (us * us) + b)) <= log_ratio) return SaturatedU64(k);
  }
}

}  // namespace

Prng::Prng(std::uint64_t seed) {
  // Distinct inputs of a bijection: at most one of the four words is 0, as xoshiro needs.
  for (std::uint64_t& word : state_) word = Mix(seed += kGoldenGamma);
}

Prng Prng::Fork(std::string_view purpose) const {
  std::uint64_t seed = purpose.size();
  const auto absorb = [&seed](std::uint64_t word) { seed = Mix((seed ^ word) + kGoldenGamma); };
  for (const std::uint64_t word : state_) absorb(word);
  for (const char c : purpose) absorb(static_cast<unsigned char>(c));
  return Prng(seed);
}

std::uint64_t Prng::Next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Prng::Below(std::uint64_t bound) {
  LEEWAY_CHECK(bound > 0);
  Uint128 product = static_cast<Uint128>(Next()) * bound;
  auto low = static_cast<std::uint64_t>(product);
  // The division is paid only where a rejection is possible at all.
  if (low < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = static_cast<Uint128>(Next()) * bound;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

double Prng::Unit() { return static_cast<double>(Next() >> 11) * 0x1p-53; }

double Prng::UnitOpenLow() { return static_cast<double>((Next() >> 11) + 1) * 0x1p-53; }

// Subtracting from zero, not negating: the logarithm of 1 must give 0, not −0.
double Prng::Exponential() { return 0 - Log(UnitOpenLow()); }

double Prng::Normal() {
  for (;;) {
    const double x = 2 * Unit() - 1;
    const double y = 2 * Unit() - 1;
    const double square = x * x + y * y;
    // The second normal, in y, is dropped: keeping it would make a draw depend on the last call.
    if (square < 1 && square > 0) return x * std::sqrt(-2 * Log(square) / square);
  }
}

double Prng::LogNormal(double sigma) { return Exp(sigma * Normal()); }

std::uint64_t Prng::Poisson(double mean) {
  LEEWAY_CHECK(mean >= 0 && mean <= std::numeric_limits<double>::max());
  return mean < kPoissonRejectionMean ? PoissonByProducts(*this, mean)
                                      : PoissonByRejection(*this, mean);
}

std::uint64_t Prng::Binomial(std::uint64_t n, double p) {
  LEEWAY_CHECK(p >= 0 && p <= 1);
  if (p > 0.5) return n - Binomial(n, 1 - p);
  const double mean = static_cast<double>(n) * p;
  return mean < kBinomialRejectionMean ? BinomialByInversion(*this, n, p)
                                       : BinomialByRejection(*this, n, p);
}

}  // namespace leeway::base
