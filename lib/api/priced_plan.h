// A plan's variants priced at given dims, for what shows and compares them.

#ifndef LEEWAY_API_PRICED_PLAN_H_
#define LEEWAY_API_PRICED_PLAN_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "device/group_figures.h"
#include "leeway/device.h"
#include "leeway/status.h"
#include "leeway/types.h"
#include "plan/body.h"

namespace leeway::api {

// Values by the plan's dim index; nothing for dims that were not named.
using AskedDims = std::vector<std::optional<std::int64_t>>;

// What to do with a dim that the plan lacks.
enum class Unknown { kRefuse, kIgnore };

// kInvalidArgument for a dim that is named twice, is unknown, or whose value leaves its domain.
Result<AskedDims> ResolveDims(const plan::Body& plan, const Dims& at, Unknown unknown);

struct PricedVariant {
  // What it runs at, padding included; nothing where the variant does not cover what was asked:
  // then nothing is priced.
  std::optional<std::vector<std::int64_t>> dims;
  std::vector<device::GroupFigures> groups;
  device::PricedTime total;
};

// Prices a variant at `asked`, and at its opt where nothing was. `device` may be null.
PricedVariant PriceVariant(const plan::Body& plan, const plan::Entry& entry,
                           const plan::Variant& variant, const AskedDims& asked,
                           const Device* device);

}  // namespace leeway::api

#endif  // LEEWAY_API_PRICED_PLAN_H_
