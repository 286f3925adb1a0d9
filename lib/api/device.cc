#include "leeway/device.h"

#include "base/file.h"
#include "base/status_macros.h"
#include "device/spec.h"

namespace leeway {
inline namespace v0 {
namespace {

// A description is a page of numbers.
constexpr std::uint64_t kMaxBytes = std::uint64_t{16} << 20;

std::string ShippedNames() {
  std::string names;
  for (const base::ShippedFile& file : base::ListShipped(base::ShippedKind::kDevice)) {
    if (!names.empty()) names += ", ";
    names += file.name;
  }
  return names;
}

}  // namespace

Result<Device> Device::Load(const std::string& path_or_name) {
  const Result<std::string> bytes = base::ReadFile(path_or_name, kMaxBytes);
  if (bytes.ok()) return Parse(*bytes, path_or_name);
  if (bytes.status().code() != StatusCode::kNotFound) return bytes.status();
  const auto shipped = base::FindShipped(base::ShippedKind::kDevice, path_or_name);
  if (shipped) return Parse(shipped->bytes, path_or_name);
  return base::NotFound(
      path_or_name + ": no such file, and no such device ships; those that do: " + ShippedNames());
}

Result<Device> Device::Parse(std::string_view bytes, std::string_view name) {
  LEEWAY_ASSIGN_OR_RETURN(device::Spec spec, device::ParseSpec(bytes, name));
  return Device(std::make_shared<const device::Spec>(std::move(spec)));
}

std::string_view Device::name() const { return spec_->name; }
const std::string& Device::digest() const { return spec_->digest_hex; }

std::vector<std::string> Device::cores() const {
  std::vector<std::string> names;
  for (device::CoreIndex core = 0; core < spec_->core_count(); ++core) {
    names.push_back(spec_->CoreName(core));
  }
  return names;
}

}  // namespace v0
}  // namespace leeway
