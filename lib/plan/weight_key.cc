#include "plan/weight_key.h"

#include <vector>

#include "base/digest.h"

namespace leeway::plan {
namespace {

// With how many there are before each list, so that no two layouts give the same bytes.
void HashLayout(const Layout& layout, base::Sha256& hash) {
  hash.UpdateU64(layout.minor_to_major.size());
  for (const Index dim : layout.minor_to_major) hash.UpdateU64(dim);
  hash.UpdateU64(layout.tiles.size());
  for (const std::vector<std::int64_t>& tile : layout.tiles) {
    hash.UpdateU64(tile.size());
    for (const std::int64_t extent : tile) hash.UpdateU64(static_cast<std::uint64_t>(extent));
  }
  hash.UpdateU64(static_cast<std::uint64_t>(layout.element_bits));
}

}  // namespace

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
  if (residency.layout) HashLayout(*residency.layout, hash);
  const base::Digest digest = hash.Finish();
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sizeof key; ++i) key = key << 8 | digest.bytes[i];
  return key;
}

}  // namespace leeway::plan
