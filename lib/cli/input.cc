#include "cli/input.h"

#include <string_view>

#include "cli/file.h"
#include "leeway/text.h"

namespace leeway::cli {
namespace {

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool IsTextForm(const std::string& path) {
  return FormOf(path) != Form::kBinary && FileExists(path);
}

// The binary form of a file in one of the text forms.
Result<std::string> ReadTextForm(Schema schema, const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text;
  return FormOf(path) == Form::kJson ? JsonToBinary(schema, *text, path)
                                     : TextToBinary(schema, *text, path);
}

}  // namespace

Form FormOf(std::string_view path) {
  if (EndsWith(path, ".textproto")) return Form::kText;
  return EndsWith(path, ".json") ? Form::kJson : Form::kBinary;
}

Result<std::string> ReadPlan(const std::string& path_or_name) {
  if (IsTextForm(path_or_name)) return ReadTextForm(Schema::kPlan, path_or_name);
  if (FileExists(path_or_name)) return ReadFile(path_or_name);
  const Result<Plan> shipped = Plan::Load(path_or_name);
  if (!shipped.ok()) return shipped.status();
  return shipped->Serialize();
}

Result<Plan> LoadPlan(const std::string& path_or_name) {
  if (!IsTextForm(path_or_name)) return Plan::Load(path_or_name);
  const Result<std::string> bytes = ReadTextForm(Schema::kPlan, path_or_name);
  if (!bytes.ok()) return bytes.status();
  return Plan::Parse(*bytes, path_or_name);
}

Result<Device> LoadDevice(const std::string& path_or_name) {
  if (!IsTextForm(path_or_name)) return Device::Load(path_or_name);
  const Result<std::string> bytes = ReadTextForm(Schema::kDevice, path_or_name);
  if (!bytes.ok()) return bytes.status();
  return Device::Parse(*bytes, path_or_name);
}

Result<std::optional<Device>> LoadDeviceIfNamed(const std::string& path_or_name) {
  if (path_or_name.empty()) return std::optional<Device>();
  Result<Device> device = LoadDevice(path_or_name);
  if (!device.ok()) return device.status();
  return std::optional<Device>(*std::move(device));
}

Result<Traffic> OpenTraffic(const TrafficArguments& arguments) {
  const std::string& path = arguments.path;
  // A .json file may be JSON Lines under another name; only the text form is ours for certain.
  if (!EndsWith(path, ".textproto") || !FileExists(path)) {
    return Traffic::Open(path, arguments.options);
  }
  if (arguments.options.requests > 0) {
    return Status(StatusCode::kInvalidArgument,
                  path + ": --requests needs the binary form of a generated traffic");
  }
  const Result<std::string> bytes = ReadTextForm(Schema::kTraffic, path);
  if (!bytes.ok()) return bytes.status();
  Result<Traffic> traffic = Traffic::Parse(*bytes, path);
  if (!traffic.ok() || arguments.options.limit == 0) return traffic;
  return traffic->Limit(arguments.options.limit);
}

}  // namespace leeway::cli
