#include "traffic/body.h"

#include "base/status_macros.h"

namespace leeway::traffic {

const std::string& Body::digest_hex() const {
  std::call_once(hex_once_, [this] { hex_ = digest().ToHex(); });
  return hex_;
}

Result<std::unique_ptr<Reader>> Body::NewDraw(std::span<const WindowDraw>, std::uint64_t) const {
  return base::Unimplemented(name() + ": recorded traffic is not drawn");
}

}  // namespace leeway::traffic
