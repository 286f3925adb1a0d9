#include "device/group_work.h"

#include <algorithm>
#include <variant>

#include "base/math.h"
#include "base/status_macros.h"
#include "device/dma.h"
#include "plan/findings.h"

namespace leeway::device {
namespace {

bool Contains(const std::vector<plan::Index>& tensors, plan::Index tensor) {
  return std::find(tensors.begin(), tensors.end(), tensor) != tensors.end();
}

double ElementBytes(const plan::Body& plan, const std::vector<plan::Index>& tensors) {
  return tensors.empty() ? 4.0 : BitsPerElement(plan.tensors[tensors[0]].dtype) / 8.0;
}

class PieceReader {
 public:
  PieceReader(SizeReader& sizes, const CoreClass& core) : sizes_(sizes), core_(core) {}

  Piece Read(const plan::Operator& op) {
    piece_ = Piece();
    piece_.op = &op;
    std::visit([this](const auto& work) { ReadWork(work); }, op.work);
    return piece_;
  }

 private:
  void ReadWork(const std::monostate&) {}

  void ReadWork(const plan::Gemm& gemm) {
    piece_.kind = Piece::Kind::kMatrix;
    piece_.m = sizes_.Size(gemm.m);
    piece_.n = sizes_.Size(gemm.n);
    piece_.k = sizes_.Size(gemm.k);
    piece_.count = sizes_.Size(gemm.count);
    piece_.density = gemm.density;
    // Nothing to do reads nothing: a move of no bytes.
    if (piece_.m == 0 || piece_.n == 0 || piece_.k == 0 || piece_.count == 0) {
      piece_.kind = Piece::Kind::kMove;
    }
  }

  // M = pixels, N = filters, K = window, an instance a group: one product over the window (im2col),
  // or the sum of one for each of its positions.
  void ReadWork(const plan::Conv& conv) {
    const auto size = [&](const plan::Expr& expr) { return sizes_.Size(expr, kMaxImage); };
    const std::int64_t kernel_h = size(conv.kernel_h), kernel_w = size(conv.kernel_w);
    const std::int64_t n = size(conv.n), h = size(conv.h), w = size(conv.w), c = size(conv.c);
    const std::int64_t filters = size(conv.filters);
    const std::int64_t out_h =
        Pixels(h + conv.pad_top + conv.pad_bottom, kernel_h, conv.stride_h, conv.dilation_h);
    const std::int64_t out_w =
        Pixels(w + conv.pad_left + conv.pad_right, kernel_w, conv.stride_w, conv.dilation_w);
    const std::int64_t groups = std::max<std::uint32_t>(conv.groups, 1);
    piece_.count = groups;
    if (core_.conv_lowering == ConvLowering::kPerTap) {
      piece_.taps = std::max(Product({kernel_h, kernel_w}), kOne);
    }
    piece_.m = Product({n, out_h, out_w});
    piece_.n = base::CeilDiv(filters, groups);
    piece_.k = base::CeilDiv(Product({kernel_h, kernel_w, c}), groups);
    const double pixel =
        static_cast<double>(c) * ElementBytes(sizes_.source().plan, piece_.op->inputs);
    piece_.image_bytes = static_cast<double>(Product({n, h, w})) * pixel;
    const auto overlap = static_cast<double>(std::max<std::int64_t>(
        (kernel_h - 1) * conv.dilation_h + 1 - std::int64_t{conv.stride_h}, 0));
    piece_.halo_bytes = overlap * static_cast<double>(w) * pixel;
    const bool empty = piece_.m == 0 || piece_.n == 0 || piece_.k == 0;
    piece_.kind = empty ? Piece::Kind::kMove : Piece::Kind::kMatrix;
  }

  void ReadWork(const plan::Vector& vector) {
    piece_.kind = Piece::Kind::kVector;
    piece_.elements = sizes_.Size(vector.elements);
    piece_.ops = static_cast<double>(piece_.elements) * OpsPerElement(vector.ops_per_element);
  }

  void ReadWork(const plan::Reduce& reduce) {
    piece_.kind = Piece::Kind::kReduce;
    piece_.elements = sizes_.Size(reduce.elements);
    piece_.ops = static_cast<double>(piece_.elements) * OpsPerElement(reduce.ops_per_element);
  }

  // The strided side moves whole granules (COST_MODEL section 4).
  void ReadWork(const plan::Move& move) {
    piece_.kind = Piece::Kind::kMove;
    const std::int64_t bytes = sizes_.Size(move.bytes);
    piece_.moved_bytes = piece_.strided_bytes = static_cast<double>(bytes);
    if (move.contiguous_bytes) {
      const std::int64_t run =
          std::clamp<std::int64_t>(sizes_.Size(*move.contiguous_bytes), 1, std::max(bytes, kOne));
      piece_.strided_bytes *= MovedPerByte(run, 0, DramLinesOf(core_).write.granule_bytes);
    }
    piece_.elements = static_cast<std::int64_t>(
        piece_.moved_bytes / ElementBytes(sizes_.source().plan, piece_.op->outputs));
    piece_.ops = static_cast<double>(piece_.elements);
  }

  void ReadWork(const plan::Custom& custom) {
    piece_.kind = Piece::Kind::kCustom;
    piece_.flops = static_cast<double>(sizes_.Size(custom.flops, kMaxFlops));
    piece_.moved_bytes = static_cast<double>(sizes_.Size(custom.bytes));
  }

  void ReadWork(const plan::Collective&) { NotModelled("COLLECTIVE"); }
  void ReadWork(const plan::SendReceive& work) { NotModelled(work.send ? "SEND" : "RECEIVE"); }
  void ReadWork(const plan::Host&) { NotModelled("HOST"); }
  void ReadWork(const plan::Call&) { NotModelled("CALL"); }

  void NotModelled(std::string_view kind) {
    sizes_.Fail(base::Unimplemented(sizes_.source().Describe() + ": operator " +
                                    plan::Quote(piece_.op->name) + ": work of kind " +
                                    std::string(kind) + " is not modelled"));
  }

  double OpsPerElement(double stated) const { return core_.OpsPerElement(piece_.op->kind, stated); }

  static std::int64_t Pixels(std::int64_t padded, std::int64_t kernel, std::int64_t stride,
                             std::int64_t dilation) {
    const std::int64_t window = (kernel - 1) * dilation + 1;
    return padded < window ? 0 : (padded - window) / std::max(stride, kOne) + 1;
  }

  std::int64_t Product(std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    for (const std::int64_t factor : factors) {
      const auto next = base::CheckedMul(product, factor);
      if (!next || *next > kMaxExtent) {
        sizes_.Fail(base::OutOfRange(sizes_.source().Describe() + ": operator " +
                                     plan::Quote(piece_.op->name) + ": a size exceeds " +
                                     std::to_string(kMaxExtent)));
        return 0;
      }
      product = *next;
    }
    return product;
  }

  static constexpr std::int64_t kOne = 1;
  static constexpr std::int64_t kMaxImage = std::int64_t{1} << 30;  // times a 32-bit dilation
  static constexpr std::int64_t kMaxFlops = std::int64_t{1} << 62;

  SizeReader& sizes_;
  const CoreClass& core_;
  Piece piece_;
};

}  // namespace

std::string StepSource::Describe() const { return std::string(what) + " " + plan::Quote(name); }

std::int64_t SizeReader::Size(const plan::Expr& expr, std::int64_t limit) {
  if (!status_.ok()) return 0;
  const Result<std::int64_t> value = expr.Evaluate(dims_);
  if (!value.ok()) {
    Fail(base::OutOfRange(source_.Describe() + ": " + std::string(value.status().message())));
    return 0;
  }
  if (*value < 0 || *value > limit) {
    Fail(base::OutOfRange(source_.Describe() + ": size " + std::to_string(*value) +
                          " is not in [0, " + std::to_string(limit) + "]"));
    return 0;
  }
  return *value;
}

double SizeReader::Bytes(plan::Index tensor) {
  const plan::Tensor& of = source_.plan.tensors[tensor];
  const double bits = BitsPerElement(of.dtype);
  return static_cast<double>(Size(of.elements)) * bits / 8;
}

double SizeReader::PassedBytes(const plan::Operator& op, plan::Index tensor) {
  constexpr int kMaxChain = 3;
  return Bytes(tensor) * PassedRatio(op, tensor, kMaxChain);
}

// How many times what it holds goes through a tensor. Follows elementwise operators back to the
// product; a longer chain than `depth` counts as 1.
double SizeReader::PassedRatio(const plan::Operator& op, plan::Index tensor, int depth) {
  if (depth == 0 || source_.plan.tensors[tensor].kind != plan::TensorKind::kActivation) return 1;
  for (const plan::Index p : op.predecessors) {
    const plan::Operator& producer = source_.entry.operators[p];
    if (!Contains(producer.outputs, tensor)) continue;
    if (const auto* gemm = std::get_if<plan::Gemm>(&producer.work)) {
      const double made = static_cast<double>(Size(gemm->m)) * static_cast<double>(Size(gemm->n)) *
                          static_cast<double>(Size(gemm->count));
      const auto held = static_cast<double>(Size(source_.plan.tensors[tensor].elements));
      return held > 0 && made > held ? made / held : 1;
    }
    if (!std::holds_alternative<plan::Vector>(producer.work)) return 1;
    double ratio = 1;
    for (const plan::Index input : producer.inputs) {
      ratio = std::max(ratio, PassedRatio(producer, input, depth - 1));
    }
    return ratio;
  }
  return 1;
}

Result<Pieces> ReadPieces(SizeReader& reader, const CoreClass& core) {
  PieceReader pieces(reader, core);
  Pieces all;
  for (const plan::Index op : reader.source().ops) {
    all.push_back(pieces.Read(reader.source().entry.operators[op]));
  }
  if (!reader.status().ok()) return reader.status();
  return all;
}

}  // namespace leeway::device
