// Which column of a traffic feeds which dim of a plan.

#ifndef LEEWAY_API_DIM_BINDING_H_
#define LEEWAY_API_DIM_BINDING_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "leeway/simulate.h"
#include "leeway/status.h"
#include "plan/body.h"
#include "sched/cost_table.h"
#include "traffic/body.h"

namespace leeway::api {

class DimBinding {
 public:
  // Ties by the explicit pairs {traffic's, plan's}, then by equal names, then the plan's only free
  // dim to the traffic's only free one. Batch dims that stay free are 1 a request. kInvalidArgument
  // names a dim that does not exist, is tied twice, or stays without a source.
  static Result<DimBinding> Make(const plan::Body& plan,
                                 const std::vector<std::string>& traffic_dims,
                                 const std::vector<std::pair<std::string, std::string>>& pairs);

  // Returns the plan's dims of an arrival, clamped to their domain. `clamped` counts arrivals with
  // a clamped dim; kOutOfRange with kError, naming dim, value and domain.
  Result<sched::DimValues> Apply(const traffic::Arrival& arrival,
                                 SimulateOptions::AboveDomain above_domain);

  // The traffic's dim that feeds one of the plan; kInvalidArgument if none does.
  Result<std::size_t> SourceOf(plan::Index dim) const;

  std::uint64_t clamped() const { return clamped_; }
  // "seq ← ContextTokens", one a tie that names did not make obvious.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  static constexpr std::size_t kFree = static_cast<std::size_t>(-1);

  const plan::Body* plan_ = nullptr;
  std::vector<std::size_t> source_;  // by the plan's dim: the traffic's dim, or kFree
  std::vector<std::string> notes_;
  std::uint64_t clamped_ = 0;
};

}  // namespace leeway::api

#endif  // LEEWAY_API_DIM_BINDING_H_
