// A plan's variants as buckets of one dim: which lengths each covers, and to what it pads them.
//
// Other dims and constraints are not looked at: a length is covered if some variant's range of this
// dim holds it.
//
// Threading: a value, immutable.

#ifndef LEEWAY_RETUNE_PLAN_BUCKETS_H_
#define LEEWAY_RETUNE_PLAN_BUCKETS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/status.h"
#include "plan/body.h"
#include "retune/bucketing.h"
#include "retune/length_histogram.h"

namespace leeway::retune {

// Returns the index of the entry; the only one that is not internal for an empty name. kNotFound
// names the plan's entries, kInvalidArgument says that there are several or that it is internal.
Result<plan::Index> FindEntry(const plan::Body& plan, std::string_view name);

// Dims whose lengths requests bring and variants pad: bound at submit, and no batch dim.
std::vector<plan::Index> LengthDims(const plan::Body& plan);

class PlanBuckets {
 public:
  PlanBuckets(const plan::Body& plan, const plan::Entry& entry, plan::Index dim);

  plan::Index dim() const { return dim_; }
  // Upper ends of the variants' ranges, rising, without repeats.
  const Edges& edges() const { return edges_; }
  // Whether every length from the domain's start to the top edge is covered.
  bool contiguous() const { return contiguous_; }

  // Work of serving `lengths`: each at the cheapest of the variants that cover it, padded as that
  // pads, or by the fallback path. `spec` gives f and phi.
  BucketWork Work(const LengthHistogram& lengths, const BucketSpec& spec) const;

 private:
  plan::Index dim_;
  std::vector<plan::Range> ranges_;  // distinct
  Edges edges_;
  bool contiguous_ = true;
};

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_PLAN_BUCKETS_H_
