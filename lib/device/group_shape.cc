#include "device/group_shape.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "base/math.h"
#include "device/cycles.h"

namespace leeway::device {
namespace {

constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::max();

// A tensor that the group touches.
struct Touched {
  plan::Index tensor = 0;
  bool outer_read = false, outer_write = false;
  bool constant = false;  // a weight read elementwise: bias, scale
  int producer = -1;      // piece, of tensors made inside
  int last_use = -1;
  bool after_product = false;
  // Held as a panel: something that needs whole rows reads it. The fewest instances of a product
  // downstream.
  bool panel = false;
  std::int64_t consumer_count = kNobody;
  double bytes = 0;      // of the shard, over its uses the largest
  double row_bytes = 0;  // of tensors made inside
};

class Layout {
 public:
  Layout(SizeReader& sizes, const Pieces& pieces, std::int64_t shards, Split split,
         const CoreClass& core)
      : sizes_(sizes), pieces_(pieces), shards_(shards), split_(split), core_(core) {}

  std::optional<GroupShape> Run() {
    shape_.single = pieces_.size() == 1;
    CollectTensors();
    MarkProducers();
    if (split_ == Split::kColumns && !ColumnsApply()) return std::nullopt;
    AddProducts();
    MarkConsumers();
    for (std::size_t i = 0; i < pieces_.size(); ++i) AddTraffic(i);
    SumTraffic();
    SumPanels();
    AddVectorWork();
    shape_.any_order = AnyOrder();
    return shape_;
  }

 private:
  using Kind = Piece::Kind;

  Touched& At(plan::Index tensor) {
    return *std::lower_bound(
        touched_.begin(), touched_.end(), tensor,
        [](const Touched& touched, plan::Index index) { return touched.tensor < index; });
  }

  void CollectTensors() {
    for (const Piece& piece : pieces_) {
      for (const plan::Index t : piece.op->inputs) touched_.push_back({.tensor = t});
      for (const plan::Index t : piece.op->outputs) touched_.push_back({.tensor = t});
    }
    std::sort(touched_.begin(), touched_.end(),
              [](const Touched& a, const Touched& b) { return a.tensor < b.tensor; });
    touched_.erase(
        std::unique(touched_.begin(), touched_.end(),
                    [](const Touched& a, const Touched& b) { return a.tensor == b.tensor; }),
        touched_.end());
    Mark(sizes_.source().reads, &Touched::outer_read);
    Mark(sizes_.source().writes, &Touched::outer_write);
  }

  void Mark(std::span<const plan::Index> tensors, bool Touched::*flag) {
    for (const plan::Index t : tensors) {
      const auto at = std::lower_bound(
          touched_.begin(), touched_.end(), t,
          [](const Touched& touched, plan::Index index) { return touched.tensor < index; });
      if (at != touched_.end() && at->tensor == t) (*at).*flag = true;
    }
  }

  bool Inner(const Touched& touched) const { return touched.producer >= 0; }

  void MarkProducers() {
    after_product_.assign(pieces_.size(), false);
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      for (const plan::Index t : pieces_[i].op->inputs) {
        Touched& input = At(t);
        input.last_use = static_cast<int>(i);
        if (Inner(input) && input.after_product) after_product_[i] = true;
      }
      for (const plan::Index t : pieces_[i].op->outputs) {
        Touched& output = At(t);
        output.producer = static_cast<int>(i);
        output.last_use = std::max(output.last_use, static_cast<int>(i));
        output.after_product = after_product_[i] || pieces_[i].kind == Kind::kMatrix;
      }
    }
  }

  bool ColumnsApply() const {
    bool products = false;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].kind == Kind::kMatrix) {
        products = true;
        if (pieces_[i].count > 1 || after_product_[i]) return false;
      }
      if (pieces_[i].kind == Kind::kReduce && after_product_[i]) return false;
    }
    return products;
  }

  // By how much the shards divide a piece's own work.
  std::int64_t Divisor(std::size_t i) const {
    if (split_ == Split::kRows) return shards_;
    return pieces_[i].kind == Kind::kMatrix || after_product_[i] ? shards_ : 1;
  }

  void AddProducts() {
    for (const Piece& piece : pieces_) {
      if (piece.kind != Kind::kMatrix) continue;
      Product product;
      product.m = piece.m;
      product.n = piece.n;
      product.k = piece.k;
      product.count = piece.count;
      product.taps = piece.taps;
      product.density = piece.density;
      if (split_ == Split::kColumns) {
        product.n = base::CeilDiv(piece.n, shards_);
      } else if (piece.count >= shards_) {
        product.count = base::CeilDiv(piece.count, shards_);
      } else {
        // Fewer instances than shards: each has its share of one instance's rows.
        product.m = base::CeilDiv(piece.m, std::max<std::int64_t>(shards_ / piece.count, 1));
        product.count = 1;
      }
      shape_.products.push_back(product);
    }
    std::int64_t fewest = kNobody;
    for (const Product& product : shape_.products) fewest = std::min(fewest, product.count);
    if (shape_.products.empty()) return;
    shape_.instances = fewest;
    for (Product& product : shape_.products) {
      product.span = static_cast<double>(base::CeilDiv(product.count, fewest));
      if (product.count == fewest) shape_.rows = std::max(shape_.rows, product.m);
    }
  }

  double TotalRows() const {
    return static_cast<double>(shape_.rows) * static_cast<double>(shape_.instances);
  }

  // From the back: a panel is what a product or a reduction reads, and what leads to it.
  void MarkConsumers() {
    std::size_t product = shape_.products.size();
    for (std::size_t i = pieces_.size(); i-- > 0;) {
      const Piece& piece = pieces_[i];
      std::int64_t count = kNobody;
      bool panel = piece.kind == Kind::kMatrix || piece.kind == Kind::kReduce;
      if (piece.kind == Kind::kMatrix) count = shape_.products[--product].count;
      for (const plan::Index t : piece.op->outputs) {
        const Touched& output = At(t);
        panel = panel || output.panel;
        if (piece.kind != Kind::kMatrix) count = std::min(count, output.consumer_count);
      }
      for (const plan::Index t : piece.op->inputs) {
        Touched& input = At(t);
        input.panel = input.panel || panel;
        input.consumer_count = std::min(input.consumer_count, count);
      }
    }
  }

  void AddTraffic(std::size_t i) {
    if (pieces_[i].kind == Kind::kMatrix) return AddProductTraffic(i);
    const Piece& piece = pieces_[i];
    const auto divisor = static_cast<double>(Divisor(i));
    const bool stated = piece.kind == Kind::kMove || piece.kind == Kind::kCustom;
    double widest = 0;
    for (const plan::Index t : piece.op->inputs) {
      Touched& input = At(t);
      if (Inner(input)) {
        widest = std::max(widest, input.row_bytes / ElementBytes(t));
        continue;
      }
      if (stated || Resident(t)) continue;
      double bytes = sizes_.PassedBytes(*piece.op, t);
      // An elementwise operator reads no more of an input (an embedding table) than it has
      // elements.
      if (piece.kind != Kind::kNone) {
        bytes = std::min(bytes, static_cast<double>(piece.elements) * ElementBytes(t));
      }
      input.constant = KindOf(t) == plan::TensorKind::kWeight;
      input.bytes = std::max(input.bytes, input.constant ? bytes : bytes / divisor);
    }
    if (stated) AddStatedTraffic(piece, divisor);
    for (const plan::Index t : piece.op->outputs) {
      Touched& output = At(t);
      double bytes = stated ? 0 : sizes_.Bytes(t) * OutputRatio(piece, t);
      // What it does not compute stays where it is, if it works in place.
      const bool in_place = shape_.single || KindOf(t) == plan::TensorKind::kState;
      if (piece.kind == Kind::kVector && in_place) {
        bytes = std::min(bytes, static_cast<double>(piece.elements) * ElementBytes(t));
      }
      output.bytes = bytes / divisor;
      output.row_bytes = widest > 0 && piece.kind != Kind::kReduce ? widest * ElementBytes(t)
                                                                   : output.bytes / TotalRows();
    }
  }

  // An elementwise result is passed block by block if an input is.
  double OutputRatio(const Piece& piece, plan::Index output) {
    if (piece.kind != Kind::kVector) return 1;
    const double held = sizes_.Bytes(output);
    double ratio = 1;
    for (const plan::Index t : piece.op->inputs) {
      const double declared = sizes_.Bytes(t);
      if (declared > 0 && held > 0) {
        ratio = std::max(ratio, sizes_.PassedBytes(*piece.op, t) / declared);
      }
    }
    return ratio;
  }

  void AddStatedTraffic(const Piece& piece, double divisor) {
    bool reads = false;
    bool writes = false;
    for (const plan::Index t : piece.op->inputs) reads = reads || At(t).outer_read;
    for (const plan::Index t : piece.op->outputs) writes = writes || At(t).outer_write;
    if (piece.kind == Kind::kCustom) {
      shape_.read_bytes += piece.moved_bytes / divisor;
      return;
    }
    // Inside a group a move between inner tensors stays on the core.
    if (reads || shape_.single) shape_.read_bytes += piece.moved_bytes / divisor;
    if (writes || shape_.single) shape_.write_bytes += piece.strided_bytes / divisor;
  }

  void AddProductTraffic(std::size_t i) {
    const Piece& piece = pieces_[i];
    Product& product = shape_.products[next_product_++];
    const auto& inputs = piece.op->inputs;
    const double native = piece.op->outputs.empty() ? 4 : ElementBytes(piece.op->outputs[0]);
    product.out_element = native;
    product.left_element = inputs.empty() ? native : ElementBytes(inputs[0]);
    // One input stands for both operands: queries and keys of one tensor.
    const std::size_t right = std::min<std::size_t>(inputs.size(), 2) - 1;
    product.right_element = inputs.empty() ? native : ElementBytes(inputs[right]);
    if (!inputs.empty()) {
      product.dtype_factor = core_.DtypeFactor(DTypeOf(inputs[0]));
    }
    const auto divisor = static_cast<double>(split_ == Split::kRows ? shards_ : 1);
    const double instances = static_cast<double>(product.m) * static_cast<double>(product.count);
    product.left_bytes = piece.image_bytes > 0
                             ? piece.image_bytes / divisor
                             : instances * static_cast<double>(product.k) * product.left_element;
    product.halo_bytes = piece.halo_bytes;
    if (inputs.empty()) {
      shape_.read_bytes += product.left_bytes;
    } else if (Touched& input = At(inputs[0]); Inner(input) || Resident(inputs[0])) {
      product.left_element = product.left_bytes = product.halo_bytes = 0;
    } else {
      input.bytes = std::max(input.bytes, product.left_bytes);
    }
    if (!inputs.empty() && Inner(At(inputs[right]))) {
      product.right_element = 0;
      shape_.inner_right = true;
    } else if (!inputs.empty() && Resident(inputs[right])) {
      product.resident_element = std::exchange(product.right_element, 0);
    }
    for (std::size_t extra = 2; extra < inputs.size(); ++extra) AddExtraInput(i, inputs[extra]);
    for (const plan::Index t : piece.op->outputs) {
      Touched& output = At(t);
      output.bytes = instances * static_cast<double>(product.n) * ElementBytes(t);
      // All instances of a row are needed at once only by a product that has fewer.
      output.row_bytes = output.consumer_count < product.count
                             ? output.bytes / TotalRows()
                             : static_cast<double>(product.n) * ElementBytes(t);
    }
  }

  // A bias or a residual.
  void AddExtraInput(std::size_t i, plan::Index tensor) {
    Touched& input = At(tensor);
    if (Inner(input) || Resident(tensor)) return;
    const double bytes = sizes_.PassedBytes(*pieces_[i].op, tensor);
    input.constant = KindOf(tensor) == plan::TensorKind::kWeight;
    input.bytes =
        std::max(input.bytes, input.constant ? bytes : bytes / static_cast<double>(shards_));
  }

  void SumTraffic() {
    double reads = 0;
    double tile = 0;
    double panel = 0;
    for (const Touched& touched : touched_) {
      if (touched.outer_read && !Inner(touched)) {
        (touched.constant ? shape_.constant_bytes : reads) += touched.bytes;
        if (!touched.constant) (touched.panel ? panel : tile) += touched.bytes;
      }
      if (touched.outer_write) {
        shape_.write_bytes += touched.bytes;
        tile += touched.bytes;
      }
    }
    shape_.read_bytes += reads;
    shape_.input_row = panel / TotalRows();
    // Double-buffered on the way in and out.
    shape_.tile_row = 2 * tile / TotalRows();
    shape_.write_row = shape_.write_bytes / TotalRows();
  }

  // Inner panels: the most that is alive at once. Inner tiles add to what is held tile by tile.
  void SumPanels() {
    absl::InlinedVector<double, 16> change(pieces_.size() + 1, 0);
    for (const Touched& touched : touched_) {
      if (!Inner(touched)) continue;
      if (touched.panel) {
        const auto made = static_cast<std::size_t>(touched.producer);
        change[made + (ReplacesInput(touched) ? 1 : 0)] += touched.row_bytes;
        change[static_cast<std::size_t>(touched.last_use) + 1] -= touched.row_bytes;
      } else if (!touched.outer_write) {
        shape_.tile_row += touched.row_bytes;
      }
    }
    double alive = 0;
    for (const double delta : change) {
      alive += delta;
      shape_.inner_row = std::max(shape_.inner_row, alive);
    }
  }

  // An elementwise result takes the place of an input that nobody reads afterwards: softmax.
  bool ReplacesInput(const Touched& output) {
    const Piece& piece = pieces_[static_cast<std::size_t>(output.producer)];
    if (piece.kind != Kind::kVector || output.last_use == output.producer) return false;
    return std::any_of(piece.op->inputs.begin(), piece.op->inputs.end(), [&](plan::Index t) {
      const Touched& input = At(t);
      return Inner(input) && input.panel && input.last_use == output.producer &&
             input.row_bytes >= output.row_bytes;
    });
  }

  bool AnyOrder() const {
    if (shape_.products.size() != 1 || shape_.inner_right) return false;
    if (shape_.products[0].left_bytes == 0) return false;
    const auto product = std::find_if(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
      return piece.kind == Kind::kMatrix;
    });
    return std::all_of(touched_.begin(), touched_.end(), [&](const Touched& touched) {
      const auto& operands = product->op->inputs;
      return !touched.panel ||
             std::find(operands.begin(), operands.end(), touched.tensor) != operands.end();
    });
  }

  void AddVectorWork() {
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& piece = pieces_[i];
      const auto divisor = static_cast<double>(Divisor(i));
      if (piece.kind == Kind::kCustom) shape_.plain_macs += piece.flops / 2 / divisor;
      const bool elementwise = piece.kind == Kind::kVector || piece.kind == Kind::kReduce ||
                               (piece.kind == Kind::kMove && !shape_.single);
      if (!elementwise || piece.ops == 0) continue;
      const double ops = Ceil(piece.ops / divisor);
      shape_.vector_ops += ops;
      const auto& outputs = piece.op->outputs;
      const double factor = outputs.empty() ? 1 : core_.DtypeFactor(DTypeOf(outputs[0]));
      shape_.vector_cycles += VectorCycles(core_, ops, factor);
    }
  }

  // A weight that the core keeps, or a view of one: nothing of it moves.
  bool Resident(plan::Index tensor) const {
    const std::span<const plan::Index> resident = sizes_.source().resident;
    if (resident.empty()) return false;
    const std::vector<plan::Tensor>& tensors = sizes_.source().plan.tensors;
    for (std::optional<plan::Index> t = tensor; t; t = tensors[*t].alias_of) {
      if (std::binary_search(resident.begin(), resident.end(), *t)) return true;
    }
    return false;
  }

  plan::TensorKind KindOf(plan::Index tensor) const {
    return sizes_.source().plan.tensors[tensor].kind;
  }
  DType DTypeOf(plan::Index tensor) const { return sizes_.source().plan.tensors[tensor].dtype; }
  double ElementBytes(plan::Index tensor) const { return BitsPerElement(DTypeOf(tensor)) / 8.0; }

  SizeReader& sizes_;
  const Pieces& pieces_;
  std::int64_t shards_;
  Split split_;
  const CoreClass& core_;
  GroupShape shape_;
  absl::InlinedVector<Touched, 16> touched_;
  absl::InlinedVector<bool, 16> after_product_;
  std::size_t next_product_ = 0;
};

}  // namespace

std::optional<GroupShape> ShapeOf(SizeReader& sizes, const Pieces& pieces, std::int64_t shards,
                                  Split split, const CoreClass& core) {
  return Layout(sizes, pieces, shards, split, core).Run();
}

}  // namespace leeway::device
