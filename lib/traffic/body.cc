#include "traffic/body.h"

namespace leeway::traffic {

const std::string& Body::digest_hex() const {
  std::call_once(hex_once_, [this] { hex_ = digest().ToHex(); });
  return hex_;
}

}  // namespace leeway::traffic
