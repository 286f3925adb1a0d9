#include "device/relayout.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "base/math.h"
#include "device/dma.h"

namespace leeway::device {
namespace {

// Extents from the most major dimension to the most minor one.
using Extents = std::vector<std::int64_t>;

Extents InOrder(const plan::Tensor& tensor, const plan::Layout& layout,
                std::span<const std::int64_t> dims) {
  Extents extents;
  const std::size_t rank = tensor.shape.size();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::size_t from =
        layout.minor_to_major.empty() ? i : layout.minor_to_major[rank - 1 - i];
    extents.push_back(std::max<std::int64_t>(tensor.shape[from](dims), 0));
  }
  return extents;
}

// Splits the most minor extents into tiles and what is in one.
void Divide(const std::vector<std::int64_t>& tile, Extents& extents) {
  const std::size_t first = extents.size() - tile.size();
  for (std::size_t i = 0; i < tile.size(); ++i) {
    extents[first + i] = base::CeilDiv(extents[first + i], tile[i]);
  }
  extents.insert(extents.end(), tile.begin(), tile.end());
}

double ElementsOf(std::span<const std::int64_t> extents) {
  double product = 1;
  for (const std::int64_t extent : extents) product *= static_cast<double>(extent);
  return product;
}

// Dimensions, counted from the most minor one, that are where row-major order has them.
std::size_t SameMinor(const plan::Layout& layout, std::size_t rank) {
  if (layout.minor_to_major.empty()) return rank;
  std::size_t same = 0;
  while (same < rank && layout.minor_to_major[same] == rank - 1 - same) ++same;
  return same;
}

}  // namespace

Relayout RelayoutOf(const plan::Tensor& tensor, const plan::Layout& layout,
                    std::span<const std::int64_t> dims, std::uint32_t granule_bytes) {
  Extents extents = InOrder(tensor, layout, dims);
  const double elements = ElementsOf(extents);
  const std::size_t rank = extents.size(), same = SameMinor(layout, rank);
  double run = 1;
  if (layout.tiles.empty()) {
    run = ElementsOf(std::span(extents).last(same));
  } else if (same > 0 && !layout.tiles.back().empty()) {
    run = static_cast<double>(std::min(layout.tiles.back().back(), extents.back()));
  }
  for (const std::vector<std::int64_t>& tile : layout.tiles) Divide(tile, extents);
  const double bits = BitsPerElement(tensor.dtype);
  const double laid_bits =
      layout.element_bits > 0 ? static_cast<double>(layout.element_bits) : bits;
  Relayout relayout;
  relayout.plain_bytes = elements * bits / 8;
  relayout.laid_bytes = ElementsOf(extents) * laid_bits / 8;
  // Elements of another size follow each other nowhere.
  if (laid_bits != bits) run = 1;
  relayout.run_bytes = std::max(1.0, run * std::min(bits, laid_bits) / 8);
  relayout.efficiency = 1 / MovedPerByte(static_cast<std::int64_t>(relayout.run_bytes), 0,
                                         std::max<std::uint32_t>(granule_bytes, 1));
  return relayout;
}

}  // namespace leeway::device
