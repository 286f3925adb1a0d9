// An accelerator as the cost model sees it: cores of one or more classes that share DRAM bandwidth.
//
// Threading: immutable; any thread may read. Copies share one body.
// Errors:    loading reports every finding with its field path.

#ifndef LEEWAY_DEVICE_H_
#define LEEWAY_DEVICE_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leeway/status.h"

namespace leeway {

namespace device {
struct Spec;
}  // namespace device

inline namespace v0 {

class Device {
 public:
  // Loads a serialized leeway.device.v1alpha.Device from a file or, where no file of that name
  // exists, the device that ships under that name ("onnxim_tpuv4_c4"). Codes as Plan::Load.
  static Result<Device> Load(const std::string& path_or_name);
  static Result<Device> Parse(std::string_view bytes, std::string_view name);

  std::string_view name() const;
  // SHA-256 of the content in hexadecimal.
  const std::string& digest() const;
  // Names of the cores in the library's order: "matrix:0", "matrix:1", …
  std::vector<std::string> cores() const;

  // For the library's own modules.
  explicit Device(std::shared_ptr<const device::Spec> spec) : spec_(std::move(spec)) {}
  const std::shared_ptr<const device::Spec>& spec() const { return spec_; }

 private:
  std::shared_ptr<const device::Spec> spec_;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_DEVICE_H_
