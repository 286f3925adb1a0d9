// The terms of a step's cost as text.

#include <algorithm>
#include <cstdio>

#include "base/math.h"
#include "device/cycles.h"
#include "device/dma.h"
#include "device/step_detail.h"

namespace leeway::device {
namespace {

// As short as shows four decimals: whole numbers as such.
std::string Text(double value) {
  if (value == Ceil(value) && value < 0x1p53) {
    return std::to_string(static_cast<std::int64_t>(value));
  }
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.4g", value);
  return buffer;
}

std::string CeilText(std::int64_t size, std::uint32_t side) {
  return "ceil(" + std::to_string(size) + " / " + std::to_string(side) + ")";
}

// How often the operands of the first product are read.
struct Passes {
  double left = 1, right = 1;
};

Passes PassesOf(const Tile& tile, const Product& product) {
  const auto ratio = [](std::int64_t whole, std::int64_t part) {
    return static_cast<double>(base::CeilDiv(whole, std::min(whole, part)));
  };
  Passes passes;
  const bool panels = tile.order == LoopOrder::kBothStream || tile.order == LoopOrder::kHoldRight;
  if (panels) passes.left = ratio(product.n, tile.cols);
  if (tile.order == LoopOrder::kBothStream || tile.order == LoopOrder::kRowBlocks) {
    passes.right = std::max(1.0, ratio(product.m, tile.rows) * product.density);
  }
  return passes;
}

class Terms {
 public:
  Terms(const StepDetail& detail, const CoreClass& core, const Spec& device, std::int64_t shards)
      : shape_(detail.shape),
        tile_(detail.tile),
        of_(detail.tile_cost),
        cost_(detail.cost),
        core_(core),
        device_(device),
        lines_(DramLinesOf(core)),
        shards_(shards) {}

  std::vector<CostTerm> Run() {
    if (!shape_.products.empty()) AddProduct(shape_.products.front());
    if (shape_.vector_ops > 0) AddVector();
    AddCompute();
    AddTraffic();
    AddEdge("fill", of_.first_bytes, lines_.read, cost_.fill);
    AddEdge("drain", of_.last_bytes, lines_.write, cost_.drain);
    AddTime();
    AddEnergy();
    return std::move(terms_);
  }

 private:
  void Add(const char* name, std::string formula, double value, const char* unit) {
    terms_.push_back({name, std::move(formula), value, unit});
  }

  void AddProduct(const Product& product) {
    Add("multiply-adds",
        std::to_string(product.m) + " · " + std::to_string(product.n) + " · " +
            std::to_string(product.k) + " · " + std::to_string(product.count) +
            (product.density < 1 ? " · " + Text(product.density) : ""),
        static_cast<double>(cost_.macs), "");
    const std::int64_t rows = std::min(tile_.rows, product.m);
    const Folds folds = FoldsOf(core_, product, rows);
    const double all = folds.rows * folds.cols * static_cast<double>(product.count);
    Add("folds", FoldsText(product, rows), all, "");
    const FoldShare share = ShareFolds(core_, product, rows);
    if (core_.arrays > 1) Add("turns", TurnsText(product, folds, share), share.turns, "");
    const bool divided = share.way == FoldShare::Way::kStream && core_.arrays > 1;
    const double stream = divided ? Ceil(folds.stream / core_.arrays) : folds.stream;
    Add("fold", FoldText(stream), share.fold, "cycles");
    if (share.join_cycles > 0) {
      Add("joins",
          "ceil((" + std::to_string(core_.arrays) + " - 1) · " + Text(folds.stream) + " · " +
              std::to_string(core_.array_cols) + " / " + Width() + ")",
          share.join_cycles, "cycles");
    }
    AddMatrix(product, rows, share);
  }

  std::string FoldsText(const Product& product, std::int64_t rows) const {
    const std::int64_t part = base::CeilDiv(product.k, product.taps);
    const std::string depth =
        (product.taps > 1 ? std::to_string(product.taps) + " taps · " : std::string()) +
        CeilText(part, core_.array_rows);
    const std::string count =
        product.count > 1 ? " · " + std::to_string(product.count) + " instances" : "";
    if (core_.mode == ComputeMode::kScaleSim && core_.dataflow == Dataflow::kOutputStationary) {
      return CeilText(rows, core_.array_rows) + " · " + CeilText(product.n, core_.array_cols) +
             count;
    }
    const bool inputs = core_.dataflow == Dataflow::kInputStationary;
    return depth + " · " + CeilText(inputs ? rows : product.n, core_.array_cols) + count;
  }

  std::string TurnsText(const Product& product, const Folds& folds, const FoldShare& share) const {
    const double count = static_cast<double>(product.count);
    const std::string arrays = std::to_string(core_.arrays);
    switch (share.way) {
      case FoldShare::Way::kDealt:
        return "ceil(" + Text(folds.rows * folds.cols * count) + " / " + arrays + " arrays)";
      case FoldShare::Way::kColumns:
        return "ceil(" + Text(folds.cols * count) + " columns / " + arrays + " arrays) · " +
               Text(folds.rows);
      case FoldShare::Way::kStream:
        return Text(share.turns) + ", each array a part of the stream";
    }
    return "";
  }

  std::string FoldText(double stream) const {
    if (core_.mode == ComputeMode::kOverlapped) {
      return "max(" + Text(stream) + " streamed, " + std::to_string(core_.weight_load_cycles) +
             " to load)";
    }
    const std::string side = std::to_string(core_.array_rows) + " + ";
    const bool outputs = core_.dataflow == Dataflow::kOutputStationary;
    const char* extra = !outputs ? " to preload" : core_.drain ? " to drain" : nullptr;
    return (extra != nullptr ? std::to_string(core_.array_rows) + extra + " + " : std::string()) +
           Text(stream) + " streamed + " + side + std::to_string(core_.array_cols) + " - 2";
  }

  void AddMatrix(const Product& product, std::int64_t rows, const FoldShare& share) {
    const std::int64_t blocks = product.m / rows;
    const std::int64_t rest = product.m % rows;
    std::string busy =
        (blocks > 1 ? std::to_string(blocks) + " row blocks · " : std::string()) + Turn(share);
    if (rest > 0) busy += " + " + Turn(ShareFolds(core_, product, rest));
    const double factor = product.dtype_factor * product.density;
    if (factor != 1) busy = Text(factor) + " · (" + busy + ")";
    if (core_.mode == ComputeMode::kOverlapped) {
      busy = std::to_string(core_.first_load_cycles) + " first load + " + busy + " + " +
             std::to_string(core_.pipeline_cycles) + " pipeline";
    }
    Add("matrix", busy, of_.matrix_cycles, "cycles");
  }

  static std::string Turn(const FoldShare& share) {
    const std::string turn = Text(share.turns) + " · " + Text(share.fold);
    return share.join_cycles > 0 ? "(" + turn + " + " + Text(share.join_cycles) + ")" : turn;
  }

  std::string Width() const {
    return std::to_string(std::uint64_t{core_.vector_lanes} * core_.vector_issue);
  }

  void AddVector() {
    Add("vector",
        std::to_string(core_.vector_latency_cycles) + " latency + ceil(" + Text(shape_.vector_ops) +
            " operations / " + Width() + ")",
        shape_.vector_cycles, "cycles");
  }

  void AddCompute() {
    Add("compute",
        Text(of_.cycles) + " cycles / " + Text(static_cast<double>(core_.clock_hz) / 1e9) + " GHz",
        static_cast<double>(cost_.compute.count()), "ns");
  }

  void AddTraffic() {
    Add("dram", TrafficText(), static_cast<double>(cost_.dram_bytes), "bytes");
    Add("transfer", TransferText(), Transfer(), "ns");
    const std::string tile = tile_.rows == 0 ? std::string("chunks")
                                             : "tiles of " + std::to_string(tile_.rows) + " × " +
                                                   std::to_string(tile_.cols) + ", " + OrderText();
    Add("sram", tile + ", of " + std::to_string(core_.tile_bytes()),
        static_cast<double>(cost_.sram_peak_bytes), "bytes");
  }

  double Transfer() const {
    return lines_.TransferNs(static_cast<double>(cost_.dram_bytes), shape_.write_bytes,
                             FairRate(device_, shards_));
  }

  std::string TransferText() const {
    const auto bytes = static_cast<double>(cost_.dram_bytes);
    const std::string dram = Text(static_cast<double>(device_.dram_bytes_per_second) / 1e9) +
                             (shards_ > 1 ? " / " + std::to_string(shards_) : std::string());
    const double in = lines_.read.bytes_per_ns, out = lines_.write.bytes_per_ns;
    if (in == out) return Text(bytes) + " / min(" + Text(in) + " port, " + dram + " DRAM) B/ns";
    return "max(" + Text(bytes - shape_.write_bytes) + " / " + Text(in) + " read + " +
           Text(shape_.write_bytes) + " / " + Text(out) + " write, " + Text(bytes) + " / " + dram +
           " DRAM) B/ns";
  }

  const char* OrderText() const {
    switch (tile_.order) {
      case LoopOrder::kStream:
        return "streaming";
      case LoopOrder::kRowBlocks:
        return "rows held";
      case LoopOrder::kHoldAll:
        return "rows and right operand held";
      case LoopOrder::kBothStream:
        return "results held";
      case LoopOrder::kHoldRight:
        return "right operand held";
    }
    return "";
  }

  std::string TrafficText() const {
    if (shape_.products.empty()) {
      return Text(shape_.read_bytes + shape_.constant_bytes) + " read + " +
             Text(shape_.write_bytes) + " written";
    }
    const Product& product = shape_.products.front();
    const double right = product.right_bytes() * static_cast<double>(product.count);
    const double others = shape_.read_bytes + shape_.constant_bytes - product.left_bytes;
    const Passes passes = PassesOf(tile_, product);
    const double known =
        passes.left * product.left_bytes + others + passes.right * right + shape_.write_bytes;
    std::string text = Text(product.left_bytes) + " left · " + Text(passes.left) + " + " +
                       Text(right) + " right · " + Text(passes.right) + " + " +
                       Text(shape_.write_bytes) + " written";
    if (others > 0) text += " + " + Text(others) + " others";
    if (of_.dram_bytes > known) text += " + " + Text(of_.dram_bytes - known) + " halo";
    return text;
  }

  void AddEdge(const char* name, double bytes, const DramLine& line, Nanos time) {
    if (bytes == 0) return;
    const std::string granule = std::to_string(line.granule_bytes);
    Add(name,
        Text(line.latency_ns) + " latency + ceil(" + Text(bytes) + " / " + granule + ") · " +
            granule + " / " + Text(line.bytes_per_ns) + " B/ns",
        static_cast<double>(time.count()), "ns");
  }

  void AddTime() {
    Add("time",
        std::to_string(cost_.launch.count()) + " launch + " + std::to_string(cost_.fill.count()) +
            " fill + max(" + std::to_string(cost_.compute.count()) + " compute, " +
            Text(Ceil(Transfer())) + " transfer) + " + std::to_string(cost_.drain.count()) +
            " drain",
        static_cast<double>(Time().count()), "ns");
  }

  // Only what the device states the power of.
  void AddEnergy() {
    const EventEnergy one = device_.event_energy();
    const StepEvents events = EventsOf(shape_, of_, core_, one);
    std::string sum;
    const auto add = [&](double count, const char* what, double pj) {
      if (count == 0 || pj == 0) return;
      sum += (sum.empty() ? "" : " + ") + Text(count) + " " + what + " · " + Text(pj);
    };
    add(events.macs, "multiply-adds", one.mac);
    add(events.vector_ops, "operations", one.vector_op);
    add(events.dram_bytes, "DRAM bytes", one.dram_byte);
    add(events.sram_bytes, "SRAM bytes", one.sram_byte);
    if (!sum.empty()) Add("dynamic", sum + " pJ", static_cast<double>(cost_.energy_pj), "pJ");
    if (device_.power.static_watts == 0) return;
    const double ns = static_cast<double>(Time().count());
    Add("static", Text(device_.power.static_watts) + " W of the device · " + Text(ns) + " ns",
        device_.power.static_watts * ns, "nJ");
  }

  Nanos Time() const { return cost_.launch + cost_.Alone(device_.dram_rate() / shards_); }

  const GroupShape& shape_;
  const Tile& tile_;
  const TileCost& of_;
  const StepCost& cost_;
  const CoreClass& core_;
  const Spec& device_;
  DramLines lines_;
  std::int64_t shards_;
  std::vector<CostTerm> terms_;
};

// What leaves most of an array idle, or nothing.
std::string Idle(const Product& product, const Tile& tile, const CoreClass& core) {
  constexpr double kLittle = 0.25;
  const Folds folds = FoldsOf(core, product, std::min(tile.rows, product.m));
  const double cells = folds.rows * folds.cols * core.array_rows * core.array_cols;
  const double macs = static_cast<double>(product.m) * static_cast<double>(product.n) *
                      static_cast<double>(product.k);
  const double blocks = static_cast<double>(base::CeilDiv(product.m, tile.rows));
  const double full = macs / blocks / (cells * folds.stream);
  if (full < kLittle) {
    return ": the product fills " + Text(full * 100) + " % of the " +
           std::to_string(core.array_rows) + " × " + std::to_string(core.array_cols) +
           " cells, a systolic array is bad at it" +
           (product.count > 1
                ? " (" + std::to_string(product.count) + " instances of depth " +
                      std::to_string(product.k) + " and width " + std::to_string(product.n) + ")"
                : std::string());
  }
  const double fold = FoldCycles(core, folds.stream);
  if (folds.stream < kLittle * fold) {
    return ": each fold occupies an array for " + Text(fold) + " cycles, " + Text(folds.stream) +
           " of them streaming";
  }
  return "";
}

// Only products read anything again.
double MostPasses(const StepDetail& detail) {
  double most = 1;
  for (const Product& product : detail.shape.products) {
    const Passes passes = PassesOf(detail.tile, product);
    most = std::max({most, passes.left, passes.right});
  }
  return most;
}

}  // namespace

double Utilization(const StepDetail& detail, const CoreClass& core) {
  const double cycles = detail.tile_cost.cycles;
  if (!(cycles > 0)) return 0;
  if (detail.tile_cost.matrix_cycles > 0) {
    // Of the peak at the operands' own type.
    double busy = 0;
    for (const Product& product : detail.shape.products) {
      busy = std::max(busy, product.dtype_factor);
    }
    return static_cast<double>(detail.cost.macs) * busy / (cycles * PeakMacs(core));
  }
  return detail.shape.vector_ops /
         (cycles * static_cast<double>(core.vector_lanes) * core.vector_issue);
}

std::vector<CostTerm> Explain(const StepDetail& detail, const CoreClass& core, const Spec& device,
                              std::int64_t shards) {
  return Terms(detail, core, device, shards).Run();
}

std::string ReasonOf(const StepDetail& detail, const CoreClass& core, const Spec& device,
                     std::int64_t shards) {
  const StepCost& cost = detail.cost;
  const double transfer = Ceil(DramLinesOf(core).TransferNs(
      static_cast<double>(cost.dram_bytes), detail.shape.write_bytes, FairRate(device, shards)));
  const std::string compute = std::to_string(cost.compute.count()) + " ns";
  switch (cost.bound) {
    case Bound::kLaunch:
      return "the launch takes " + std::to_string(cost.launch.count()) +
             " ns, longer than the work";
    case Bound::kBandwidth:
      return "the DRAM takes " + Text(transfer) + " ns, computation " + compute;
    case Bound::kSram:
      return "the DRAM takes " + Text(transfer) + " ns, as operands that do not fit are read " +
             Text(MostPasses(detail)) + " times; read once they would be hidden by " + compute +
             " of computation";
    case Bound::kVector:
      return "elementwise work takes " + compute + ", the DRAM " + Text(transfer) + " ns";
    case Bound::kCompute:
      return "the arrays take " + compute + ", the DRAM " + Text(transfer) + " ns" +
             (detail.shape.products.empty()
                  ? std::string()
                  : Idle(detail.shape.products.front(), detail.tile, core));
  }
  return "";
}

}  // namespace leeway::device
