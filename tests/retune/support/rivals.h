// Other ways to the same optimum, to check and to time FitBuckets() against.

#ifndef LEEWAY_TESTS_RETUNE_SUPPORT_RIVALS_H_
#define LEEWAY_TESTS_RETUNE_SUPPORT_RIVALS_H_

#include "retune/bucketing.h"

namespace leeway::retune::testing {

// The least cost over every set of at most max_buckets aligned edges, each priced request by
// request. Exponential: for a dozen distinct lengths.
double ExhaustiveCost(const LengthHistogram& lengths, const BucketSpec& spec);

// The textbook recurrence in O(k·n²), from the same weights.
double QuadraticCost(const LengthHistogram& lengths, const BucketSpec& spec);

// Divide and conquer over the monotone optimal predecessor, O(k·n·log n), alignment 1.
double DivideAndConquerCost(const LengthHistogram& lengths, const BucketSpec& spec);

}  // namespace leeway::retune::testing

#endif  // LEEWAY_TESTS_RETUNE_SUPPORT_RIVALS_H_
