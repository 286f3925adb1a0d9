#include "retune/distances.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "base/math.h"

namespace leeway::retune {
namespace {

constexpr std::size_t kBins = 12;
using Bins = std::array<double, kBins>;

int Octave(std::int64_t length) {
  return std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(length, 1))) - 1;
}

// A declared distribution at the lengths of it and of the sample, with what does not change between
// samples computed once.
class Comparison {
 public:
  Comparison(const LengthHistogram& declared, std::vector<std::int64_t> lengths,
             std::int64_t domain_max, const CostFn& cost)
      : lengths_(std::move(lengths)) {
    const double total = declared.total();
    auto at = declared.begin();
    for (const std::int64_t length : lengths_) {
      while (at != declared.end() && at->length < length) ++at;
      const bool here = at != declared.end() && at->length == length;
      share_.push_back(here ? at->weight / total : 0);
      cost_.push_back(cost(length));
      const int bin = Octave(length) - Octave(domain_max) + static_cast<int>(kBins) - 1;
      bin_.push_back(static_cast<std::size_t>(std::clamp(bin, 0, static_cast<int>(kBins) - 1)));
      declared_bins_[bin_.back()] += share_.back();
      declared_work_ += share_.back() * cost_.back();
    }
  }

  const std::vector<double>& shares() const { return share_; }

  // `counts` by length; their sum is positive.
  Distances Of(const std::vector<double>& counts) const {
    double total = 0, work = 0;
    Bins bins{};
    for (std::size_t i = 0; i < counts.size(); ++i) {
      total += counts[i];
      work += counts[i] * cost_[i];
      bins[bin_[i]] += counts[i];
    }
    Distances d = Binned(bins, total);
    double requests_apart = 0, work_apart = 0;  // between the distribution functions, so far
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (i > 0) {
        d.wasserstein +=
            std::abs(requests_apart) * static_cast<double>(lengths_[i] - lengths_[i - 1]);
      }
      requests_apart += counts[i] / total - share_[i];
      work_apart += cost_[i] * (counts[i] / work - share_[i] / declared_work_);
      d.work_ks = std::max(d.work_ks, std::abs(work_apart));
    }
    return d;
  }

 private:
  Distances Binned(const Bins& bins, double total) const {
    Distances d;
    const double all = total + static_cast<double>(kBins) / 2;
    for (std::size_t b = 0; b < kBins; ++b) {
      const double p = (declared_bins_[b] * total + 0.5) / all;
      const double q = (bins[b] + 0.5) / all;
      const double middle = (p + q) / 2;
      d.psi += (q - p) * base::Log(q / p);
      d.js += (p * base::Log2(p / middle) + q * base::Log2(q / middle)) / 2;
    }
    d.js = std::max(d.js, 0.0);
    return d;
  }

  std::vector<std::int64_t> lengths_;
  std::vector<double> share_, cost_;
  std::vector<std::size_t> bin_;
  Bins declared_bins_{};
  double declared_work_ = 0;
};

std::vector<std::int64_t> LengthsOf(const LengthHistogram& a, const LengthHistogram& b) {
  std::vector<std::int64_t> lengths;
  for (const LengthWeight& e : a) lengths.push_back(e.length);
  for (const LengthWeight& e : b) lengths.push_back(e.length);
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

// A multinomial draw: binomials of what is left, one point after the other.
void Draw(const std::vector<double>& shares, std::uint64_t requests, base::Prng& prng,
          std::vector<double>& counts) {
  double share_left = 1;
  std::uint64_t left = requests;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    const bool last = i + 1 == shares.size() || shares[i] >= share_left;
    const std::uint64_t here =
        last ? left : prng.Binomial(left, std::min(1.0, shares[i] / share_left));
    counts[i] = static_cast<double>(here);
    left -= here;
    share_left -= shares[i];
  }
}

double Top(std::vector<double>& values) {
  const std::size_t rank = base::NearestRank(0.999, values.size()) - 1;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(rank),
                   values.end());
  return values[rank];
}

}  // namespace

Distances DistancesFrom(const LengthHistogram& declared, const LengthHistogram& observed,
                        std::int64_t domain_max, const CostFn& cost) {
  LEEWAY_CHECK(declared.total() > 0 && observed.total() > 0);
  std::vector<std::int64_t> lengths = LengthsOf(declared, observed);
  std::vector<double> counts;
  auto at = observed.begin();
  for (const std::int64_t length : lengths) {
    while (at != observed.end() && at->length < length) ++at;
    counts.push_back(at != observed.end() && at->length == length ? at->weight : 0);
  }
  return Comparison(declared, std::move(lengths), domain_max, cost).Of(counts);
}

Distances NullQuantiles(const LengthHistogram& declared, std::uint64_t requests,
                        std::int64_t domain_max, const CostFn& cost, base::Prng& prng) {
  LEEWAY_CHECK(declared.total() > 0 && requests > 0);
  constexpr std::size_t kPointsForAll = 2048;
  const std::size_t samples = declared.size() <= kPointsForAll ? 4000 : 1000;
  const Comparison comparison(declared, LengthsOf(declared, {}), domain_max, cost);
  std::vector<double> counts(declared.size());
  std::vector<double> psi, js, wasserstein, work_ks;
  for (std::size_t s = 0; s < samples; ++s) {
    Draw(comparison.shares(), requests, prng, counts);
    const Distances d = comparison.Of(counts);
    psi.push_back(d.psi);
    js.push_back(d.js);
    wasserstein.push_back(d.wasserstein);
    work_ks.push_back(d.work_ks);
  }
  return {Top(psi), Top(js), Top(wasserstein), Top(work_ks)};
}

}  // namespace leeway::retune
