// The groups of checks that ValidateModel() runs, a file each.
//
// Threading: pure functions.

#ifndef LEEWAY_API_MODEL_CHECKS_H_
#define LEEWAY_API_MODEL_CHECKS_H_

#include <vector>

#include "leeway/status.h"
#include "leeway/validate.h"

namespace leeway::api {

using Checks = std::vector<ModelCheck>;

// V1 and V2: cycles and array traffic of SCALE-Sim. kInvalidArgument for rows that cannot be read.
Result<Checks> ScaleSimChecks(const ValidateOptions& options);
// V3, V4, V6 and V12: transfers, how they share a link, and launches.
Result<Checks> TransferChecks();
// V5, V7 and V8: products and a convolution on real and simulated devices.
Result<Checks> OperatorChecks();
// V9, V10 and V11: clocks, heat, energy and power.
Result<Checks> PowerChecks();

}  // namespace leeway::api

#endif  // LEEWAY_API_MODEL_CHECKS_H_
