// Which weights a variant keeps on which cores between runs.
//
// A weight is kept whole on every core that the plan names for it, or on all, whatever a shard
// reads of it. Only classes with memory set aside for such weights (resident_bytes) keep any:
// elsewhere steps read their weights as if the plan had said nothing.
//
// Threading: values and pure functions.

#ifndef LEEWAY_DEVICE_KEPT_WEIGHTS_H_
#define LEEWAY_DEVICE_KEPT_WEIGHTS_H_

#include <cstdint>
#include <vector>

#include "device/spec.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::device {

struct Weight {
  std::uint64_t key = 0;  // plan/weight_key.h
  std::int64_t bytes = 0;
  friend bool operator==(const Weight&, const Weight&) = default;
};

struct KeptWeight {
  Weight weight;
  std::vector<plan::Index> tensors;  // all of this content, rising
  std::vector<CoreIndex> cores;      // that keep it, rising
  // These and all others of their classes: kernels there are built to find the weight in place, so
  // that where it is not kept each step fetches it.
  std::vector<CoreIndex> users;
};

// Returns them, distinct by key, in order of their first tensor. kNotFound for cores that the
// device lacks.
Result<std::vector<KeptWeight>> KeptWeights(const plan::Body& plan, const plan::Variant& variant,
                                            const Spec& device);

// Of these: the tensors that steps on a class of cores find in place, rising.
std::vector<plan::Index> FoundOn(const std::vector<KeptWeight>& kept, const CoreClass& core);

// What a core transfers to fetch so many bytes: whole granules, as one transfer after one latency.
ByteUnits FetchUnits(std::int64_t bytes, const CoreClass& core);
// How long that takes with the DRAM to itself, and no time for no bytes.
// Requires 0 <= bytes <= kMaxStepBytes.
Nanos FetchAlone(std::int64_t bytes, const CoreClass& core, ByteUnits dram_rate);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_KEPT_WEIGHTS_H_
