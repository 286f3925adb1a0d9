// The running step against the tiles that it stands for: reads, computations and writes of a double
// buffer, event by event (COST_MODEL section 5). The engine runs a step as fill, fluid, drain; this
// bounds what that leaves out.

#include <algorithm>
#include <string>
#include <vector>

#include "device/step_detail.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

using plan::TensorKind;
using testing::PlanMaker;

// A tile's times in nanoseconds: what it reads, computes and writes.
struct TileTimes {
  double read = 0, compute = 0, write = 0;
};

// Three resources and two buffers: a tile is read when the one before it has been and the buffer of
// the second before it has been computed on; results leave in order, from two buffers too.
double EndOf(const std::vector<TileTimes>& tiles) {
  std::vector<double> read(tiles.size()), computed(tiles.size()), written(tiles.size());
  const auto at = [](const std::vector<double>& ends, std::size_t i, std::size_t back) {
    return i >= back ? ends[i - back] : 0.0;
  };
  for (std::size_t i = 0; i < tiles.size(); ++i) {
    read[i] = std::max(at(read, i, 1), at(computed, i, 2)) + tiles[i].read;
    computed[i] = std::max({read[i], at(computed, i, 1), at(written, i, 2)}) + tiles[i].compute;
    written[i] = std::max(computed[i], at(written, i, 1)) + tiles[i].write;
  }
  return written.back();
}

// As many equal tiles as the first one fits into what is read. Reads and writes share the rate in
// the proportion of their bytes, so that together they take bytes / rate.
std::vector<TileTimes> TilesOf(const StepDetail& detail, double rate) {
  const double bytes = detail.tile_cost.dram_bytes;
  const double written = detail.shape.write_bytes;
  const double reads = bytes - written;
  const double first = std::max(1.0, detail.tile_cost.first_bytes);
  const auto count = static_cast<std::size_t>(std::clamp(reads / first, 1.0, 100'000.0));
  const double n = static_cast<double>(count);
  TileTimes tile;
  tile.read = bytes / rate / n;
  tile.compute = detail.tile_cost.compute_ns / n;
  tile.write = written > 0 ? bytes / rate / n : 0;
  return std::vector<TileTimes>(count, tile);
}

struct Case {
  std::string m, n, k;
};

}  // namespace

TEST_CASE("a step as a fluid takes what its tiles take one by one, but for a tile at each end",
          "[device][property]") {
  const Case shape = GENERATE(values<Case>({{"2048", "2048", "2048"},
                                            {"512", "768", "768"},
                                            {"1", "4096", "11008"},
                                            {"8192", "64", "64"},
                                            {"30000", "128", "4096"},
                                            {"100", "100", "100"}}));
  // How many flows of the same kind share the DRAM.
  const int flows = GENERATE(1, 2, 4, 16);
  const Spec device = GENERATE(testing::Shipped(), testing::TpuV4Like());
  const CoreClass& core = device.classes[0];
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, shape.m + " * " + shape.k);
  plan.Tensor("w", TensorKind::kWeight, shape.n + " * " + shape.k);
  plan.Tensor("y", TensorKind::kOutput, shape.m + " * " + shape.n);
  plan.Gemm("matmul", {"x", "w"}, "y", shape.m, shape.n, shape.k);
  const auto detail =
      OperatorDetail(plan.body(), plan.entry(), plan.Find("matmul"), {}, 1, core, device);
  REQUIRE(detail.ok());
  const double port = static_cast<double>(core.dma_bytes_per_second) / 1e9;
  const double rate = std::min(port, FairRate(device, flows));
  const std::vector<TileTimes> tiles = TilesOf(*detail, rate);
  const double latency = static_cast<double>(core.dma_latency.count());
  // The first read and the last write wait for the DMA; those between follow one another.
  const double events = 2 * latency + EndOf(tiles);
  const StepCost& cost = detail->cost;
  const double fluid = static_cast<double>(
      (cost.fill + cost.BodyAlone(device.dram_rate() / flows) + cost.drain).count());
  const TileTimes& one = tiles.front();
  const double edges = static_cast<double>((cost.fill + cost.drain).count());
  CAPTURE(shape.m, shape.n, shape.k, flows, device.name, tiles.size(), events, fluid);
  // The fluid pays first and last bytes twice: at the ends, and in the body.
  CHECK(fluid <= events + edges + 2);
  // The tiles pay one of each kind that the fluid has no part for.
  CHECK(events <= fluid + one.read + one.compute + one.write + 2);
  // Where there are many tiles the two are one. A double buffer never runs ahead: a slower DRAM
  // shows in full once it is the longest.
  if (tiles.size() >= 50) CHECK(fluid == Approx(events).epsilon(0.06));
}

TEST_CASE("a demand of no more than the DRAM gives lets the arrays set the pace",
          "[device][unit]") {
  const Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "4096 * 4096");
  plan.Tensor("w", TensorKind::kWeight, "4096 * 4096");
  plan.Tensor("y", TensorKind::kOutput, "4096 * 4096");
  plan.Gemm("matmul", {"x", "w"}, "y", "4096", "4096", "4096");
  const StepCost cost = testing::CostOfOperator(plan, "matmul", {}, device);
  // Half of the DRAM is more than it asks for: nothing is lost by sharing with one like it.
  REQUIRE(cost.bound == Bound::kCompute);
  CHECK(cost.cap < device.dram_rate() / 2);
  CHECK(cost.BodyAlone(device.dram_rate() / 2) == cost.compute);
  // A quarter of what it asks for takes four times as long.
  const auto quarter = static_cast<double>(cost.BodyAlone(cost.cap / 4).count());
  CHECK(quarter == Approx(4 * static_cast<double>(cost.compute.count())).epsilon(1e-6));
}

TEST_CASE("two steps that the DRAM binds gain nothing by running together", "[device][property]") {
  const Spec device = testing::Shipped();
  PlanMaker plan;
  plan.Tensor("x", TensorKind::kInput, "1000000");
  plan.Tensor("y", TensorKind::kOutput, "1000000");
  plan.Vector("add", {"x"}, "y", "1000000", 1);
  const StepCost cost = testing::CostOfOperator(plan, "add", {}, device);
  REQUIRE(cost.bound == Bound::kBandwidth);
  // One after another each has its port; side by side each has half of the DRAM.
  const Nanos alone = cost.BodyAlone(device.dram_rate());
  const Nanos together = cost.BodyAlone(device.dram_rate() / 2);
  const double both = static_cast<double>(device.dram_rate()) /
                      static_cast<double>(RateUnits(device.classes[0].dma_bytes_per_second));
  CHECK(static_cast<double>(2 * alone.count()) / static_cast<double>(together.count()) ==
        Approx(both).epsilon(1e-3));
}

}  // namespace leeway::device
