// What the groups of a variant take at given dims: by the plan's own word where it has one, else by
// the device model.
//
// Threading: a pricer belongs to one thread at a time.

#ifndef LEEWAY_DEVICE_GROUP_FIGURES_H_
#define LEEWAY_DEVICE_GROUP_FIGURES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "device/kept_weights.h"
#include "device/spec.h"
#include "leeway/plan_view.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::device {

struct PricedTime {
  std::optional<Nanos> time;
  TimeOrigin origin = TimeOrigin::kUnprofiled;
  std::string reason;  // why the model has no time
};

struct GroupFigures {
  PricedTime time;
  std::int64_t read_bytes = 0, write_bytes = 0;
  std::optional<std::int64_t> dram_bytes, sram_bytes;
  // P(g) and burst of live_set.h, rounded.
  std::int64_t peak_bytes = 0, burst_bytes = 0;
};

// Σ of the groups' times, where each has one, and the worst of their origins.
PricedTime TotalOf(std::span<const GroupFigures> groups);

// Prices groups of one plan at one set of dims, as GroupView says.
class GroupPricer {
 public:
  // `dims` by dim index, padded already, within the domain. A null `device` has no model. Both
  // `plan` and `device` are borrowed for the pricer's life.
  GroupPricer(const plan::Body& plan, std::vector<std::int64_t> dims, const Spec* device)
      : plan_(plan), dims_(std::move(dims)), device_(device) {}

  GroupFigures Price(const plan::Entry& entry, const plan::Variant& variant,
                     const plan::Group& group);
  // Of all groups of the variant, in its order.
  std::vector<GroupFigures> PriceAll(const plan::Entry& entry, const plan::Variant& variant);

 private:
  PricedTime CallTime(const plan::Variant& variant, const plan::Call& call);
  void AddModel(const plan::Entry& entry, const plan::Variant& variant, const plan::Group& group,
                GroupFigures& figures);

  const plan::Body& plan_;
  std::vector<std::int64_t> dims_;
  const Spec* device_;
  // Of called variants: one may be called from many places.
  absl::flat_hash_map<const plan::Variant*, PricedTime> totals_;
  // Of the variant that was priced last.
  const plan::Variant* kept_of_ = nullptr;
  std::vector<KeptWeight> kept_;
};

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_GROUP_FIGURES_H_
