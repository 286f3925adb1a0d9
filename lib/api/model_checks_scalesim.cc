// V1 and V2: what SCALE-Sim v3 counts.

#include <array>
#include <string>
#include <utility>

#include "api/csv_rows.h"
#include "api/model_checks.h"
#include "base/status_macros.h"
#include "device/cycles.h"

namespace leeway::api {
namespace {

using device::CoreClass;
using device::Dataflow;
using device::Product;

constexpr char kSource[] = "SCALE-Sim v3, its ResNet-50 topology, run without a memory model";

CoreClass ArrayOf(std::int64_t rows, std::int64_t cols, Dataflow dataflow) {
  CoreClass core;
  core.mode = device::ComputeMode::kScaleSim;
  core.dataflow = dataflow;
  core.arrays = 1;
  core.array_rows = static_cast<std::uint32_t>(rows);
  core.array_cols = static_cast<std::uint32_t>(cols);
  return core;
}

Product ProductOf(std::int64_t m, std::int64_t n, std::int64_t k) {
  Product product;
  product.m = m;
  product.n = n;
  product.k = k;
  return product;
}

// As SCALE-Sim reports: the index of the last cycle.
double LastCycle(const CoreClass& core, const Product& product) {
  return device::ProductCycles(core, product, product.m) - 1;
}

// The layers of ResNet-50 (He et al. 2015, table 1; a stage's first block halves the image in its
// first convolution and in its shortcut) as SCALE-Sim's topology has them: nothing is padded, so
// that a 3 × 3 convolution loses a pixel on each side, and a partial last window counts.
std::vector<Product> ResNet50() {
  const auto image = [](std::int64_t side, std::int64_t filters, std::int64_t depth) {
    return ProductOf(side * side, filters, depth);
  };
  struct Stage {
    std::int64_t blocks, side, width;
  };
  constexpr Stage kStages[] = {{3, 56, 64}, {4, 28, 128}, {6, 14, 256}, {3, 7, 512}};
  std::vector<Product> layers = {image(110, 64, 7 * 7 * 3)};  // of 224 pixels, by twos
  std::int64_t channels = 64;
  for (const Stage& stage : kStages) {
    // 1 × 1 by twos over an even side: the window of which half is missing counts.
    const std::int64_t entered = stage.side == 56 ? 56 : stage.side + 1;
    for (std::int64_t block = 0; block < stage.blocks; ++block) {
      layers.push_back(image(block == 0 ? entered : stage.side, stage.width, channels));
      layers.push_back(image(stage.side - 2, stage.width, 9 * stage.width));
      layers.push_back(image(stage.side, 4 * stage.width, stage.width));
      if (block == 0) layers.push_back(image(entered, 4 * stage.width, channels));
      channels = 4 * stage.width;
    }
  }
  layers.push_back(ProductOf(1, 1000, 2048));
  return layers;
}

ModelCheck Exact(const char* name, std::string what, double ours, double reference,
                 const char* unit) {
  ModelCheck check;
  check.name = name;
  check.what = std::move(what);
  check.ours = ours;
  check.reference = reference;
  check.unit = unit;
  check.source = kSource;
  return check;
}

struct Flow {
  const char* name;
  Dataflow dataflow;
};
constexpr Flow kFlows[] = {{"os", Dataflow::kOutputStationary},
                           {"ws", Dataflow::kWeightStationary},
                           {"is", Dataflow::kInputStationary}};

void AddTotals(Checks& checks) {
  struct Total {
    std::int64_t side;
    std::array<double, 3> cycles;  // as kFlows
  };
  constexpr Total kTotals[] = {{32, {4'434'168, 5'753'486, 5'608'356}},
                               {128, {611'561, 876'832, 997'762}}};
  const std::vector<Product> layers = ResNet50();
  for (const Total& total : kTotals) {
    for (std::size_t flow = 0; flow < std::size(kFlows); ++flow) {
      const CoreClass core = ArrayOf(total.side, total.side, kFlows[flow].dataflow);
      double ours = 0;
      for (const Product& layer : layers) ours += LastCycle(core, layer);
      const std::string side = std::to_string(total.side);
      checks.push_back(Exact("V1", "ResNet-50, " + side + "², " + kFlows[flow].name, ours,
                             total.cycles[flow], "cycles"));
    }
  }
}

// The first layer, 12100 × 64 × 147, on 32². What SCALE-Sim counts for writes of output stationary
// results exceeds their number: not compared.
void AddAccesses(Checks& checks) {
  struct Reads {
    double input, filter, output;
  };
  constexpr Reads kReads[] = {
      {3'557'400, 3'565'632, 0}, {3'557'400, 9'408, 3'872'000}, {1'778'700, 3'565'632, 3'872'000}};
  const Product layer = ResNet50().front();
  for (std::size_t flow = 0; flow < std::size(kFlows); ++flow) {
    const CoreClass core = ArrayOf(32, 32, kFlows[flow].dataflow);
    const device::ArrayAccesses ours = device::AccessesOf(core, layer);
    const std::string of = std::string("Conv1, 32², ") + kFlows[flow].name + ", ";
    checks.push_back(Exact("V2", of + "inputs", ours.left, kReads[flow].input, "reads"));
    checks.push_back(Exact("V2", of + "filters", ours.right, kReads[flow].filter, "reads"));
    if (kReads[flow].output == 0) continue;
    checks.push_back(Exact("V2", of + "results", ours.out, kReads[flow].output, "writes"));
  }
}

// A file of results, a row a layer.
class Rows {
 public:
  Rows(std::vector<CsvRow> rows, const std::string& name) : rows_(std::move(rows)), name_(name) {}

  Result<Checks> Run() {
    if (rows_.size() < 2) return base::InvalidArgument(name_ + ": no rows");
    LEEWAY_RETURN_IF_ERROR(FindColumns());
    for (std::size_t i = 1; i < rows_.size(); ++i) LEEWAY_RETURN_IF_ERROR(Add(rows_[i]));
    const double rows = static_cast<double>(rows_.size() - 1);
    Checks checks = {Exact("V1", "rows of " + name_, same_cycles_, rows, "rows"),
                     Exact("V2", "rows of " + name_, same_accesses_, rows, "rows")};
    checks[0].note = wrong_cycles_;
    checks[1].note = wrong_accesses_;
    return checks;
  }

 private:
  enum Column { kDataflow, kRows, kCols, kM, kN, kK, kCycles, kInput, kFilter, kOutput, kColumns };
  static constexpr std::string_view kNames[kColumns] = {"dataflow",
                                                        "R",
                                                        "C",
                                                        "M",
                                                        "N",
                                                        "K",
                                                        "scalesim_compute_cycles",
                                                        "ifmap_sram_reads",
                                                        "filter_sram_reads",
                                                        "ofmap_sram_writes"};

  Status At(const CsvRow& row, const std::string& what) const {
    return base::InvalidArgument(name_ + ":" + std::to_string(row.line) + ": " + what);
  }

  Status FindColumns() {
    const std::vector<std::string_view>& heading = rows_[0].fields;
    for (int column = 0; column < kColumns; ++column) {
      std::size_t at = 0;
      while (at < heading.size() && heading[at] != kNames[column]) ++at;
      if (at == heading.size()) {
        return At(rows_[0], "no column \"" + std::string(kNames[column]) + "\"");
      }
      columns_[column] = at;
    }
    return Status();
  }

  Result<std::int64_t> Number(const CsvRow& row, Column column) const {
    const std::size_t at = columns_[column];
    const auto size = at < row.fields.size() ? SizeOf(row.fields[at]) : std::nullopt;
    if (size) return *size;
    return At(row, std::string(kNames[column]) + " is not a whole number from 1");
  }

  Result<Dataflow> FlowOf(const CsvRow& row) const {
    const std::size_t at = columns_[kDataflow];
    for (const Flow& flow : kFlows) {
      if (at < row.fields.size() && row.fields[at] == flow.name) return flow.dataflow;
    }
    return At(row, "dataflow is none of os, ws, is");
  }

  Status Add(const CsvRow& row) {
    LEEWAY_ASSIGN_OR_RETURN(const Dataflow flow, FlowOf(row));
    std::array<double, kColumns> of{};
    for (int column = kRows; column < kColumns; ++column) {
      LEEWAY_ASSIGN_OR_RETURN(const std::int64_t number, Number(row, static_cast<Column>(column)));
      of[column] = static_cast<double>(number);
    }
    const auto whole = [&](Column column) { return static_cast<std::int64_t>(of[column]); };
    if (whole(kRows) > 1 << 16 || whole(kCols) > 1 << 16) return At(row, "an array beyond 65536");
    const CoreClass core = ArrayOf(whole(kRows), whole(kCols), flow);
    const Product product = ProductOf(whole(kM), whole(kN), whole(kK));
    const device::ArrayAccesses ours = device::AccessesOf(core, product);
    const bool outputs = flow == Dataflow::kOutputStationary || ours.out == of[kOutput];
    Count(LastCycle(core, product) == of[kCycles], row, same_cycles_, wrong_cycles_);
    Count(ours.left == of[kInput] && ours.right == of[kFilter] && outputs, row, same_accesses_,
          wrong_accesses_);
    return Status();
  }

  void Count(bool same, const CsvRow& row, double& count, std::string& wrong) const {
    if (same) {
      ++count;
    } else if (wrong.empty()) {
      wrong = "the first that differs is line " + std::to_string(row.line);
    }
  }

  std::vector<CsvRow> rows_;
  const std::string& name_;
  std::array<std::size_t, kColumns> columns_{};
  double same_cycles_ = 0, same_accesses_ = 0;
  std::string wrong_cycles_, wrong_accesses_;
};

}  // namespace

Result<Checks> ScaleSimChecks(const ValidateOptions& options) {
  Checks checks;
  AddTotals(checks);
  AddAccesses(checks);
  if (options.scalesim_rows.empty()) return checks;
  Rows rows(ReadCsvRows(options.scalesim_rows), options.scalesim_name);
  LEEWAY_ASSIGN_OR_RETURN(const Checks more, rows.Run());
  checks.insert(checks.end(), more.begin(), more.end());
  return checks;
}

}  // namespace leeway::api
