// The serialized description: the one file of this module that sees generated code.

#include <algorithm>
#include <limits>
#include <set>

#include "base/status_macros.h"
#include "device/dma.h"
#include "device/governor.h"
#include "device/power_loop.h"
#include "device/spec.h"
#include "device/thermal.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "leeway_internal/device/v1alpha/device.pb.h"
#include "plan/findings.h"

namespace leeway::device {
namespace {

namespace pb = ::leeway_internal::device::v1alpha;
using plan::Findings;
using plan::Path;
using plan::Quote;

constexpr std::uint32_t kReaderVersion = 1;

// A device beyond these is a slip of units, not a device. They also keep the engine's integers
// within 64 bits.
constexpr std::int64_t kMaxClockHz = 100'000'000'000;
constexpr std::int64_t kMinBytesPerSecond = 1'000'000;
constexpr std::int64_t kMaxBytesPerSecond = 1'000'000'000'000'000;
constexpr std::int64_t kMaxSramBytes = std::int64_t{1} << 40;
constexpr std::int64_t kMaxDramBytes = std::int64_t{1} << 50;
constexpr std::int64_t kMaxLatencyNs = 1'000'000'000;
constexpr std::int64_t kMaxSide = 1 << 16;
constexpr std::int64_t kMaxLanes = 1 << 20;
constexpr double kMaxWatts = 1e6;
constexpr double kMaxFactor = 1e3;
constexpr double kMaxOps = 1e6;
constexpr double kMaxCelsius = PowerLoop::kRunawayCelsius;

// Returns `value`, reporting it if it is not in [low, high].
std::int64_t Within(Findings& findings, const Path& path, std::int64_t value, std::int64_t low,
                    std::int64_t high) {
  if (value < low || value > high) {
    findings.Error(path, std::to_string(value) + " is not in [" + std::to_string(low) + ", " +
                             std::to_string(high) + "]");
  }
  return value;
}

std::uint32_t Within32(Findings& findings, const Path& path, std::uint32_t value, std::int64_t low,
                       std::int64_t high) {
  return static_cast<std::uint32_t>(Within(findings, path, value, low, high));
}

// NaN fails both comparisons.
double Amount(Findings& findings, const Path& path, double value, double high) {
  if (value >= 0 && value <= high) return value;
  findings.Error(path, std::to_string(value) + " is not in [0, " + std::to_string(high) + "]");
  return 0;
}

template <typename Enum>
Enum EnumOr(Findings& findings, const Path& path, int value, int last, Enum otherwise) {
  if (value == 0) return otherwise;
  if (value < 0 || value > last) {
    findings.Error(path, "unknown value " + std::to_string(value));
    return otherwise;
  }
  return static_cast<Enum>(value);
}

// Names take part in paths and in "class:index".
std::string Name(Findings& findings, const Path& path, const std::string& name) {
  constexpr std::size_t kMaxName = 128;
  bool plain = !name.empty() && name.size() <= kMaxName;
  for (const char c : name) {
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '-' || c == '.');
  }
  if (!plain) {
    findings.Error(path, "name " + Quote(name) + " is not 1 to " + std::to_string(kMaxName) +
                             " letters, digits, '_', '-' or '.'");
  }
  return name;
}

std::optional<DType> FindDType(std::string_view name) {
  for (int i = static_cast<int>(DType::kF64); i <= static_cast<int>(kLastDType); ++i) {
    if (name == DTypeName(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return std::nullopt;
}

void ReadArray(Findings& findings, const Path& path, const pb::SystolicArray& in, CoreClass& out) {
  constexpr std::int64_t kMaxCycles = 1'000'000;
  out.array_rows = Within32(findings, path.At("rows"), in.rows(), 1, kMaxSide);
  out.array_cols = Within32(findings, path.At("cols"), in.cols(), 1, kMaxSide);
  out.arrays = Within32(findings, path.At("count"), in.count() == 0 ? 1 : in.count(), 1, 1024);
  out.first_load_cycles =
      Within32(findings, path.At("first_load_cycles"), in.first_load_cycles(), 0, kMaxCycles);
  out.weight_load_cycles =
      Within32(findings, path.At("weight_load_cycles"), in.weight_load_cycles(), 0, kMaxCycles);
  out.pipeline_cycles =
      Within32(findings, path.At("pipeline_cycles"), in.pipeline_cycles(), 0, kMaxCycles);
  out.drain = in.drain();
  if (in.drain() && out.mode == ComputeMode::kOverlapped) {
    findings.Error(path.At("drain"), "only mode SCALESIM has a drain apart from the pipeline");
  }
}

void ReadVector(Findings& findings, const Path& path, const pb::VectorUnit& in, CoreClass& out) {
  out.vector_lanes = Within32(findings, path.At("lanes"), in.lanes(), 1, kMaxLanes);
  out.vector_issue =
      Within32(findings, path.At("issue"), in.issue() == 0 ? 1 : in.issue(), 1, 1024);
  out.vector_latency_cycles =
      Within32(findings, path.At("latency_cycles"), in.latency_cycles(), 0, 1'000'000);
  for (int i = 0; i < in.op_counts_size(); ++i) {
    const Path at = path.At("op_counts", static_cast<std::size_t>(i));
    const pb::OpCount& count = in.op_counts(i);
    if (count.kind().empty()) findings.Error(at.At("kind"), "no kind of operator");
    for (const auto& earlier : out.op_counts) {
      if (earlier.first == count.kind()) {
        findings.Error(at.At("kind"), Quote(count.kind()) + " has a count already");
      }
    }
    out.op_counts.emplace_back(
        count.kind(), Amount(findings, at.At("ops_per_element"), count.ops_per_element(), kMaxOps));
  }
}

// What steps use is a rate like any other.
void CheckRate(Findings& findings, const Path& at, const DmaPath& path, const CoreClass& core) {
  if (path.name != kReadPath && path.name != kWritePath) return;
  const double rate =
      core.dma_engines * static_cast<double>(core.clock_hz) * 1024 / path.cycles_per_kib;
  if (rate >= kMinBytesPerSecond && rate <= kMaxBytesPerSecond) return;
  findings.Error(at, std::to_string(path.cycles_per_kib) + " is not a rate in [" +
                         std::to_string(kMinBytesPerSecond) + ", " +
                         std::to_string(kMaxBytesPerSecond) + "] bytes a second");
}

void ReadPaths(Findings& findings, const Path& path, const pb::DmaPort& in, CoreClass& out) {
  constexpr int kMost = 64;
  constexpr double kMaxCycles = 1e9;
  if (in.paths_size() > kMost) {
    findings.Error(path.At("paths"), std::to_string(in.paths_size()) + " paths exceed 64");
    return;
  }
  for (int i = 0; i < in.paths_size(); ++i) {
    const Path at = path.At("paths", static_cast<std::size_t>(i));
    const pb::DmaPath& from = in.paths(i);
    DmaPath to;
    to.name = Name(findings, at.At("name"), from.name());
    for (const DmaPath& earlier : out.dma_paths) {
      if (earlier.name != to.name) continue;
      findings.Error(at.At("name"), "path " + Quote(to.name) + " exists already");
    }
    to.latency_cycles =
        Amount(findings, at.At("latency_cycles"), from.latency_cycles(), kMaxCycles);
    to.cycles_per_kib =
        Amount(findings, at.At("cycles_per_kib"), from.cycles_per_kib(), kMaxCycles);
    to.granule_bytes = from.granule_bytes() == 0 ? out.dma_granule_bytes
                                                 : Within32(findings, at.At("granule_bytes"),
                                                            from.granule_bytes(), 1, 1 << 20);
    CheckRate(findings, at.At("cycles_per_kib"), to, out);
    out.dma_paths.push_back(std::move(to));
  }
}

void ReadDma(Findings& findings, const Path& path, const pb::DmaPort& in, CoreClass& out) {
  out.dma_bytes_per_second = Within(findings, path.At("bytes_per_second"), in.bytes_per_second(),
                                    kMinBytesPerSecond, kMaxBytesPerSecond);
  out.dma_latency =
      Nanos(Within(findings, path.At("latency_ns"), in.latency_ns(), 0, kMaxLatencyNs));
  out.dma_granule_bytes =
      Within32(findings, path.At("granule_bytes"), in.granule_bytes() == 0 ? 1 : in.granule_bytes(),
               1, std::int64_t{1} << 20);
  // A step's transfers are spread over all engines of its core.
  out.dma_engines =
      Within32(findings, path.At("engines"), in.engines() == 0 ? 1 : in.engines(), 1, 1024);
  if (findings.ok()) {
    out.dma_bytes_per_second =
        std::min(out.dma_bytes_per_second * out.dma_engines, kMaxBytesPerSecond);
  }
  ReadPaths(findings, path, in, out);
}

void ReadClocks(Findings& findings, const Path& path, const pb::CoreClass& in, CoreClass& out) {
  out.clock_hz = Within(findings, path.At("clock_hz"), in.clock_hz(), 1, kMaxClockHz);
  const int stated = in.core_clock_hz_size();
  if (stated > 0 && static_cast<std::uint32_t>(stated) != in.count()) {
    findings.Error(path.At("core_clock_hz"),
                   std::to_string(stated) + " clocks for " + std::to_string(in.count()) + " cores");
  }
  for (int i = 0; i < stated && i < static_cast<int>(kMaxCores); ++i) {
    const std::int64_t hz = Within(findings, path.At("core_clock_hz", static_cast<std::size_t>(i)),
                                   in.core_clock_hz(i), 0, out.clock_hz);
    out.core_clock_hz.push_back(hz == 0 ? out.clock_hz : hz);
  }
  if (stated == 0 && in.count() <= kMaxCores) out.core_clock_hz.assign(in.count(), out.clock_hz);
}

void ReadDtypeFactors(Findings& findings, const Path& path, const pb::CoreClass& in,
                      CoreClass& out) {
  for (int i = 0; i < in.dtype_factors_size(); ++i) {
    const Path at = path.At("dtype_factors", static_cast<std::size_t>(i));
    const pb::DtypeFactor& factor = in.dtype_factors(i);
    const std::optional<DType> dtype = FindDType(factor.dtype());
    if (!dtype) {
      findings.Error(at.At("dtype"), "unknown dtype " + Quote(factor.dtype()));
      continue;
    }
    for (const auto& earlier : out.dtype_factors) {
      if (earlier.first == *dtype) {
        findings.Error(at.At("dtype"), Quote(factor.dtype()) + " has a factor already");
      }
    }
    if (!(factor.factor() > 0)) {
      findings.Error(at.At("factor"), std::to_string(factor.factor()) + " is not positive");
    }
    out.dtype_factors.emplace_back(*dtype,
                                   Amount(findings, at.At("factor"), factor.factor(), kMaxFactor));
  }
}

CoreClass ReadClass(Findings& findings, const Path& path, const pb::CoreClass& in) {
  CoreClass out;
  out.name = Name(findings, path.At("name"), in.name());
  out.count = Within32(findings, path.At("count"), in.count(), 1, kMaxCores);
  out.mode = EnumOr(findings, path.At("compute_mode"), in.compute_mode(),
                    pb::CoreClass::ComputeMode_MAX, ComputeMode::kOverlapped);
  out.dataflow = EnumOr(findings, path.At("dataflow"), in.dataflow(), pb::CoreClass::Dataflow_MAX,
                        Dataflow::kWeightStationary);
  out.conv_lowering = EnumOr(findings, path.At("conv_lowering"), in.conv_lowering(),
                             pb::CoreClass::ConvLowering_MAX, ConvLowering::kIm2col);
  ReadClocks(findings, path, in, out);
  if (in.has_array()) ReadArray(findings, path.At("array"), in.array(), out);
  if (in.has_vector()) ReadVector(findings, path.At("vector"), in.vector(), out);
  out.sram_bytes = Within(findings, path.At("sram_bytes"), in.sram_bytes(), 1, kMaxSramBytes);
  out.accumulator_bytes =
      Within(findings, path.At("accumulator_bytes"), in.accumulator_bytes(), 0, kMaxSramBytes);
  out.resident_bytes = Within(findings, path.At("resident_bytes"), in.resident_bytes(), 0,
                              std::max<std::int64_t>(in.sram_bytes() - 1, 0));
  out.sram_bytes_per_cycle = Within(findings, path.At("sram_bytes_per_cycle"),
                                    in.sram_bytes_per_cycle(), 0, kMaxSramBytes);
  ReadDma(findings, path.At("dma"), in.dma(), out);
  out.launch_depth = Within32(findings, path.At("launch_depth"),
                              in.launch_depth() == 0 ? 1 : in.launch_depth(), 1, 1024);
  ReadDtypeFactors(findings, path, in, out);
  return out;
}

void ReadClasses(Findings& findings, const Path& root, const pb::Device& in, Spec& spec) {
  if (in.core_classes_size() == 0) findings.Error(root.At("core_classes"), "no core class");
  if (in.core_classes_size() > 0 &&
      std::none_of(in.core_classes().begin(), in.core_classes().end(),
                   [](const pb::CoreClass& of) { return of.has_array() || of.has_vector(); })) {
    findings.Error(root.At("core_classes"), "no core class has an array or a vector unit");
  }
  std::set<std::string_view> names;
  std::uint64_t cores = 0;
  for (int i = 0; i < in.core_classes_size(); ++i) {
    const Path path = root.At("core_classes", static_cast<std::size_t>(i));
    const pb::CoreClass& of = in.core_classes(i);
    spec.classes.push_back(ReadClass(findings, path, of));
    spec.classes.back().first_core = static_cast<CoreIndex>(cores);
    if (!names.insert(of.name()).second) {
      findings.Error(path.At("name"), "core class " + Quote(of.name()) + " exists already");
    }
    cores += of.count();
    if (cores > kMaxCores) {
      findings.Error(path.At("count"),
                     std::to_string(cores) + " cores in total exceed " + std::to_string(kMaxCores));
      return;
    }
  }
}

void ReadDram(Findings& findings, const Path& path, const pb::Dram& in, Spec& spec) {
  spec.dram_capacity_bytes =
      Within(findings, path.At("capacity_bytes"), in.capacity_bytes(), 1, kMaxDramBytes);
  spec.dram_bytes_per_second = Within(findings, path.At("bytes_per_second"), in.bytes_per_second(),
                                      kMinBytesPerSecond, kMaxBytesPerSecond);
  spec.dram_arbitration = EnumOr(findings, path.At("arbitration"), in.arbitration(),
                                 pb::Dram::Arbitration_MAX, Arbitration::kFair);
}

// NaN fails both comparisons.
double Between(Findings& findings, const Path& path, double value, double low, double high) {
  if (value >= low && value <= high) return value;
  findings.Error(path, std::to_string(value) + " is not in [" + std::to_string(low) + ", " +
                           std::to_string(high) + "]");
  return low;
}

// What a ladder is checked for beyond its numbers: that it can be at rest.
void CheckRest(Findings& findings, const Path& path, const Power& power, const Thermal& ladder) {
  if (ladder.leakage_watts > power.static_watts) {
    findings.Error(path.At("leakage_watts"), std::to_string(ladder.leakage_watts) +
                                                 " exceed static_watts, which they are a part of");
    return;
  }
  const auto idle = SteadyCelsius(ladder, power.static_watts - ladder.leakage_watts);
  if (!idle || *idle > kMaxCelsius) {
    findings.Error(path, "the leakage heats an idle device faster than the ladder cools it");
  }
}

void ReadThermal(Findings& findings, const Path& path, const pb::ThermalLadder& in, Power& power) {
  constexpr double kLeast = 1e-6;  // joules a kelvin, kelvins a watt
  constexpr double kMost = 1e6;
  Thermal out;
  const std::size_t before = findings.total();
  if (in.nodes_size() < 1 || in.nodes_size() > static_cast<int>(kMaxThermalNodes)) {
    findings.Error(path.At("nodes"), std::to_string(in.nodes_size()) + " nodes are not in [1, " +
                                         std::to_string(kMaxThermalNodes) + "]");
    return;
  }
  for (int i = 0; i < in.nodes_size(); ++i) {
    const Path at = path.At("nodes", static_cast<std::size_t>(i));
    out.nodes.push_back({Between(findings, at.At("capacity_j_per_k"),
                                 in.nodes(i).capacity_j_per_k(), kLeast, kMost),
                         Between(findings, at.At("resistance_k_per_w"),
                                 in.nodes(i).resistance_k_per_w(), kLeast, kMost)});
  }
  const auto celsius = [&](std::string_view field, double value) {
    return Between(findings, path.At(field), value, -100, kMaxCelsius);
  };
  out.ambient_celsius = celsius("ambient_celsius", in.ambient_celsius());
  out.leakage_celsius = celsius("leakage_reference_celsius", in.leakage_reference_celsius());
  out.leakage_watts = Amount(findings, path.At("leakage_watts"), in.leakage_watts(), kMaxWatts);
  out.leakage_per_kelvin =
      Amount(findings, path.At("leakage_per_kelvin"), in.leakage_per_kelvin(), 1);
  out.leakage_per_volt = Amount(findings, path.At("leakage_per_volt"), in.leakage_per_volt(), 100);
  if (findings.total() == before) CheckRest(findings, path, power, out);
  power.thermal = std::move(out);
}

ClockLimiter ReadLimiter(Findings& findings, const Path& path, const pb::DvfsLoop::Limiter& in,
                         const Power& power) {
  ClockLimiter out;
  out.name = in.name();
  out.measure = EnumOr(findings, path.At("measure"), in.measure(),
                       pb::DvfsLoop::Limiter::Measure_MAX, ClockLimiter::Measure::kPower);
  if (out.measure == ClockLimiter::Measure::kDieTemperature && !power.thermal) {
    findings.Error(path.At("measure"), "DIE_TEMPERATURE needs power.thermal");
  }
  out.limit = Between(findings, path.At("limit"), in.limit(), 1e-3, kMaxWatts);
  const double smoothing = in.smoothing() == 0 ? 1 : in.smoothing();
  out.smoothing = Between(findings, path.At("smoothing"), smoothing, 1e-6, 1);
  out.proportional = Amount(findings, path.At("proportional"), in.proportional(), kMaxFactor);
  out.derivative = Amount(findings, path.At("derivative"), in.derivative(), kMaxFactor);
  out.window =
      Within32(findings, path.At("window"), in.window() == 0 ? 1 : in.window(), 1, 1 << 20);
  return out;
}

void ReadDvfs(Findings& findings, const Path& path, const pb::DvfsLoop& in, Power& power) {
  constexpr int kMost = 16;  // coefficients, limiters
  Dvfs out;
  if (in.period_ns() != 0) {
    power.period =
        Nanos(Within(findings, path.At("period_ns"), in.period_ns(), 1000, kMaxLatencyNs));
  }
  out.min_hz = Within(findings, path.At("min_hz"), in.min_hz(), 1'000'000, kMaxClockHz);
  out.max_hz = Within(findings, path.At("max_hz"), in.max_hz(), out.min_hz, kMaxClockHz);
  const int terms = in.volts_by_mhz_polynomial_size();
  if (terms < 1 || terms > kMost) {
    findings.Error(path.At("volts_by_mhz_polynomial"),
                   std::to_string(terms) + " coefficients are not in [1, 16]");
  }
  out.volts_by_mhz.assign(in.volts_by_mhz_polynomial().begin(), in.volts_by_mhz_polynomial().end());
  constexpr std::int64_t kSamples = 64;
  for (std::int64_t i = 0; i <= kSamples && findings.ok(); ++i) {
    const std::int64_t hz = out.min_hz + (out.max_hz - out.min_hz) / kSamples * i;
    // Nominal voltage, that of the full clock, is the highest.
    Between(findings, path.At("volts_by_mhz_polynomial"), VoltsAt(out, hz), 1e-3,
            std::min(VoltsAt(out, out.max_hz), 100.0));
  }
  if (in.limiters_size() > kMost) {
    findings.Error(path.At("limiters"), std::to_string(in.limiters_size()) + " limiters exceed 16");
    return;
  }
  for (int i = 0; i < in.limiters_size(); ++i) {
    out.limiters.push_back(ReadLimiter(findings, path.At("limiters", static_cast<std::size_t>(i)),
                                       in.limiters(i), power));
  }
  power.dvfs = std::move(out);
}

void ReadPower(Findings& findings, const Path& path, const pb::Power& in, Power& out) {
  const auto watts = [&](std::string_view field, double value) {
    return Amount(findings, path.At(field), value, kMaxWatts);
  };
  out.static_watts = watts("static_watts", in.static_watts());
  out.matrix_watts = watts("matrix_watts", in.matrix_watts());
  out.vector_watts = watts("vector_watts", in.vector_watts());
  out.dram_watts_per_gbps = watts("dram_watts_per_gbps", in.dram_watts_per_gbps());
  out.sram_watts = watts("sram_watts", in.sram_watts());
  out.thermal_design_watts = watts("thermal_design_watts", in.thermal_design_watts());
  if (in.has_thermal()) ReadThermal(findings, path.At("thermal"), in.thermal(), out);
  if (in.has_dvfs()) ReadDvfs(findings, path.At("dvfs"), in.dvfs(), out);
}

void ReadLaunch(Findings& findings, const Path& path, const pb::LaunchCost& in, Spec& spec) {
  spec.run_launch =
      Nanos(Within(findings, path.At("run_launch_ns"), in.run_launch_ns(), 0, kMaxLatencyNs));
  spec.step_launch =
      Nanos(Within(findings, path.At("step_launch_ns"), in.step_launch_ns(), 0, kMaxLatencyNs));
  spec.issue =
      EnumOr(findings, path.At("issue"), in.issue(), pb::LaunchCost::Issue_MAX, Issue::kFirstSteps);
  spec.launch_queue_depth = Within32(findings, path.At("queue_depth"), in.queue_depth(),
                                     spec.issue == Issue::kHost ? 1 : 0, 1 << 20);
}

std::string SerializeDeterministically(const pb::Device& device) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  device.SerializeToCodedStream(&coded);
  coded.Trim();
  return bytes;
}

Spec ReadDevice(Findings& findings, const pb::Device& in) {
  const Path root("");
  Spec spec;
  spec.name = Name(findings, root.At("name"), in.name());
  spec.source = in.source();
  ReadClasses(findings, root, in, spec);
  ReadDram(findings, root.At("dram"), in.dram(), spec);
  ReadLaunch(findings, root.At("launch"), in.launch(), spec);
  ReadPower(findings, root.At("power"), in.power(), spec.power);
  const std::uint32_t most_hosts = 64;
  if (in.host_processors() > 0) {
    spec.host_processors =
        Within32(findings, root.At("host_processors"), in.host_processors(), 1, most_hosts);
  }
  spec.assumed.assign(in.assumed().begin(), in.assumed().end());
  if (in.has_calibration()) {
    spec.calibration_residual =
        Amount(findings, root.At("calibration").At("residual"), in.calibration().residual(), 1e3);
  }
  return spec;
}

}  // namespace

Result<Spec> ParseSpec(std::string_view bytes, std::string_view name) {
  const std::string file(name);
  if (bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return base::ResourceExhausted(file + ": " + std::to_string(bytes.size()) +
                                   " bytes exceed 2 GiB");
  }
  pb::Device in;
  if (!in.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return base::DataLoss(file + ": not a serialized leeway.device.v1alpha.Device");
  }
  if (in.min_reader_version() > kReaderVersion) {
    return base::FailedPrecondition(file + ": needs a reader of version " +
                                    std::to_string(in.min_reader_version()) + ", this is " +
                                    std::to_string(kReaderVersion));
  }
  Findings findings;
  Spec spec = ReadDevice(findings, in);
  if (!findings.ok()) {
    return base::InvalidArgument(plan::Describe(findings.Take(), name));
  }
  spec.serialized = SerializeDeterministically(in);
  spec.digest = base::DigestOf(spec.serialized);
  spec.digest_hex = spec.digest.ToHex();
  return spec;
}

}  // namespace leeway::device
