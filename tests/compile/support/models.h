// Models and devices for tests of the compiler.

#ifndef LEEWAY_TESTS_COMPILE_SUPPORT_MODELS_H_
#define LEEWAY_TESTS_COMPILE_SUPPORT_MODELS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "device/spec.h"
#include "leeway/plan.h"
#include "leeway/time.h"
#include "plan/body.h"

namespace leeway::compile::testing {

using Model = std::shared_ptr<const plan::Body>;
using Device = std::shared_ptr<const device::Spec>;

Model ShippedModel(const std::string& name);
// onnxim_tpuv4_c4: four cores with matrix and vector units.
Device ShippedDevice();
// Cores with both units, and slower ones that have no matrix unit.
Device MixedDevice();

// Two attributes of what a random model holds besides products, elementwise work and moves.
struct ModelShape {
  std::uint32_t operators = 12;
  std::int64_t max_seq = 512;
  // A part of the operators in an entry that the other calls.
  bool calls = false;
};
// Dims "seq" (MAX) and "batch" (COUNT, to 8). Without variants.
Model RandomModel(std::uint64_t seed, const ModelShape& shape);

// What the scheduler's cost table says of a variant at dims.
struct Costed {
  Nanos core_time{0};
  std::uint64_t steps = 0;
  double dram_bytes = 0;
};
Costed CostOf(const plan::Body& plan, const device::Spec& device, const std::string& entry,
              const std::string& variant, std::span<const std::int64_t> dims);

}  // namespace leeway::compile::testing

#endif  // LEEWAY_TESTS_COMPILE_SUPPORT_MODELS_H_
