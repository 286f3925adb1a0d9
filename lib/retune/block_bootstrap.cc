#include "retune/block_bootstrap.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/math.h"
#include "base/prng.h"

namespace leeway::retune {
namespace {

// A row of the table per block: with four latencies a window in a block, the table is never larger
// than a quarter of the latencies' count.
std::size_t BlockSize(std::size_t windows) { return std::max<std::size_t>(4096, 4 * windows); }

}  // namespace

WindowedLatencies::WindowedLatencies(std::size_t windows, std::vector<WindowedLatency> latencies)
    : block_size_(BlockSize(windows)), counts_(windows), sums_(windows), once_(windows, 1) {
  LEEWAY_CHECK(latencies.size() < std::numeric_limits<std::uint32_t>::max());
  for (const WindowedLatency& one : latencies) {
    LEEWAY_CHECK(one.window < windows && one.latency >= Nanos(0));
    ++counts_[one.window];
    sums_[one.window] += one.latency.count();
  }
  std::sort(latencies.begin(), latencies.end(),
            [](const WindowedLatency& a, const WindowedLatency& b) {
              return a.latency != b.latency ? a.latency < b.latency : a.window < b.window;
            });
  latencies_.reserve(latencies.size());
  window_of_.reserve(latencies.size());
  std::vector<std::uint32_t> before(windows);
  for (const WindowedLatency& one : latencies) {
    if (latencies_.size() % block_size_ == 0) {
      before_.insert(before_.end(), before.begin(), before.end());
    }
    ++before[one.window];
    latencies_.push_back(one.latency.count());
    window_of_.push_back(one.window);
  }
}

std::uint64_t WindowedLatencies::Total(std::span<const std::uint32_t> multiplicity) const {
  std::uint64_t total = 0;
  for (std::size_t w = 0; w < counts_.size(); ++w) total += counts_[w] * multiplicity[w];
  return total;
}

std::uint64_t WindowedLatencies::Before(std::size_t block,
                                        std::span<const std::uint32_t> multiplicity) const {
  const std::uint32_t* row = before_.data() + block * windows();
  std::uint64_t sum = 0;
  for (std::size_t w = 0; w < windows(); ++w) sum += std::uint64_t{row[w]} * multiplicity[w];
  return sum;
}

Nanos WindowedLatencies::Percentile(double q, std::span<const std::uint32_t> multiplicity) const {
  LEEWAY_CHECK(multiplicity.size() == windows());
  const std::uint64_t total = Total(multiplicity);
  if (total == 0) return Nanos(0);
  const std::uint64_t rank = base::NearestRank(q, total);
  // The last block before which fewer than `rank` lie; none lies before the first.
  std::size_t block = 0;
  std::size_t end =
      base::CeilDiv(static_cast<std::int64_t>(size()), static_cast<std::int64_t>(block_size_));
  while (end - block > 1) {
    const std::size_t middle = block + (end - block) / 2;
    (Before(middle, multiplicity) < rank ? block : end) = middle;
  }
  std::uint64_t seen = Before(block, multiplicity);
  std::size_t i = block * block_size_;
  while ((seen += multiplicity[window_of_[i]]) < rank) ++i;
  return Nanos(latencies_[i]);
}

double WindowedLatencies::Mean(std::span<const std::uint32_t> multiplicity) const {
  LEEWAY_CHECK(multiplicity.size() == windows());
  const std::uint64_t total = Total(multiplicity);
  if (total == 0) return 0;
  Sum sum = 0;
  for (std::size_t w = 0; w < windows(); ++w) sum += sums_[w] * multiplicity[w];
  return static_cast<double>(sum) / static_cast<double>(total);
}

std::size_t BlockLength(std::size_t windows) {
  std::size_t length = 0;
  while (length * length * length < windows) ++length;
  return length;
}

std::vector<Multiplicities> BlockResamples(std::size_t windows, std::size_t resamples,
                                           std::uint64_t seed) {
  std::vector<Multiplicities> all(resamples, Multiplicities(windows));
  if (windows == 0) return all;
  const std::size_t block = BlockLength(windows);
  base::Prng prng(seed);
  for (Multiplicities& multiplicity : all) {
    for (std::size_t drawn = 0; drawn < windows;) {
      const std::size_t first = prng.Below(windows);
      const std::size_t length = std::min(block, windows - drawn);
      for (std::size_t i = 0; i < length; ++i) ++multiplicity[(first + i) % windows];
      drawn += length;
    }
  }
  return all;
}

Interval PercentileInterval(std::vector<double> values, double level) {
  LEEWAY_CHECK(!values.empty() && level > 0 && level < 1);
  std::sort(values.begin(), values.end());
  // A product that only rounding keeps below an integer is that one: 0.05 of 1,000 are 50.
  const double cut = (1 - level) / 2 * static_cast<double>(values.size());
  const auto tail = static_cast<std::size_t>(cut + 1e-9);
  const std::size_t low = std::min(tail, (values.size() - 1) / 2);
  return {values[low], values[values.size() - 1 - low]};
}

std::optional<Interval> BootstrapInterval(
    std::size_t windows, std::uint64_t seed,
    const std::function<std::optional<double>(const Multiplicities&)>& figure) {
  if (windows < kFewestWindows) return std::nullopt;
  std::vector<double> values;
  for (const Multiplicities& draw : BlockResamples(windows, kResamples, seed)) {
    if (const std::optional<double> value = figure(draw)) values.push_back(*value);
  }
  if (values.empty()) return std::nullopt;
  const Interval interval = PercentileInterval(std::move(values), kLevel);
  if (!std::isfinite(interval.low) || !std::isfinite(interval.high)) return std::nullopt;
  return interval;
}

}  // namespace leeway::retune
