// The serialized description: the one file of this module that sees generated code.

#include <limits>
#include <set>

#include "base/status_macros.h"
#include "device/spec.h"
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

void NotModelled(Findings& findings, const Path& path, std::string_view what) {
  findings.Error(path, std::string(what) + " is not modelled by this version");
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

void ReadDma(Findings& findings, const Path& path, const pb::DmaPort& in, CoreClass& out) {
  out.dma_bytes_per_second = Within(findings, path.At("bytes_per_second"), in.bytes_per_second(),
                                    kMinBytesPerSecond, kMaxBytesPerSecond);
  out.dma_latency =
      Nanos(Within(findings, path.At("latency_ns"), in.latency_ns(), 0, kMaxLatencyNs));
  out.dma_granule_bytes =
      Within32(findings, path.At("granule_bytes"), in.granule_bytes() == 0 ? 1 : in.granule_bytes(),
               1, std::int64_t{1} << 20);
  if (in.engines() > 1) NotModelled(findings, path.At("engines"), "more than one DMA engine");
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
                                   in.core_clock_hz(i), 0, kMaxClockHz);
    out.core_clock_hz.push_back(hz == 0 ? out.clock_hz : hz);
    if (out.core_clock_hz.back() != out.clock_hz) {
      NotModelled(findings, path.At("core_clock_hz", static_cast<std::size_t>(i)),
                  "a core with a clock of its own");
    }
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
  if (!in.has_array() && !in.has_vector()) {
    findings.Error(path, "core class " + Quote(in.name()) + " has no array and no vector unit");
  }
  out.sram_bytes = Within(findings, path.At("sram_bytes"), in.sram_bytes(), 1, kMaxSramBytes);
  out.accumulator_bytes =
      Within(findings, path.At("accumulator_bytes"), in.accumulator_bytes(), 0, kMaxSramBytes);
  ReadDma(findings, path.At("dma"), in.dma(), out);
  out.launch_depth = Within32(findings, path.At("launch_depth"),
                              in.launch_depth() == 0 ? 1 : in.launch_depth(), 1, 1024);
  ReadDtypeFactors(findings, path, in, out);
  return out;
}

void ReadClasses(Findings& findings, const Path& root, const pb::Device& in, Spec& spec) {
  if (in.core_classes_size() == 0) findings.Error(root.At("core_classes"), "no core class");
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
  const int arbitration = EnumOr<int>(findings, path.At("arbitration"), in.arbitration(),
                                      pb::Dram::Arbitration_MAX, pb::Dram::FAIR);
  if (arbitration == pb::Dram::RANDOM_PRIORITY) {
    NotModelled(findings, path.At("arbitration"), "RANDOM_PRIORITY");
  }
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
  if (in.has_thermal()) NotModelled(findings, path.At("thermal"), "heat");
  if (in.has_dvfs()) NotModelled(findings, path.At("dvfs"), "a clock that follows the power");
}

void ReadLaunch(Findings& findings, const Path& path, const pb::LaunchCost& in, Spec& spec) {
  spec.run_launch =
      Nanos(Within(findings, path.At("run_launch_ns"), in.run_launch_ns(), 0, kMaxLatencyNs));
  spec.step_launch =
      Nanos(Within(findings, path.At("step_launch_ns"), in.step_launch_ns(), 0, kMaxLatencyNs));
  spec.launch_queue_depth =
      Within32(findings, path.At("queue_depth"), in.queue_depth(), 0, 1 << 20);
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
