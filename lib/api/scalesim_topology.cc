// Topologies of SCALE-Sim.

#include <cstddef>
#include <string>
#include <utility>

#include "api/csv_rows.h"
#include "base/status_macros.h"
#include "leeway/cost.h"

namespace leeway {
inline namespace v0 {
namespace {

using api::CsvRow;

constexpr std::size_t kGemmFields = 4;  // name, M, N, K
constexpr std::size_t kConvFields = 8;  // name, 6 sizes, stride; a ninth: the stride of columns

using Sizes = std::vector<std::int64_t>;

Status At(std::string_view name, const CsvRow& row, const std::string& what) {
  return base::InvalidArgument(std::string(name) + ":" + std::to_string(row.line) + ": " + what);
}

Result<Sizes> SizesOf(const CsvRow& row, std::string_view name) {
  Sizes sizes;
  for (std::size_t i = 1; i < row.fields.size(); ++i) {
    const auto size = api::SizeOf(row.fields[i]);
    if (!size) {
      return At(name, row,
                "field " + std::to_string(i + 1) + ": \"" + std::string(row.fields[i]) +
                    "\" is not a whole number from 1");
    }
    sizes.push_back(*size);
  }
  return sizes;
}

// What brings a partial last window to a whole one.
std::uint32_t Missing(std::int64_t image, std::int64_t filter, std::int64_t stride) {
  const std::int64_t over = (image - filter) % stride;
  return static_cast<std::uint32_t>(over == 0 ? 0 : stride - over);
}

Result<OperatorSpec> ConvOf(const CsvRow& row, const Sizes& size, std::string_view name) {
  constexpr std::int64_t kMaxStride = 1 << 20;
  const std::int64_t h = size[0], w = size[1], kernel_h = size[2], kernel_w = size[3];
  const std::int64_t stride_h = size[6], stride_w = size.size() > 7 ? size[7] : size[6];
  if (kernel_h > h || kernel_w > w) return At(name, row, "the filter is larger than the input");
  if (stride_h > kMaxStride || stride_w > kMaxStride) {
    return At(name, row, "the stride exceeds " + std::to_string(kMaxStride));
  }
  OperatorSpec op;
  op.name = row.fields[0];
  Conv conv{.n = 1,
            .h = h,
            .w = w,
            .c = size[4],
            .filters = size[5],
            .kernel_h = kernel_h,
            .kernel_w = kernel_w};
  conv.stride = {static_cast<std::uint32_t>(stride_h), static_cast<std::uint32_t>(stride_w)};
  conv.padding = {0, 0, Missing(h, kernel_h, stride_h), Missing(w, kernel_w, stride_w)};
  op.work = std::move(conv);
  return op;
}

Result<OperatorSpec> LayerOf(const CsvRow& row, std::string_view name) {
  const std::size_t fields = row.fields.size();
  if (fields != kGemmFields && fields != kConvFields && fields != kConvFields + 1) {
    return At(name, row,
              std::to_string(fields) +
                  " fields: a convolution has 8 or 9 (name, input height and width, filter height "
                  "and width, channels, filters, stride), a product has 4 (name, M, N, K)");
  }
  LEEWAY_ASSIGN_OR_RETURN(const Sizes sizes, SizesOf(row, name));
  if (fields != kGemmFields) return ConvOf(row, sizes, name);
  OperatorSpec op;
  op.name = row.fields[0];
  op.work = Gemm{.m = sizes[0], .n = sizes[1], .k = sizes[2]};
  return op;
}

}  // namespace

Result<std::vector<OperatorSpec>> ParseScaleSimTopology(std::string_view text,
                                                        std::string_view name) {
  std::vector<OperatorSpec> layers;
  bool first = true;
  for (const CsvRow& row : api::ReadCsvRows(text)) {
    const bool heading = first && row.fields.size() > 1 && !api::SizeOf(row.fields[1]);
    first = false;
    if (heading) continue;
    LEEWAY_ASSIGN_OR_RETURN(OperatorSpec layer, LayerOf(row, name));
    layers.push_back(std::move(layer));
  }
  if (layers.empty()) return base::InvalidArgument(std::string(name) + ": no layers");
  return layers;
}

}  // namespace v0
}  // namespace leeway
