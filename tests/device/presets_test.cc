// The shipped devices against the figures of their sources.

#include <string>

#include "device/full_load.h"
#include "device/power_loop.h"
#include "device/spec.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

double PeakTflops(const CoreClass& core) {
  return 2e-12 * core.array_rows * core.array_cols * core.arrays * core.count *
         static_cast<double>(core.clock_hz);
}

TEST_CASE("every shipped device is read, and names what it assumes", "[device][golden]") {
  const std::string name = GENERATE("onnxim_tpuv4_c4", "tpu_v4", "tpu_v4i", "tt_blackhole_p150",
                                    "ascend910a", "edge_npu");
  CAPTURE(name);
  const Spec spec = testing::ShippedDevice(name);
  CHECK(spec.name == name);
  CHECK_FALSE(spec.source.empty());
  CHECK_FALSE(spec.assumed.empty());
  CHECK(spec.power.static_watts < spec.power.thermal_design_watts);
}

TEST_CASE("everything on draws the power that the description states", "[device][unit]") {
  const Spec spec = testing::ShippedDevice("tpu_v4");
  const FullLoad load = FullLoadOf(spec);
  CHECK(load.core_watts ==
        Approx(spec.power.matrix_watts + spec.power.vector_watts + spec.power.sram_watts));
  CHECK(load.dram_watts == Approx(spec.power.dram_watts_per_gbps * 1e-9 *
                                  static_cast<double>(spec.dram_bytes_per_second)));
}

TEST_CASE("peaks are those of the vendors", "[device][golden]") {
  CHECK(PeakTflops(testing::ShippedDevice("tpu_v4").classes[0]) == Approx(275).epsilon(0.01));
  CHECK(PeakTflops(testing::ShippedDevice("tpu_v4i").classes[0]) == Approx(138).epsilon(0.01));
  CHECK(PeakTflops(testing::ShippedDevice("ascend910a").classes[0]) == Approx(256).epsilon(0.03));
  // 774 TF over 140 cores, 120 of which are on.
  CHECK(PeakTflops(testing::ShippedDevice("tt_blackhole_p150").classes[0]) ==
        Approx(774. * 120 / 140).epsilon(0.01));
}

// Of the firmware's limits that of the current, 200 A, is the first to bind: at the voltage of the
// clock that is left they are 143 W.
TEST_CASE("a Blackhole with everything on settles at its current limit, cool enough",
          "[device][unit]") {
  const Spec spec = testing::ShippedDevice("tt_blackhole_p150");
  CHECK(spec.power.static_watts + FullLoadOf(spec).watts() > 200);
  PowerLoop loop(spec);
  const double watts = WattsUnderFullLoad(spec, loop);
  CHECK(watts / loop.volts() == Approx(200).margin(2));
  CHECK(watts <= spec.power.thermal_design_watts);
  CHECK(loop.clock() < kNominalClock);
  CHECK(loop.die_celsius() < 90);
}

TEST_CASE("an edge device without a fan is held by its die, not by its power", "[device][unit]") {
  const Spec spec = testing::ShippedDevice("edge_npu");
  PowerLoop loop(spec);
  double watts = 0;
  for (int minute = 0; minute < 5; ++minute) watts = WattsUnderFullLoad(spec, loop);
  CHECK(loop.die_celsius() == Approx(70).margin(1));
  CHECK(watts < spec.power.thermal_design_watts);
  CHECK(loop.clock() < kNominalClock);
}

}  // namespace
}  // namespace leeway::device
