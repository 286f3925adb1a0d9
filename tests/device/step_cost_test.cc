// Step costs against figures derived by hand from the formulas' sources.

#include "device/step_cost.h"

#include <algorithm>
#include <string>
#include <vector>

#include "device/dma.h"
#include "device/step_detail.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using plan::TensorKind;
using testing::CostOfGroup;
using testing::CostOfOperator;
using testing::PlanMaker;

// x[m, k] · w[k, n].
PlanMaker OneGemm(const std::string& m, const std::string& n, const std::string& k) {
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "(" + m + ") * (" + k + ")");
  plan.Tensor("w", TensorKind::kWeight, "(" + n + ") * (" + k + ")");
  plan.Tensor("y", TensorKind::kOutput, "(" + m + ") * (" + n + ")");
  plan.Gemm("matmul", {"x", "w"}, "y", m, n, k);
  return plan;
}

// Cycles of a clock, of a duration rounded to nanoseconds.
double Cycles(Nanos time, const Spec& device) {
  return static_cast<double>(time.count()) * static_cast<double>(device.classes[0].clock_hz) / 1e9;
}

TEST_CASE("a resident product takes rows over arrays plus 160 cycles on a TPU v4-like core",
          "[device][prediction]") {
  struct Case {
    std::int64_t rows;
    double cycles, measured;
  };
  // The measurements are COST_MODEL section 2's; 16 rows load weights for 8 cycles.
  const Case c = GENERATE(Case{1024, 416, 435}, Case{128, 192, 211}, Case{16, 168, 176});
  const Spec device = testing::TpuV4Like();
  PlanMaker plan = OneGemm(std::to_string(c.rows), "128", "128");
  const StepCost cost = CostOfOperator(plan, "matmul", {}, device);
  CHECK(Cycles(cost.compute, device) == Approx(c.cycles).margin(0.6));
  CHECK(Cycles(cost.compute, device) == Approx(c.measured).epsilon(0.10));
}

TEST_CASE("a 2048 cubed product on two TPU v4-like cores is within 15 % of the measurement",
          "[device][prediction]") {
  const Spec device = testing::TpuV4Like();
  PlanMaker plan = OneGemm("2048", "2048", "2048");
  const StepCost cost = CostOfOperator(plan, "matmul", {}, device, 2);
  CHECK(Cycles(cost.compute, device) == Approx(65'696).margin(0.6));
  const Nanos all = cost.Alone(device.dram_rate() / 2);
  CHECK(Cycles(all, device) == Approx(74'739).epsilon(0.15));
}

TEST_CASE("each fold costs the rows streamed, or the weights' load if that is longer",
          "[device][unit]") {
  const Spec device = testing::Shipped();
  // 2 × 3 folds of 128 × 128 weights, at 1 cycle a nanosecond.
  PlanMaker many = OneGemm("1000", "300", "200");
  CHECK(CostOfOperator(many, "matmul", {}, device).compute.count() == 255 + 6 * 1000 + 254);
  PlanMaker one = OneGemm("1", "300", "200");
  CHECK(CostOfOperator(one, "matmul", {}, device).compute.count() == 255 + 6 * 128 + 254);
}

TEST_CASE("instances share the fill, and a mask leaves out row tiles", "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("q", TensorKind::kInput, "16 * 512 * 128");
  plan.Tensor("s", TensorKind::kOutput, "16 * 512 * 512");
  plan.Gemm("dense", {"q", "q"}, "s", "512", "512", "128", "16");
  plan.Gemm("causal", {"q", "q"}, "s", "512", "512", "128", "16", 0.5);
  const std::int64_t folds = 16 * 4;
  CHECK(CostOfOperator(plan, "dense", {}, device).compute.count() == 255 + folds * 512 + 254);
  CHECK(CostOfOperator(plan, "causal", {}, device).compute.count() == 255 + folds * 256 + 254);
  CHECK(CostOfOperator(plan, "causal", {}, device).macs * 2 ==
        CostOfOperator(plan, "dense", {}, device).macs);
}

TEST_CASE("a dtype of factor two takes twice the streaming time", "[device][unit]") {
  Spec device = testing::Shipped();
  device.classes[0].dtype_factors = {{DType::kBf16, 2.0}};
  PlanMaker plan = OneGemm("1000", "300", "200");
  CHECK(CostOfOperator(plan, "matmul", {}, device).compute.count() == 255 + 2 * 6 * 1000 + 254);
}

TEST_CASE("a matrix-vector product takes at least its weights' time on the DRAM",
          "[device][property]") {
  const Spec device = testing::Shipped();
  const auto m = GENERATE(1, 2, 8, 32);
  const auto shards = GENERATE(1, 4);
  PlanMaker plan = OneGemm(std::to_string(m), "4096", "11008");
  const StepCost cost = CostOfOperator(plan, "matmul", {}, device, shards);
  const double weights = 2.0 * 4096 * 11008 / shards;
  const double rate = std::min(614.4 / shards, 512.0);
  const auto alone = static_cast<double>(cost.Alone(device.dram_rate() / shards).count());
  CHECK(alone >= weights / rate);
  // Each fold's 32 KiB of weights load in 128 cycles: one core alone cannot keep up with its port.
  const double load = 32.0 * 86 * 128 / shards;
  CHECK(cost.bound == (shards == 1 ? Bound::kCompute : Bound::kBandwidth));
  CHECK(alone <= std::max(1.05 * weights / rate, 1.01 * load) + 2000);
}

TEST_CASE("elementwise work takes elements times operations over lanes, after the latency",
          "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "1000000");
  plan.Tensor("y", TensorKind::kOutput, "1000000");
  plan.Vector("gelu", {"x"}, "y", "1000000", 25);
  const StepCost cost = CostOfOperator(plan, "gelu", {}, device);
  CHECK(cost.vector_ops == 25'000'000);
  CHECK(cost.compute.count() == 1 + 25'000'000 / 4096 + 1);
  CHECK(cost.dram_bytes == 4'000'000);
}

TEST_CASE("a strided move occupies whole granules on its strided side", "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "500000");
  plan.Tensor("y", TensorKind::kOutput, "500000");
  plan::Move move;
  move.bytes = plan.Size("1000000");
  plan.Op("copy", {"x"}, {"y"}, move);
  move.contiguous_bytes = plan.Size("40");
  plan.Op("transpose", {"x"}, {"y"}, move);
  CHECK(CostOfOperator(plan, "copy", {}, device).dram_bytes == 2'000'000);
  CHECK(CostOfOperator(plan, "transpose", {}, device).dram_bytes == 1'000'000 + 1'600'000);
  CHECK(CostOfOperator(plan, "copy", {}, device).compute == Nanos(0));
}

TEST_CASE("a body lasts exactly as long as it computes at its cap, or as its bytes take",
          "[device][property]") {
  const Spec device = testing::Shipped();
  const auto m = GENERATE(1, 77, 512, 4096);
  PlanMaker plan = OneGemm(std::to_string(m), "4096", "4096");
  const StepCost cost = CostOfOperator(plan, "matmul", {}, device);
  const ByteUnits bytes = cost.dram_bytes << kByteUnitBits;
  CHECK(cost.cap > 0);
  CHECK(cost.cap <= RateUnits(device.classes[0].dma_bytes_per_second));
  CHECK(cost.body_bytes >= bytes);
  CHECK(cost.body_bytes < bytes + cost.compute.count());
  const ByteUnits unlimited = ByteUnits{1} << 50;
  CHECK(cost.BodyAlone(unlimited) == Nanos((cost.body_bytes + cost.cap - 1) / cost.cap));
  CHECK(cost.BodyAlone(unlimited) >= cost.compute);
  if (cost.bound == Bound::kCompute) CHECK(cost.BodyAlone(unlimited) == cost.compute);
}

TEST_CASE("energy is the events' watts at full rate over the rate", "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = OneGemm("1024", "1024", "1024");
  const StepCost cost = CostOfOperator(plan, "matmul", {}, device);
  const EventEnergy energy = device.event_energy();
  const double expected = static_cast<double>(cost.macs) * energy.mac +
                          static_cast<double>(cost.dram_bytes) * energy.dram_byte;
  CHECK(static_cast<double>(cost.energy_pj) == Approx(expected).margin(1));
}

// Attention of `heads` heads over `seq` positions of 128, as three operators.
PlanMaker Attention() {
  PlanMaker plan;
  plan.Dim("seq", 1, 65'536).Dim("heads", 1, 64);
  plan.Tensor("q", TensorKind::kInput, "heads * seq * 128");
  plan.Tensor("k", TensorKind::kInput, "heads * seq * 128");
  plan.Tensor("v", TensorKind::kInput, "heads * seq * 128");
  // Declared as a block of rows: all of them never exist at once.
  plan.Tensor("s", TensorKind::kActivation, "heads * min(seq, 512) * seq");
  plan.Tensor("p", TensorKind::kActivation, "heads * min(seq, 512) * seq");
  plan.Tensor("o", TensorKind::kOutput, "heads * seq * 128");
  plan.Gemm("scores", {"q", "k"}, "s", "seq", "seq", "128", "heads");
  plan.Vector("softmax", {"s"}, "p", "heads * seq * seq", 4);
  plan.Gemm("values", {"p", "v"}, "o", "seq", "128", "seq", "heads");
  plan.Group("attention", {"scores", "softmax", "values"});
  return plan;
}

TEST_CASE("a product declared as a row block passes through memory as often as it has blocks",
          "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = Attention();
  const std::int64_t seq = 4096;
  const std::int64_t scores = 8 * seq * seq * 2;
  const std::int64_t operand = 8 * seq * 128 * 2;
  CHECK(CostOfOperator(plan, "scores", {seq, 8}, device).dram_bytes == scores + 2 * operand);
  CHECK(CostOfOperator(plan, "softmax", {seq, 8}, device).dram_bytes == 2 * scores);
  CHECK(CostOfOperator(plan, "values", {seq, 8}, device).dram_bytes == scores + 2 * operand);
}

TEST_CASE(
    "fused attention keeps scores on the core and reads keys and values again only where "
    "they do not fit",
    "[device][unit]") {
  Spec device = testing::Shipped();
  PlanMaker plan = Attention();
  const plan::Group& group = plan.variant().groups[0];
  const std::int64_t seq = 4096;
  const std::int64_t operand = 8 * seq * 128 * 2;
  const StepCost roomy = CostOfGroup(plan, group, {seq, 8}, device);
  CHECK(roomy.dram_bytes == 4 * operand);
  CHECK(roomy.sram_peak_bytes <= device.classes[0].sram_bytes);
  // One MiB holds neither 2 MiB of keys and values nor more than 64 rows of scores of 8 KiB.
  device.classes[0].sram_bytes = 1 << 20;
  const StepCost tight = CostOfGroup(plan, group, {seq, 8}, device);
  CHECK(tight.sram_peak_bytes <= 1 << 20);
  CHECK((tight.dram_bytes - 4 * operand) % (2 * operand) == 0);
  CHECK(tight.dram_bytes >= 2 * operand + 2 * operand * (seq / 128));
}

// up and down projections with an activation between them.
PlanMaker Mlp() {
  PlanMaker plan;
  plan.Dim("rows", 1, 65'536).Dim("width", 1, 16'384);
  plan.Tensor("x", TensorKind::kInput, "rows * width");
  plan.Tensor("scale", TensorKind::kWeight, "width");
  plan.Tensor("xn", TensorKind::kActivation, "rows * width");
  plan.Tensor("w1", TensorKind::kWeight, "width * 4 * width");
  plan.Tensor("h", TensorKind::kActivation, "rows * 4 * width");
  plan.Tensor("g", TensorKind::kActivation, "rows * 4 * width");
  plan.Tensor("w2", TensorKind::kWeight, "width * 4 * width");
  plan.Tensor("z", TensorKind::kActivation, "rows * width");
  plan.Tensor("y", TensorKind::kOutput, "rows * width");
  plan.Vector("norm", {"x", "scale"}, "xn", "rows * width", 6);
  plan.Gemm("up", {"xn", "w1"}, "h", "rows", "4 * width", "width");
  plan.Vector("act", {"h"}, "g", "rows * 4 * width", 5);
  plan.Gemm("down", {"g", "w2"}, "z", "rows", "width", "4 * width");
  plan.Vector("add", {"z", "x"}, "y", "rows * width", 1);
  return plan;
}

TEST_CASE("fusing an elementwise operator into a product spares its traffic and its launch",
          "[device][property]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = Mlp();
  plan.Group("norm_up_act", {"norm", "up", "act"});
  plan.Group("down_add", {"down", "add"});
  const auto rows = GENERATE(1, 100, 1024, 8192);
  const auto shards = GENERATE(1, 4);
  const std::vector<std::int64_t> dims{rows, 2048};
  for (const auto& [group, ops] : std::vector<std::pair<std::size_t, std::vector<std::string>>>{
           {0, {"norm", "up", "act"}}, {1, {"down", "add"}}}) {
    const StepCost fused = CostOfGroup(plan, plan.variant().groups[group], dims, device, shards);
    std::int64_t bytes = 0;
    Nanos time{0};
    for (const std::string& op : ops) {
      const StepCost cost = CostOfOperator(plan, op, dims, device, shards);
      bytes += cost.dram_bytes;
      time += cost.launch + cost.Alone(device.dram_rate() / shards);
    }
    CAPTURE(rows, shards, ops[0]);
    CHECK(fused.dram_bytes < bytes);
    CHECK(fused.launch + fused.Alone(device.dram_rate() / shards) < time);
  }
}

TEST_CASE(
    "an over-fused group can lose: its panels leave small row blocks and weights are read "
    "again and again",
    "[device][unit]") {
  Spec device = testing::Shipped();
  device.classes[0].sram_bytes = 4 << 20;
  PlanMaker plan = Mlp();
  plan.Group("all", {"norm", "up", "act", "down", "add"});
  const std::vector<std::int64_t> dims{8192, 4096};
  const StepCost fused = CostOfGroup(plan, plan.variant().groups[0], dims, device);
  Nanos apart{0};
  for (const char* op : {"norm", "up", "act", "down", "add"}) {
    const StepCost cost = CostOfOperator(plan, op, dims, device);
    apart += cost.launch + cost.Alone(device.dram_rate());
  }
  CHECK(fused.launch + fused.Alone(device.dram_rate()) > apart);
}

TEST_CASE("shards together do and move at least what the whole does", "[device][property]") {
  const Spec device = testing::Shipped();
  const auto shards = GENERATE(2, 3, 4, 7);
  const auto rows = GENERATE(1, 5, 1000, 6000);
  PlanMaker mlp = Mlp();
  mlp.Group("norm_up_act", {"norm", "up", "act"});
  PlanMaker attention = Attention();
  const auto check = [&](PlanMaker& plan, std::vector<std::int64_t> dims) {
    const plan::Group& group = plan.variant().groups[0];
    const StepCost whole = CostOfGroup(plan, group, dims, device);
    const StepCost shard = CostOfGroup(plan, group, dims, device, shards);
    CAPTURE(rows, shards);
    CHECK(shard.macs * shards >= whole.macs);
    CHECK(shard.vector_ops * shards >= whole.vector_ops);
    // The compulsory part; the whole may have to read again what a shard holds.
    CHECK(shard.compute <= whole.compute);
  };
  check(mlp, {rows, 2048});
  check(attention, {rows, 10});
}

TEST_CASE("one row is divided by columns, so that no shard reads all weights", "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = OneGemm("1", "4096", "4096");
  const StepCost shard = CostOfOperator(plan, "matmul", {}, device, 4);
  CHECK(shard.dram_bytes == 2 * (4096 + 4096 * 1024 + 1024));
}

TEST_CASE("a tiling of the plan is respected, and refused where it does not fit",
          "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = OneGemm("8192", "8192", "8192");
  plan::Group& group = plan.Group("g", {"matmul"});
  const StepCost searched = CostOfGroup(plan, group, {}, device);
  group.tiling = {.m = 128, .n = 128, .k = 0};
  const StepCost given = CostOfGroup(plan, group, {}, device);
  CHECK(given.dram_bytes > searched.dram_bytes);
  // 8192 columns of the result fit beside no operand: the tile is not cut down to what does.
  group.tiling = {.m = 1024, .n = 8192, .k = 0};
  CHECK(GroupCost(plan.body(), plan.entry(), group, {}, 1, device.classes[0], device)
            .status()
            .code() == StatusCode::kResourceExhausted);
  // Deeper pieces of the operands take more room.
  group.tiling = {.m = 1024, .n = 256, .k = 128};
  const StepCost shallow = CostOfGroup(plan, group, {}, device);
  group.tiling.k = 1024;
  const StepCost deep = CostOfGroup(plan, group, {}, device);
  CHECK(deep.sram_peak_bytes - shallow.sram_peak_bytes >= 2 * 2 * (1024 - 128) * 1024);
  CHECK(deep.dram_bytes == shallow.dram_bytes);
  group.tiling = {.m = 8192, .n = 128, .k = 0};
  const auto refused =
      GroupCost(plan.body(), plan.entry(), group, {}, 1, device.classes[0], device);
  CHECK(refused.status().code() == StatusCode::kResourceExhausted);
}

TEST_CASE("no tile that fits is an error that names the group, its need and the bound",
          "[device][unit]") {
  Spec device = testing::Shipped();
  device.classes[0].sram_bytes = 4096;
  PlanMaker plan = Attention();
  const auto cost = GroupCost(plan.body(), plan.entry(), plan.variant().groups[0],
                              std::vector<std::int64_t>{8192, 8}, 1, device.classes[0], device);
  CHECK(cost.status().code() == StatusCode::kResourceExhausted);
  const std::string message(cost.status().message());
  CAPTURE(message);
  CHECK(message.find("group \"attention\": no tile fits: the smallest needs ") == 0);
  CHECK(message.find("core class \"matrix\" has 4198400") != std::string::npos);
}

TEST_CASE("what is not modelled says so", "[device][unit]") {
  Spec device = testing::Shipped();
  PlanMaker plan = OneGemm("8", "8", "8");
  plan.Op("sum", {"x"}, {"y"}, plan::Collective{1, plan.Size("8"), plan.Size("2")});
  plan.Op("loop", {"x"}, {"y"}, plan::Call{0, plan.Size("2")});
  plan.Op("send", {"x"}, {}, plan::SendReceive{true, plan.Size("8")});
  plan.Op("host", {"x"}, {"y"}, plan::Host{5});
  plan.Vector("neg", {"x"}, "y", "64", 1);
  const auto code = [&](const char* op) {
    return OperatorCost(plan.body(), plan.entry(), plan.Find(op), {}, 1, device.classes[0], device)
        .status()
        .code();
  };
  for (const char* op : {"sum", "loop", "send", "host"}) {
    CHECK(code(op) == StatusCode::kUnimplemented);
  }
  CHECK(code("matmul") == StatusCode::kOk);
  device.classes[0].dataflow = Dataflow::kOutputStationary;
  CHECK(code("matmul") == StatusCode::kUnimplemented);
  device.classes[0].mode = ComputeMode::kScaleSim;
  CHECK(code("matmul") == StatusCode::kOk);
  device.classes[0] = testing::Shipped().classes[0];
  device.classes[0].arrays = device.classes[0].array_rows = device.classes[0].array_cols = 0;
  CHECK(code("matmul") == StatusCode::kUnimplemented);
  CHECK(code("neg") == StatusCode::kOk);
  device.classes[0].vector_lanes = 0;
  CHECK(code("neg") == StatusCode::kUnimplemented);
}

TEST_CASE("more than 4 TiB in a step is out of range, not a wrapped count", "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Dim("n", 1, std::int64_t{1} << 62);
  plan.Tensor("x", TensorKind::kInput, "n", DType::kInt8);
  plan.Tensor("y", TensorKind::kOutput, "n", DType::kInt8);
  plan.Vector("copy", {"x"}, "y", "n", 1);
  const auto code = [&](std::int64_t n) {
    return OperatorCost(plan.body(), plan.entry(), plan.Find("copy"), std::vector<std::int64_t>{n},
                        1, device.classes[0], device)
        .status()
        .code();
  };
  CHECK(code(kMaxStepBytes / 2) == StatusCode::kOk);
  CHECK(code(kMaxStepBytes / 2 + 1) == StatusCode::kOutOfRange);
  CHECK(code(std::int64_t{1} << 62) == StatusCode::kOutOfRange);
}

TEST_CASE("work stated by a group replaces that of its operators", "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan = OneGemm("1024", "1024", "1024");
  plan::Group& group = plan.Group("g", {"matmul"});
  group.work = plan::GroupWork{plan.Size("2 * 16384 * 5000"), plan.Size("4000"), plan.Size("2000"),
                               plan.Size("100")};
  const StepCost cost = CostOfGroup(plan, group, {}, device);
  CHECK(cost.compute.count() == 5000);
  CHECK(cost.dram_bytes == 6000);
  CHECK(CostOfGroup(plan, group, {}, device, 4).compute.count() == 1250);
  group.work->scratch_bytes = plan.Size("33554433");
  CHECK(GroupCost(plan.body(), plan.entry(), group, {}, 1, device.classes[0], device)
            .status()
            .code() == StatusCode::kResourceExhausted);
}

TEST_CASE("a group that is one opaque operator costs what its profile says", "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Dim("batch", 1, 64);
  plan.Tensor("x", TensorKind::kInput, "batch");
  plan.Tensor("y", TensorKind::kOutput, "batch");
  plan.Op("engine", {"x"}, {"y"}, std::monostate());
  plan::Group& group = plan.Group("engine", {"engine"});
  group.profile = {{.dims = {1}, .p50_ns = 1000, .p90_ns = 0, .dram_bytes = 100},
                   {.dims = {3}, .p50_ns = 2000, .p90_ns = 0, .dram_bytes = 300}};
  const StepCost cost = CostOfGroup(plan, group, {2}, device);
  CHECK(cost.compute.count() == 1500);
  CHECK(cost.dram_bytes == 200);
  CHECK(cost.BodyAlone(device.dram_rate()).count() == 1500);
}

PlanMaker Addition() {
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "3000000");
  plan.Tensor("z", TensorKind::kInput, "3000000");
  plan.Tensor("y", TensorKind::kOutput, "3000000");
  plan.Vector("add", {"x", "z"}, "y", "3000000", 1);
  return plan;
}

TEST_CASE("lines that are the port change nothing", "[device][property]") {
  Spec port = testing::TpuV4Like();
  port.classes[0].clock_hz = 1'000'000'000;
  port.classes[0].dma_bytes_per_second = 1'024'000'000'000;
  Spec lines = port;
  lines.classes[0].dma_paths = {{"hbm-vmem", 460, 1, 512}, {"vmem-hbm", 460, 1, 512}};
  PlanMaker plan = Addition();
  plan.Tensor("w", TensorKind::kWeight, "3000 * 1000");
  plan.Tensor("p", TensorKind::kOutput, "1000 * 1000");
  plan.Gemm("matmul", {"x", "w"}, "p", "1000", "1000", "3000");
  for (const char* op : {"add", "matmul"}) {
    const StepCost a = CostOfOperator(plan, op, {}, port, 1);
    const StepCost b = CostOfOperator(plan, op, {}, lines, 1);
    CHECK(a.fill == b.fill);
    CHECK(a.compute == b.compute);
    CHECK(a.drain == b.drain);
    CHECK(a.body_bytes == b.body_bytes);
    CHECK(a.cap == b.cap);
    CHECK(a.dram_bytes == b.dram_bytes);
    CHECK(a.bound == b.bound);
  }
}

TEST_CASE("a step begins by the line that reads, ends by the one that writes, its body by both",
          "[device][unit]") {
  Spec device = testing::TpuV4Like();
  device.dram_bytes_per_second = 100'000'000'000'000;
  const DmaPath read{"hbm-vmem", 483.6, 1.1046, 512}, write{"vmem-hbm", 417.5, 1.0506, 512};
  device.classes[0].dma_paths = {read, write};
  PlanMaker plan = Addition();
  const auto detail =
      OperatorDetail(plan.body(), plan.entry(), plan.Find("add"), {}, 1, device.classes[0], device);
  REQUIRE(detail.ok());
  const auto ns = [](const DmaPath& path, double bytes) {
    return TransferCycles(path, static_cast<std::int64_t>(bytes)) / 1.05;
  };
  const StepCost& cost = detail->cost;
  CHECK(static_cast<double>(cost.fill.count()) ==
        Approx(ns(read, detail->tile_cost.first_bytes)).margin(1));
  CHECK(static_cast<double>(cost.drain.count()) ==
        Approx(ns(write, detail->tile_cost.last_bytes)).margin(1));
  // 12 MB read and 6 MB written, in turns: a KiB in 1.1046 and 1.0506 cycles.
  const double turns = (12e6 * 1.1046 + 6e6 * 1.0506) / 1024 / 1.05;
  CHECK(static_cast<double>(cost.BodyAlone(device.dram_rate()).count()) == Approx(turns).margin(2));
  CHECK(cost.bound == Bound::kBandwidth);
}

TEST_CASE("a strided move is written in whole granules of the line that writes", "[device][unit]") {
  Spec device = testing::TpuV4Like();
  device.classes[0].dma_paths = {{"vmem-hbm", 417.5, 1.0506, 2048}};
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "100000");
  plan.Tensor("y", TensorKind::kOutput, "100000");
  plan.Op("move", {"x"}, {"y"}, plan::Move{plan.Size("200000"), plan.Size("1000")});
  const StepCost cost = CostOfOperator(plan, "move", {}, device, 1);
  CHECK(cost.dram_bytes == Approx(200'000 + 200'000 * 2.048).margin(1));
}

}  // namespace
}  // namespace leeway::device
