// Reads what commands work on: a path in any of the three forms, or a shipped name.
//
// A name that ends in .textproto or .json is read as text, any other as the binary form. Where no
// such file exists, the name of something shipped is meant.

#ifndef LEEWAY_CLI_INPUT_H_
#define LEEWAY_CLI_INPUT_H_

#include <string>

#include "cli/options.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/status.h"
#include "leeway/traffic.h"

namespace leeway::cli {

// The plan's binary form, not checked.
Result<std::string> ReadPlan(const std::string& path_or_name);
Result<Plan> LoadPlan(const std::string& path_or_name);
Result<Device> LoadDevice(const std::string& path_or_name);
Result<Traffic> OpenTraffic(const TrafficArguments& arguments);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_INPUT_H_
