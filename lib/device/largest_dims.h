// The largest dims that a variant covers: where its steps need the most.
//
// Threading: a pure function.

#ifndef LEEWAY_DEVICE_LARGEST_DIMS_H_
#define LEEWAY_DEVICE_LARGEST_DIMS_H_

#include <cstdint>
#include <vector>

#include "plan/body.h"

namespace leeway::device {

// Returns the upper corner of the envelope or, where constraints cut that off, the furthest covered
// point towards each corner; nothing if none is found. What constraints bound is taken to grow with
// the dims; what it must be a multiple of comes and goes, and is looked for from there downwards.
std::vector<std::vector<std::int64_t>> LargestDims(const plan::Variant& variant);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_LARGEST_DIMS_H_
