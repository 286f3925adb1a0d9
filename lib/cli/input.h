// Reads what commands work on: a path in any of the three forms, or a shipped name.
//
// A name that ends in .textproto or .json is read as text, any other as the binary form. Where no
// such file exists, the name of something shipped is meant.

#ifndef LEEWAY_CLI_INPUT_H_
#define LEEWAY_CLI_INPUT_H_

#include <optional>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "leeway/device.h"
#include "leeway/plan.h"
#include "leeway/status.h"
#include "leeway/traffic.h"

namespace leeway::cli {

// The forms of a message, and the one that a file of this name is read in.
enum class Form { kBinary, kText, kJson };
Form FormOf(std::string_view path);

// The plan's binary form, not checked.
Result<std::string> ReadPlan(const std::string& path_or_name);
Result<Plan> LoadPlan(const std::string& path_or_name);
Result<Device> LoadDevice(const std::string& path_or_name);
// As LoadDevice; nothing where the name is empty.
Result<std::optional<Device>> LoadDeviceIfNamed(const std::string& path_or_name);
Result<Traffic> OpenTraffic(const TrafficArguments& arguments);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_INPUT_H_
