#include "device/reality.h"

#include <algorithm>
#include <string>

#include "base/math.h"
#include "base/prng.h"

namespace leeway::device {

std::int64_t Reality::Factor(std::uint64_t op_key, std::uint32_t size_quarter) const {
  // A generator of its own for each factor: none depends on which others were asked for.
  base::Prng of_operator =
      base::Prng(noise_.seed).Fork("reality operator " + std::to_string(op_key));
  base::Prng of_size = of_operator.Fork("size " + std::to_string(size_quarter));
  const double factor =
      of_operator.LogNormal(noise_.per_operator) * of_size.LogNormal(noise_.per_size);
  // Beyond 2^10 either way a factor is a mistake, not an error of a model.
  const double parts = std::clamp(factor, 1.0 / 1024, 1024.0) * static_cast<double>(kOne);
  return base::RoundToInt64(parts).value_or(kOne);
}

std::uint32_t SizeQuarter(const StepCost& cost) {
  const std::int64_t operations = cost.macs + cost.vector_ops;
  const std::int64_t size = operations > 0 ? operations : cost.dram_bytes;
  if (size <= 1) return 0;
  return static_cast<std::uint32_t>(4 * base::Log2(static_cast<double>(size)));
}

StepCost Scaled(StepCost cost, std::int64_t factor) {
  // Large enough for any step (kMaxStepBytes), small enough to be scaled.
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  const std::int64_t limit = factor <= Reality::kOne ? kMost : kMost / factor * Reality::kOne;
  auto scale = [factor, limit](std::int64_t value) {
    return base::MulDivCeil(std::min(value, limit), factor, Reality::kOne);
  };
  cost.fill = Nanos{scale(cost.fill.count())};
  cost.compute = Nanos{scale(cost.compute.count())};
  cost.drain = Nanos{scale(cost.drain.count())};
  cost.relayout = Nanos{scale(cost.relayout.count())};
  if (cost.body_bytes == 0) return cost;
  cost.body_bytes = scale(cost.body_bytes);
  // At its cap the body still lasts as long as it computes (StepCost), rounding or not.
  const auto least = base::CheckedMul(cost.cap, cost.compute.count());
  if (least && *least <= kMost) cost.body_bytes = std::max(cost.body_bytes, *least);
  return cost;
}

}  // namespace leeway::device
