#include "device/spec.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/prng.h"
#include "device/power_loop.h"
#include "leeway_internal/device/v1alpha/device.pb.h"
#include "tests/catch.h"
#include "tests/device/support/plan_maker.h"

namespace leeway::device {
namespace {

namespace pb = ::leeway_internal::device::v1alpha;

pb::Device Valid() {
  pb::Device device;
  device.set_name("tiny");
  pb::CoreClass& core = *device.add_core_classes();
  core.set_name("matrix");
  core.set_count(2);
  core.set_clock_hz(1'000'000'000);
  core.mutable_array()->set_rows(16);
  core.mutable_array()->set_cols(16);
  core.mutable_vector()->set_lanes(128);
  core.set_sram_bytes(1 << 20);
  core.mutable_dma()->set_bytes_per_second(50'000'000'000);
  device.mutable_dram()->set_capacity_bytes(std::int64_t{1} << 30);
  device.mutable_dram()->set_bytes_per_second(100'000'000'000);
  return device;
}

Result<Spec> Parse(const pb::Device& device) {
  return ParseSpec(device.SerializeAsString(), "d.binpb");
}

TEST_CASE("what a description leaves out has its stated default", "[device][unit]") {
  const auto spec = Parse(Valid());
  REQUIRE(spec.ok());
  const CoreClass& core = spec->classes[0];
  CHECK(core.arrays == 1);
  CHECK(core.vector_issue == 1);
  CHECK(core.launch_depth == 1);
  CHECK(core.dma_granule_bytes == 1);
  CHECK(core.mode == ComputeMode::kOverlapped);
  CHECK(core.dataflow == Dataflow::kWeightStationary);
  CHECK(core.core_clock_hz == std::vector<std::int64_t>{1'000'000'000, 1'000'000'000});
  CHECK(core.DtypeFactor(DType::kF32) == 1);
  CHECK(core.tile_bytes() == core.sram_bytes);
  CHECK(spec->step_launch == Nanos(0));
  CHECK(spec->issue == Issue::kFirstSteps);
  CHECK_FALSE(spec->calibration_residual.has_value());
}

TEST_CASE("how a core computes is what its description says", "[device][unit]") {
  pb::Device device = Valid();
  pb::CoreClass& core = *device.mutable_core_classes(0);
  core.set_compute_mode(pb::CoreClass::SCALESIM);
  core.set_dataflow(pb::CoreClass::OUTPUT_STATIONARY);
  core.mutable_array()->set_drain(true);
  core.set_resident_bytes(1000);
  core.set_conv_lowering(pb::CoreClass::PER_TAP);
  auto& count = *core.mutable_vector()->add_op_counts();
  count.set_kind("gelu");
  count.set_ops_per_element(45);
  const auto spec = Parse(device);
  REQUIRE(spec.ok());
  CHECK(spec->classes[0].mode == ComputeMode::kScaleSim);
  CHECK(spec->classes[0].dataflow == Dataflow::kOutputStationary);
  CHECK(spec->classes[0].drain);
  CHECK(spec->classes[0].resident_bytes == 1000);
  CHECK(spec->classes[0].tile_bytes() == (1 << 20) - 1000);
  CHECK(spec->classes[0].conv_lowering == ConvLowering::kPerTap);
  CHECK(spec->classes[0].OpsPerElement("gelu", 25) == 45);
  CHECK(spec->classes[0].OpsPerElement("relu", 1) == 1);
  CHECK(Parse(Valid())->classes[0].conv_lowering == ConvLowering::kIm2col);
}

TEST_CASE("every shipped device is one", "[device][golden]") {
  const auto shipped = base::ListShipped(base::ShippedKind::kDevice);
  CHECK(shipped.size() >= 3);
  for (const base::ShippedFile& file : shipped) {
    const auto spec = ParseSpec(file.bytes, file.name);
    INFO(spec.status().ToString());
    REQUIRE(spec.ok());
    CHECK(spec->name == file.name);
    CHECK_FALSE(spec->source.empty());
  }
}

TEST_CASE("cores are numbered by class and within it", "[device][unit]") {
  pb::Device device = Valid();
  pb::CoreClass& vector = *device.add_core_classes();
  vector = device.core_classes(0);
  vector.set_name("vector");
  vector.set_count(3);
  vector.clear_array();
  vector.add_core_clock_hz(0);
  vector.add_core_clock_hz(1'000'000'000);
  vector.add_core_clock_hz(0);
  const auto spec = Parse(device);
  REQUIRE(spec.ok());
  CHECK(spec->core_count() == 5);
  CHECK(spec->CoreName(1) == "matrix:1");
  CHECK(spec->CoreName(2) == "vector:0");
  CHECK(spec->ClassOf(4) == 1);
  CHECK(spec->FindClass("vector") == 1);
  CHECK_FALSE(spec->FindClass("scalar").has_value());
  CHECK(spec->classes[1].core_clock_hz == std::vector<std::int64_t>(3, 1'000'000'000));
}

TEST_CASE("rates are in units of 2^-20 B/ns, rounded down", "[device][unit]") {
  CHECK(RateUnits(1'000'000'000) == 1 << 20);
  CHECK(RateUnits(999'999'999) == (1 << 20) - 1);
  CHECK(RateUnits(953) == 0);
  CHECK(RateUnits(954) == 1);
  CHECK(RateUnits(1'000'000'000'000'000) == std::int64_t{1'000'000} << 20);
}

// A ladder of two nodes beside 90 W of static power.
pb::ThermalLadder& Heated(pb::Device& device) {
  device.mutable_power()->set_static_watts(90);
  pb::ThermalLadder& ladder = *device.mutable_power()->mutable_thermal();
  for (int i = 0; i < 2; ++i) {
    pb::ThermalLadder::Node& node = *ladder.add_nodes();
    node.set_capacity_j_per_k(1);
    node.set_resistance_k_per_w(0.1);
  }
  ladder.set_ambient_celsius(30);
  ladder.set_leakage_watts(20);
  ladder.set_leakage_reference_celsius(48);
  ladder.set_leakage_per_kelvin(0.009);
  return ladder;
}

// 800 to 1350 MHz at 1 mV a MHz under one limiter.
pb::DvfsLoop& Clocked(pb::Device& device) {
  pb::DvfsLoop& dvfs = *device.mutable_power()->mutable_dvfs();
  dvfs.set_min_hz(800'000'000);
  dvfs.set_max_hz(1'350'000'000);
  dvfs.add_volts_by_mhz_polynomial(0);
  dvfs.add_volts_by_mhz_polynomial(1e-3);
  dvfs.add_limiters()->set_limit(150);
  return dvfs;
}

void Raise(pb::Device& device, double volts) {
  device.mutable_power()->mutable_dvfs()->set_volts_by_mhz_polynomial(0, volts);
}

TEST_CASE("slow cores, several engines and their paths are read", "[device][unit]") {
  pb::Device device = Valid();
  pb::CoreClass& core = *device.mutable_core_classes(0);
  core.add_core_clock_hz(0);
  core.add_core_clock_hz(600'000'000);
  core.mutable_dma()->set_engines(3);
  core.mutable_dma()->set_granule_bytes(32);
  pb::DmaPath& path = *core.mutable_dma()->add_paths();
  path.set_name("hbm-vmem");
  path.set_latency_cycles(483.6);
  path.set_cycles_per_kib(1.1046);
  device.mutable_dram()->set_arbitration(pb::Dram::RANDOM_PRIORITY);
  const auto spec = Parse(device);
  REQUIRE(spec.ok());
  const CoreClass& read = spec->classes[0];
  CHECK(read.core_clock_hz == std::vector<std::int64_t>{1'000'000'000, 600'000'000});
  CHECK(read.dma_engines == 3);
  CHECK(read.dma_bytes_per_second == 150'000'000'000);
  REQUIRE(read.dma_paths.size() == 1);
  CHECK(read.dma_paths[0].latency_cycles == 483.6);
  CHECK(read.dma_paths[0].granule_bytes == 32);
  CHECK(spec->dram_arbitration == Arbitration::kRandomPriority);
}

TEST_CASE("a line between DRAM and SRAM needs a rate, other paths need none", "[device][unit]") {
  pb::Device device = Valid();
  pb::DmaPath& path = *device.mutable_core_classes(0)->mutable_dma()->add_paths();
  path.set_latency_cycles(100);
  path.set_name("core-core");
  CHECK(Parse(device).ok());
  for (const char* name : {"hbm-vmem", "vmem-hbm"}) {
    path.set_name(name);
    for (const double cycles_per_kib : {0.0, 1e-9, 1e9}) {
      path.set_cycles_per_kib(cycles_per_kib);
      const auto refused = Parse(device);
      REQUIRE_FALSE(refused.ok());
      CHECK(refused.status().message().find("paths[0].cycles_per_kib") != std::string_view::npos);
      CHECK(refused.status().message().find("is not a rate in [1000000, ") !=
            std::string_view::npos);
    }
    path.set_cycles_per_kib(1);
    CHECK(Parse(device).ok());
  }
}

TEST_CASE("heat and the clock loop are read with their defaults", "[device][unit]") {
  pb::Device device = Valid();
  Heated(device);
  Clocked(device);
  const auto spec = Parse(device);
  REQUIRE(spec.ok());
  REQUIRE(spec->power.thermal);
  CHECK(spec->power.thermal->nodes.size() == 2);
  CHECK(spec->power.thermal->leakage_per_volt == 0);
  REQUIRE(spec->power.dvfs);
  CHECK(spec->power.period == Nanos(1'000'000));
  const ClockLimiter& limiter = spec->power.dvfs->limiters.at(0);
  CHECK(limiter.measure == ClockLimiter::Measure::kPower);
  CHECK(limiter.smoothing == 1);
  CHECK(limiter.window == 1);
}

struct Slip {
  std::string finding;
  std::function<void(pb::Device&)> make;
};

TEST_CASE("every slip in a description is named with its path and bound", "[device][unit]") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const Slip slip = GENERATE_COPY(values<Slip>({
      {"name: name \"\" is not 1 to 128", [](auto& d) { d.clear_name(); }},
      {"core_classes: no core class", [](auto& d) { d.clear_core_classes(); }},
      {"core_classes[0].name: name \"a:b\"",
       [](auto& d) { d.mutable_core_classes(0)->set_name("a:b"); }},
      {"core_classes[1].name: core class \"matrix\" exists already",
       [](auto& d) { *d.add_core_classes() = d.core_classes(0); }},
      {"core_classes[0].count: 0 is not in [1, 256]",
       [](auto& d) { d.mutable_core_classes(0)->set_count(0); }},
      {"core_classes[0].count: 4000000000 is not in [1, 256]",
       [](auto& d) { d.mutable_core_classes(0)->set_count(4'000'000'000); }},
      {"core_classes[1].count: 257 cores in total exceed 256",
       [](auto& d) {
         *d.add_core_classes() = d.core_classes(0);
         d.mutable_core_classes(1)->set_name("b");
         d.mutable_core_classes(1)->set_count(255);
       }},
      {"core_classes[0].clock_hz: 0 is not in",
       [](auto& d) { d.mutable_core_classes(0)->set_clock_hz(0); }},
      {"core_classes[0].clock_hz: -5 is not in",
       [](auto& d) { d.mutable_core_classes(0)->set_clock_hz(-5); }},
      {"core_classes[0].core_clock_hz: 1 clocks for 2 cores",
       [](auto& d) { d.mutable_core_classes(0)->add_core_clock_hz(1); }},
      {"core_classes[0].core_clock_hz[1]: 1000000001 is not in [0, 1000000000]",
       [](auto& d) {
         d.mutable_core_classes(0)->add_core_clock_hz(1'000'000'000);
         d.mutable_core_classes(0)->add_core_clock_hz(1'000'000'001);
       }},
      {"core_classes: no core class has an array or a vector unit",
       [](auto& d) {
         d.mutable_core_classes(0)->clear_array();
         d.mutable_core_classes(0)->clear_vector();
       }},
      {"core_classes[0].array.cols: 0 is not in [1, 65536]",
       [](auto& d) { d.mutable_core_classes(0)->mutable_array()->set_cols(0); }},
      {"core_classes[0].array.drain: only mode SCALESIM",
       [](auto& d) { d.mutable_core_classes(0)->mutable_array()->set_drain(true); }},
      {"core_classes[0].sram_bytes: 0 is not in",
       [](auto& d) { d.mutable_core_classes(0)->clear_sram_bytes(); }},
      {"core_classes[0].sram_bytes: 9223372036854775807 is not in [1, 1099511627776]",
       [](auto& d) {
         d.mutable_core_classes(0)->set_sram_bytes(std::numeric_limits<std::int64_t>::max());
       }},
      {"launch.queue_depth: 0 is not in [1, 1048576]",
       [](auto& d) { d.mutable_launch()->set_issue(pb::LaunchCost::HOST); }},
      {"launch.issue: unknown value 7",
       [](auto& d) { d.mutable_launch()->set_issue(static_cast<pb::LaunchCost::Issue>(7)); }},
      {"core_classes[0].resident_bytes: 1048576 is not in [0, 1048575]",
       [](auto& d) { d.mutable_core_classes(0)->set_resident_bytes(1 << 20); }},
      {"core_classes[0].resident_bytes: -1 is not in [0, 1048575]",
       [](auto& d) { d.mutable_core_classes(0)->set_resident_bytes(-1); }},
      {"core_classes[0].dma.bytes_per_second: 0 is not in [1000000, 1000000000000000]",
       [](auto& d) { d.mutable_core_classes(0)->clear_dma(); }},
      {"core_classes[0].dma.engines: 1025 is not in [1, 1024]",
       [](auto& d) { d.mutable_core_classes(0)->mutable_dma()->set_engines(1025); }},
      {"core_classes[0].dma.paths[1].name: path \"hbm-vmem\" exists already",
       [](auto& d) {
         for (int i = 0; i < 2; ++i) {
           d.mutable_core_classes(0)->mutable_dma()->add_paths()->set_name("hbm-vmem");
         }
       }},
      {"core_classes[0].dma.paths[0].cycles_per_kib: -1.0",
       [](auto& d) {
         auto& path = *d.mutable_core_classes(0)->mutable_dma()->add_paths();
         path.set_name("hbm-vmem");
         path.set_cycles_per_kib(-1);
       }},
      {"core_classes[0].compute_mode: unknown value 9",
       [](auto& d) {
         d.mutable_core_classes(0)->set_compute_mode(static_cast<pb::CoreClass::ComputeMode>(9));
       }},
      {"core_classes[0].dataflow: unknown value -1",
       [](auto& d) {
         d.mutable_core_classes(0)->set_dataflow(static_cast<pb::CoreClass::Dataflow>(-1));
       }},
      {"core_classes[0].conv_lowering: unknown value 3",
       [](auto& d) {
         d.mutable_core_classes(0)->set_conv_lowering(static_cast<pb::CoreClass::ConvLowering>(3));
       }},
      {"core_classes[0].vector.op_counts[1].kind: \"exp\" has a count already",
       [](auto& d) {
         for (int i = 0; i < 2; ++i) {
           auto& count = *d.mutable_core_classes(0)->mutable_vector()->add_op_counts();
           count.set_kind("exp");
           count.set_ops_per_element(15);
         }
       }},
      {"core_classes[0].vector.op_counts[0].kind: no kind of operator",
       [](auto& d) { d.mutable_core_classes(0)->mutable_vector()->add_op_counts(); }},
      {"core_classes[0].vector.op_counts[0].ops_per_element: nan is not in",
       [](auto& d) {
         auto& count = *d.mutable_core_classes(0)->mutable_vector()->add_op_counts();
         count.set_kind("exp");
         count.set_ops_per_element(kNan);
       }},
      {"core_classes[0].dtype_factors[0].dtype: unknown dtype \"F33\"",
       [](auto& d) {
         auto& factor = *d.mutable_core_classes(0)->add_dtype_factors();
         factor.set_dtype("F33");
         factor.set_factor(1);
       }},
      {"core_classes[0].dtype_factors[0].factor: nan is not positive",
       [](auto& d) {
         auto& factor = *d.mutable_core_classes(0)->add_dtype_factors();
         factor.set_dtype("F32");
         factor.set_factor(kNan);
       }},
      {"dram.capacity_bytes: -1 is not in",
       [](auto& d) { d.mutable_dram()->set_capacity_bytes(-1); }},
      {"dram.arbitration: unknown value 7",
       [](auto& d) { d.mutable_dram()->set_arbitration(static_cast<pb::Dram::Arbitration>(7)); }},
      {"launch.step_launch_ns: -1 is not in",
       [](auto& d) { d.mutable_launch()->set_step_launch_ns(-1); }},
      {"power.static_watts: nan is not in",
       [](auto& d) { d.mutable_power()->set_static_watts(kNan); }},
      {"power.matrix_watts: inf is not in",
       [](auto& d) { d.mutable_power()->set_matrix_watts(kInf); }},
      {"power.thermal.nodes: 0 nodes are not in [1, 8]",
       [](auto& d) { d.mutable_power()->mutable_thermal(); }},
      {"power.thermal.nodes[1].capacity_j_per_k: nan is not in",
       [](auto& d) { Heated(d).mutable_nodes(1)->set_capacity_j_per_k(kNan); }},
      {"power.thermal.nodes[0].resistance_k_per_w: 0.000000 is not in",
       [](auto& d) { Heated(d).mutable_nodes(0)->clear_resistance_k_per_w(); }},
      {"power.thermal.ambient_celsius: 500.000000 is not in [-100.000000, 400.000000]",
       [](auto& d) { Heated(d).set_ambient_celsius(500); }},
      {"power.thermal.leakage_watts: 91.000000 exceed static_watts",
       [](auto& d) { Heated(d).set_leakage_watts(91); }},
      {"power.thermal: the leakage heats an idle device faster than the ladder cools it",
       [](auto& d) {
         pb::ThermalLadder& ladder = Heated(d);
         ladder.set_leakage_reference_celsius(30);
         ladder.set_leakage_per_kelvin(0.9);
       }},
      {"power.dvfs.min_hz: 0 is not in", [](auto& d) { d.mutable_power()->mutable_dvfs(); }},
      {"power.dvfs.max_hz: 799999999 is not in [800000000,",
       [](auto& d) { Clocked(d).set_max_hz(799'999'999); }},
      {"power.dvfs.period_ns: 10 is not in [1000,", [](auto& d) { Clocked(d).set_period_ns(10); }},
      {"power.dvfs.volts_by_mhz_polynomial: 0 coefficients",
       [](auto& d) { Clocked(d).clear_volts_by_mhz_polynomial(); }},
      {"power.dvfs.volts_by_mhz_polynomial: 1.200000 is not in [0.001000, 0.650000]",
       [](auto& d) { Clocked(d).set_volts_by_mhz_polynomial(1, -1e-3), Raise(d, 2); }},
      {"power.dvfs.limiters[0].limit: 0.000000 is not in",
       [](auto& d) { Clocked(d).mutable_limiters(0)->clear_limit(); }},
      {"power.dvfs.limiters[0].measure: DIE_TEMPERATURE needs power.thermal",
       [](auto& d) {
         Clocked(d).mutable_limiters(0)->set_measure(pb::DvfsLoop::Limiter::DIE_TEMPERATURE);
       }},
      {"power.dvfs.limiters[0].measure: unknown value 9",
       [](auto& d) {
         Clocked(d).mutable_limiters(0)->set_measure(
             static_cast<pb::DvfsLoop::Limiter::Measure>(9));
       }},
      {"calibration.residual: -", [](auto& d) { d.mutable_calibration()->set_residual(-1); }},
  }));
  pb::Device device = Valid();
  slip.make(device);
  const auto spec = Parse(device);
  CAPTURE(slip.finding, spec.status().ToString());
  CHECK(spec.status().code() == StatusCode::kInvalidArgument);
  const std::string line = "d.binpb: " + slip.finding;
  CHECK(spec.status().message().find(line) != std::string_view::npos);
}

TEST_CASE("all findings are reported, one a line", "[device][unit]") {
  const auto spec = ParseSpec("", "empty");
  REQUIRE_FALSE(spec.ok());
  const std::string message(spec.status().message());
  CHECK(std::count(message.begin(), message.end(), '\n') == 3);
  CHECK(message.find("empty: dram.bytes_per_second: 0") != std::string::npos);
}

TEST_CASE("bytes that are no description and newer ones are told apart", "[device][unit]") {
  CHECK(ParseSpec("\xff\xff", "x").status().code() == StatusCode::kDataLoss);
  const std::string whole = Valid().SerializeAsString();
  CHECK_FALSE(ParseSpec(std::string_view(whole).substr(0, whole.size() - 3), "x").ok());
  pb::Device newer = Valid();
  newer.set_min_reader_version(2);
  newer.clear_name();
  CHECK(Parse(newer).status().code() == StatusCode::kFailedPrecondition);
}

TEST_CASE("damaged bytes are refused or make a device within bounds", "[device][property]") {
  const auto seed = static_cast<std::uint64_t>(GENERATE(range(0, 50)));
  const std::string name = GENERATE("onnxim_tpuv4_c4", "tt_blackhole_p150");
  CAPTURE(seed, name);
  base::Prng prng(seed);
  const std::string whole = testing::ShippedDevice(name).serialized;
  for (int round = 0; round < 40; ++round) {
    std::string bytes = whole;
    for (std::uint64_t flips = 1 + prng.Below(4); flips > 0; --flips) {
      bytes[prng.Below(bytes.size())] = static_cast<char>(prng.Below(256));
    }
    if (prng.Below(4) == 0) bytes.resize(prng.Below(bytes.size()));
    const auto spec = ParseSpec(bytes, "damaged");
    if (!spec.ok()) {
      CHECK_FALSE(spec.status().message().empty());
      continue;
    }
    CHECK(spec->core_count() >= 1);
    CHECK(spec->core_count() <= kMaxCores);
    CHECK(spec->dram_rate() >= static_cast<ByteUnits>(kMaxCores));
    // Whatever heat and clock it has, they can begin.
    PowerLoop loop(*spec);
    loop.Rest(100);
    CHECK(loop.clock() > 0);
  }
}

TEST_CASE("the digest follows the content and survives a round trip", "[device][unit]") {
  const auto spec = Parse(Valid());
  REQUIRE(spec.ok());
  CHECK(spec->digest_hex.size() == 64);
  CHECK(ParseSpec(spec->serialized, "again")->digest == spec->digest);
  pb::Device other = Valid();
  other.mutable_core_classes(0)->set_launch_depth(2);
  CHECK(Parse(other)->digest != spec->digest);
}

TEST_CASE("the shipped device has the peak, the energy and the idle power of its sources",
          "[device][golden]") {
  const Spec spec = testing::Shipped();
  CHECK(spec.core_count() == 4);
  const CoreClass& core = spec.classes[0];
  const double peak = 2.0 * core.array_rows * core.array_cols * core.arrays * core.count *
                      static_cast<double>(core.clock_hz);
  CHECK(peak == Approx(131.072e12));
  CHECK(spec.dram_rate() == 644'245'094);  // 614.4 · 2^20, rounded down
  const EventEnergy energy = spec.event_energy();
  CHECK(energy.mac == Approx(0.98).epsilon(0.01));            // pJ: 16.92 W an array at 1.05 GHz
  CHECK(energy.dram_byte == Approx(8 * 1.92).epsilon(0.01));  // 1.9 pJ a bit
  CHECK(spec.power.static_watts + spec.power.matrix_watts + spec.power.vector_watts +
            spec.power.sram_watts + 614.4 * spec.power.dram_watts_per_gbps <
        spec.power.thermal_design_watts);
  for (const std::string& field : spec.assumed) CHECK_FALSE(field.empty());
}

}  // namespace
}  // namespace leeway::device
