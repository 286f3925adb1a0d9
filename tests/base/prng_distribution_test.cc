// Distributions against their exact laws. Every bound is a number of standard deviations of the
// statistic under that law; seeds are fixed and printed.

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::base {
namespace {

constexpr int kDraws = 100'000;
// One failure in 3.5 million independent statistics, were the seeds not fixed.
constexpr double kSigmas = 5;

template <typename Draw>
std::vector<double> Sample(std::uint64_t seed, Draw draw) {
  Prng prng(seed);
  std::vector<double> sample;
  for (int i = 0; i < kDraws; ++i) sample.push_back(static_cast<double>(draw(prng)));
  return sample;
}

// The sample mean of f, in deviations from its expectation.
template <typename F>
double MeanSigmas(const std::vector<double>& sample, F f, double mean, double variance) {
  double sum = 0;
  for (const double x : sample) sum += f(x) - mean;
  return sum / std::sqrt(variance * static_cast<double>(sample.size()));
}

// Kolmogorov's √n·D. P(√n·D > 2.3) = 2·exp(−2·2.3²) = 5e-5.
constexpr double kKolmogorovBound = 2.3;
template <typename Cdf>
double Kolmogorov(std::vector<double> sample, Cdf cdf) {
  std::sort(sample.begin(), sample.end());
  const auto n = static_cast<double>(sample.size());
  double largest = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double below = cdf(sample[i]);
    const auto rank = static_cast<double>(i);
    largest = std::max({largest, below - rank / n, (rank + 1) / n - below});
  }
  return largest * std::sqrt(n);
}

// How many exceed `limit`, in deviations of Binomial(n, probability).
double TailSigmas(const std::vector<double>& sample, double limit, double probability) {
  const auto above =
      std::count_if(sample.begin(), sample.end(), [&](double x) { return x > limit; });
  const auto n = static_cast<double>(sample.size());
  return (static_cast<double>(above) - n * probability) /
         std::sqrt(n * probability * (1 - probability));
}

double NormalCdf(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }

TEST_CASE("exponential draws follow the exponential law of mean 1", "[base][statistics]") {
  const auto seed = GENERATE(range(0u, 3u));
  CAPTURE(seed);
  const auto sample = Sample(seed, [](Prng& prng) { return prng.Exponential(); });
  CHECK(*std::min_element(sample.begin(), sample.end()) >= 0);
  // E X = 1, var X = 1; E X² = 2, var X² = 24 − 4.
  CHECK(std::abs(MeanSigmas(
            sample, [](double x) { return x; }, 1, 1)) < kSigmas);
  CHECK(std::abs(MeanSigmas(
            sample, [](double x) { return x * x; }, 2, 20)) < kSigmas);
  for (const double t : {0.001, 0.5, 2.0, 5.0, 8.0}) {
    CHECK(std::abs(TailSigmas(sample, t, std::exp(-t))) < kSigmas);
  }
  CHECK(Kolmogorov(sample, [](double x) { return 1 - std::exp(-x); }) < kKolmogorovBound);
}

TEST_CASE("normal draws follow the standard normal law", "[base][statistics]") {
  const auto seed = GENERATE(range(10u, 13u));
  CAPTURE(seed);
  const auto sample = Sample(seed, [](Prng& prng) { return prng.Normal(); });
  // Moments 0, 1, 0, 3 with variances 1, 2, 15, 96.
  CHECK(std::abs(MeanSigmas(
            sample, [](double x) { return x; }, 0, 1)) < kSigmas);
  CHECK(std::abs(MeanSigmas(
            sample, [](double x) { return x * x; }, 1, 2)) < kSigmas);
  CHECK(std::abs(MeanSigmas(
            sample, [](double x) { return x * x * x; }, 0, 15)) < kSigmas);
  CHECK(std::abs(MeanSigmas(
            sample, [](double x) { return x * x * x * x; }, 3, 96)) < kSigmas);
  for (const double t : {-3.5, -2.0, 0.0, 1.0, 3.0, 3.5}) {
    CHECK(std::abs(TailSigmas(sample, t, NormalCdf(-t))) < kSigmas);
  }
  CHECK(Kolmogorov(sample, NormalCdf) < kKolmogorovBound);
}

TEST_CASE("successive normal draws are uncorrelated", "[base][statistics]") {
  const auto sample = Sample(14, [](Prng& prng) { return prng.Normal(); });
  double products = 0;
  for (std::size_t i = 1; i < sample.size(); ++i) products += sample[i] * sample[i - 1];
  // A product of two independent normals has variance 1.
  CHECK(std::abs(products) < kSigmas * std::sqrt(static_cast<double>(kDraws)));
}

TEST_CASE("log-normal draws have median 1 and a normal logarithm", "[base][statistics]") {
  const auto sigma = GENERATE(0.1, 1.0, 2.0);
  CAPTURE(sigma);
  const auto sample = Sample(20, [&](Prng& prng) { return prng.LogNormal(sigma); });
  CHECK(std::abs(TailSigmas(sample, 1, 0.5)) < kSigmas);
  CHECK(Kolmogorov(sample, [&](double x) { return NormalCdf(std::log(x) / sigma); }) <
        kKolmogorovBound);
}

TEST_CASE("a log-normal draw without spread is 1", "[base][unit]") {
  Prng prng(21);
  CHECK(prng.LogNormal(0) == 1);
}

struct Cell {
  double seen = 0;
  double expected = 0;
};

// Cells of neighbouring integers from 0 (or far left of the centre), each with at least 20 expected
// draws; the last takes the whole right tail.
template <typename LogProbability>
std::vector<Cell> Cells(const std::vector<double>& sample, double centre, double deviation,
                        LogProbability log_probability) {
  constexpr double kLeast = 20;
  const double reach = 12 * deviation + 12;
  const double first = std::max(0.0, std::floor(centre - reach));
  std::vector<double> seen(static_cast<std::size_t>(2 * reach) + 2);
  for (const double x : sample) {
    const auto last = static_cast<double>(seen.size() - 1);
    seen[static_cast<std::size_t>(std::clamp(x - first, 0.0, last))] += 1;
  }
  std::vector<Cell> cells(1);
  double left = kDraws;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const double expected = kDraws * std::exp(log_probability(first + static_cast<double>(i)));
    if (cells.back().expected >= kLeast && left >= kLeast) cells.emplace_back();
    cells.back().seen += seen[i];
    cells.back().expected += expected;
    left -= expected;
  }
  return cells;
}

// χ² of integer draws against their law, in standard deviations above its mean.
template <typename LogProbability>
double FitSigmas(const std::vector<double>& sample, double centre, double deviation,
                 LogProbability log_probability) {
  const std::vector<Cell> cells = Cells(sample, centre, deviation, log_probability);
  REQUIRE(cells.size() >= 2);
  double sum = 0;
  for (const Cell& cell : cells) {
    sum += (cell.seen - cell.expected) * (cell.seen - cell.expected) / cell.expected;
  }
  const auto freedom = static_cast<double>(cells.size() - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

double LogPoisson(double k, double mean) { return k * std::log(mean) - mean - std::lgamma(k + 1); }

double LogBinomial(double k, double n, double p) {
  if (k > n) return -std::numeric_limits<double>::infinity();
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1) + k * std::log(p) +
         (n - k) * std::log1p(-p);
}

TEST_CASE("Poisson draws follow the Poisson law", "[base][statistics]") {
  const auto mean = GENERATE(0.01, 0.5, 3.0, 29.9, 30.0, 31.0, 100.0, 1e4);
  CAPTURE(mean);
  const auto sample = Sample(30, [&](Prng& prng) { return prng.Poisson(mean); });
  const auto law = [&](double k) { return LogPoisson(k, mean); };
  CHECK(std::abs(FitSigmas(sample, mean, std::sqrt(mean), law)) < kSigmas);
  CHECK(std::abs(MeanSigmas(
            sample, [](double x) { return x; }, mean, mean)) < kSigmas);
  // The square about the mean has variance μ + 2μ².
  const auto square = [&](double x) { return (x - mean) * (x - mean); };
  CHECK(std::abs(MeanSigmas(sample, square, mean, mean + 2 * mean * mean)) < kSigmas);
}

TEST_CASE("Poisson draws of huge means are normal and finite", "[base][statistics]") {
  const auto mean = GENERATE(1e9, 1e12, 1e15, 1e18);
  CAPTURE(mean);
  const auto sample = Sample(31, [&](Prng& prng) { return prng.Poisson(mean); });
  const auto scaled = [&](double x) { return (x - mean) / std::sqrt(mean); };
  CHECK(std::abs(MeanSigmas(sample, scaled, 0, 1)) < kSigmas);
  CHECK(Kolmogorov(sample, [&](double x) { return NormalCdf(scaled(x)); }) < kKolmogorovBound);
}

TEST_CASE("a Poisson draw of mean zero is zero, and of a mean beyond integers the largest",
          "[base][unit]") {
  Prng prng(32);
  for (int i = 0; i < 1000; ++i) CHECK(prng.Poisson(0) == 0);
  CHECK(prng.Poisson(1e300) == ~std::uint64_t{0});
}

struct Trials {
  std::uint64_t n;
  double p;
};

TEST_CASE("binomial draws follow the binomial law", "[base][statistics]") {
  const auto trials = GENERATE(values<Trials>({{1, 0.5},
                                               {2, 0.9},
                                               {10, 0.3},
                                               {20, 0.5},
                                               {21, 0.5},
                                               {100, 0.05},
                                               {100, 0.95},
                                               {200, 0.049},
                                               {1000, 0.3},
                                               {1'000'000, 1e-6},
                                               {1'000'000, 0.25},
                                               {1'000'000'000, 2e-8}}));
  CAPTURE(trials.n, trials.p);
  const auto n = static_cast<double>(trials.n);
  const double p = trials.p;
  const auto sample = Sample(40, [&](Prng& prng) { return prng.Binomial(trials.n, p); });
  const double variance = n * p * (1 - p);
  CHECK(*std::max_element(sample.begin(), sample.end()) <= n);
  const auto law = [&](double k) { return LogBinomial(k, n, p); };
  CHECK(std::abs(FitSigmas(sample, n * p, std::sqrt(variance), law)) < kSigmas);
  CHECK(std::abs(MeanSigmas(
            sample, [](double x) { return x; }, n * p, variance)) < kSigmas);
}

TEST_CASE("binomial draws of trials beyond 2^53 keep their mean and spread", "[base][statistics]") {
  const auto trials = GENERATE(values<Trials>({{std::uint64_t{1} << 62, 0.5},
                                               {std::uint64_t{1} << 63, 0x1p-40},
                                               {~std::uint64_t{0}, 0x1p-62}}));
  CAPTURE(trials.n, trials.p);
  const double mean = static_cast<double>(trials.n) * trials.p;
  const double variance = mean * (1 - trials.p);
  const auto sample = Sample(41, [&](Prng& prng) { return prng.Binomial(trials.n, trials.p); });
  CHECK(std::abs(MeanSigmas(
            sample, [](double x) { return x; }, mean, variance)) < kSigmas);
  const auto square = [&](double x) { return (x - mean) * (x - mean); };
  // Fourth central moment 3σ⁴ + σ²(1 − 6pq), less σ⁴.
  const double spread = 2 * variance * variance + variance;
  CHECK(std::abs(MeanSigmas(sample, square, variance, spread)) < kSigmas);
}

TEST_CASE("a binomial draw without chance is certain", "[base][unit]") {
  Prng prng(42);
  for (int i = 0; i < 1000; ++i) {
    CHECK(prng.Binomial(0, 0.5) == 0);
    CHECK(prng.Binomial(1000, 0) == 0);
    CHECK(prng.Binomial(1000, 1) == 1000);
  }
}

}  // namespace
}  // namespace leeway::base
