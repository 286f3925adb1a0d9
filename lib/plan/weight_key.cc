#include "plan/weight_key.h"

#include "base/digest.h"

namespace leeway::plan {

std::uint64_t WeightKey(const Body& body, const Residency& residency) {
  const Tensor& tensor = body.tensors[residency.tensor];
  base::Sha256 hash;
  hash.UpdateField(tensor.content_digest);
  if (tensor.content_digest.empty()) {
    hash.UpdateField(body.model);
    hash.UpdateField(tensor.name);
  }
  hash.UpdateU64(static_cast<std::uint64_t>(tensor.dtype));
  hash.UpdateU64(static_cast<std::uint64_t>(tensor.Bytes({})));
  hash.UpdateField(residency.layout);
  const base::Digest digest = hash.Finish();
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sizeof key; ++i) key = key << 8 | digest.bytes[i];
  return key;
}

}  // namespace leeway::plan
