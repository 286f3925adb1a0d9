// f by the plan's own word: what its variants are predicted to cost, as a function of one dim.
//
// A variant costs the sum over its groups of predicted time times shards, called entries as often
// as they are called, for one request at the variant's upper end. Between the ends f is linear,
// below the first and past the last it is proportional to the length; it never falls. Of several
// variants with one upper end the cheapest counts.
//
// Threading: immutable; any thread may read.

#ifndef LEEWAY_RETUNE_PROFILE_CURVE_H_
#define LEEWAY_RETUNE_PROFILE_CURVE_H_

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "plan/body.h"

namespace leeway::retune {

class ProfileCurve {
 public:
  // Nothing if a group of some variant has no prediction, or one that is not positive.
  static std::optional<ProfileCurve> Make(const plan::Body& plan, plan::Index entry,
                                          plan::Index dim);

  // Core time in nanoseconds. Requires length >= 1.
  double operator()(std::int64_t length) const;

 private:
  std::vector<std::pair<std::int64_t, double>> points_;  // by length, both rising
};

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_PROFILE_CURVE_H_
