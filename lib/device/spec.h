// The immutable in-memory form of a device: units as types or in names, defaults filled in.

#ifndef LEEWAY_DEVICE_SPEC_H_
#define LEEWAY_DEVICE_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/types.h"

namespace leeway::device {

// Index of a core on the device: classes in the order of the description, cores within a class.
using CoreIndex = std::uint32_t;
inline constexpr std::size_t kMaxCores = 256;

// Bytes in units of 2⁻²⁰ B and rates in 2⁻²⁰ B/ns: the engine's integers.
using ByteUnits = std::int64_t;
inline constexpr int kByteUnitBits = 20;

enum class ComputeMode { kOverlapped = 1, kScaleSim };
// How the DRAM is shared: max-min fairly, or one transfer after the other by a lot drawn as each
// begins.
enum class Arbitration { kFair = 1, kRandomPriority };
enum class Dataflow { kOutputStationary = 1, kWeightStationary, kInputStationary };
// Who pays for the launch of a run: its first steps, or a host thread that issues one after the
// other and blocks while the launch queue is full.
enum class Issue { kFirstSteps = 1, kHost };
enum class ConvLowering { kIm2col = 1, kPerTap };

// A way through the memory system: a latency, then a rate, both in cycles of the core's clock.
struct DmaPath {
  std::string name;  // "hbm-vmem"
  double latency_cycles = 0, cycles_per_kib = 0;
  std::uint32_t granule_bytes = 1;
};

struct CoreClass {
  std::string name;
  std::uint32_t count = 1;
  std::int64_t clock_hz = 0;
  std::vector<std::int64_t> core_clock_hz;  // one a core; all equal clock_hz unless stated

  std::uint32_t array_rows = 0, array_cols = 0, arrays = 0;  // 0: no matrix unit
  std::uint32_t first_load_cycles = 0, weight_load_cycles = 0, pipeline_cycles = 0;
  std::uint32_t vector_lanes = 0, vector_issue = 1, vector_latency_cycles = 0;
  // Accumulators of 0 bytes: partial sums live in the SRAM.
  std::int64_t sram_bytes = 0, accumulator_bytes = 0;
  // Of sram_bytes: set aside for weights that are kept between runs. 0: none are.
  std::int64_t resident_bytes = 0;
  // Operands that the units move a cycle at full rate; 0: their energy is not charged.
  std::int64_t sram_bytes_per_cycle = 0;
  std::int64_t dma_bytes_per_second = 0;  // of all engines
  std::uint32_t dma_engines = 1;
  std::vector<DmaPath> dma_paths;
  Nanos dma_latency{0};
  std::uint32_t dma_granule_bytes = 1;
  ComputeMode mode = ComputeMode::kOverlapped;
  Dataflow dataflow = Dataflow::kWeightStationary;
  bool drain = false;  // mode SCALESIM, output stationary: results leave after the last input
  ConvLowering conv_lowering = ConvLowering::kIm2col;
  std::uint32_t launch_depth = 1;
  // Time relative to the native dtype, by dtype; 1 where absent.
  std::vector<std::pair<DType, double>> dtype_factors;
  // Operations an element takes on the vector unit, by the operator's kind.
  std::vector<std::pair<std::string, double>> op_counts;

  CoreIndex first_core = 0;
  bool host = false;  // processors of the host, not cores of the device (host.h)

  // False of a class that only moves data: it has neither arrays nor lanes.
  bool computes() const { return arrays > 0 || vector_lanes > 0; }
  // SRAM that the tiles of a step have.
  std::int64_t tile_bytes() const { return sram_bytes - resident_bytes; }
  double DtypeFactor(DType dtype) const;
  // Operations an element of an operator of this kind takes: the unit's own, else `stated`.
  double OpsPerElement(std::string_view kind, double stated) const;
};

// A thermal mass, and the resistance to the next one; of the last, to the ambient.
struct ThermalNode {
  double joules_per_kelvin = 1, kelvins_per_watt = 1;
};

// Die first. Leakage is a part of the static power, stated at nominal voltage.
struct Thermal {
  std::vector<ThermalNode> nodes;
  double ambient_celsius = 0;
  double leakage_watts = 0, leakage_celsius = 0;
  double leakage_per_kelvin = 0, leakage_per_volt = 0;  // of its logarithm
};

// One of the things that hold the clock down (governor.h).
struct ClockLimiter {
  enum class Measure { kPower = 1, kCurrent, kDieTemperature };
  std::string name;
  Measure measure = Measure::kPower;
  double limit = 0;  // in watts, amperes or degrees Celsius
  double smoothing = 1, proportional = 0, derivative = 0;
  std::uint32_t window = 1;  // periods of the moving average
};

struct Dvfs {
  std::int64_t min_hz = 0, max_hz = 0;  // max_hz is the nominal clock
  std::vector<double> volts_by_mhz;     // coefficients from the constant term up
  std::vector<ClockLimiter> limiters;
};

// Of the whole device; the dynamic ones with every unit of their kind at full rate.
struct Power {
  double static_watts = 0, matrix_watts = 0, vector_watts = 0, dram_watts_per_gbps = 0,
         sram_watts = 0, thermal_design_watts = 0;
  std::optional<Thermal> thermal;
  std::optional<Dvfs> dvfs;
  Nanos period{1'000'000};  // in which both are advanced
};

// Dynamic energy of one event in picojoules, from the watts at full rate.
struct EventEnergy {
  double mac = 0, vector_op = 0, sram_byte = 0, dram_byte = 0;
};

struct Spec {
  std::string name, source;
  std::vector<CoreClass> classes;
  std::int64_t dram_capacity_bytes = 0;
  std::int64_t dram_bytes_per_second = 0;
  Arbitration dram_arbitration = Arbitration::kFair;
  Nanos run_launch{0}, step_launch{0};
  Issue issue = Issue::kFirstSteps;
  std::uint32_t launch_queue_depth = 0;  // at least 1 where a host issues
  std::uint32_t host_processors = 1;     // for HOST work (host.h)
  Power power;
  std::vector<std::string> assumed;
  std::optional<double> calibration_residual;
  base::Digest digest;
  std::string digest_hex;
  std::string serialized;

  // All, and those that are no processors of the host; these come last.
  std::size_t core_count() const;
  std::size_t accelerator_count() const;
  std::size_t ClassOf(CoreIndex core) const;
  std::optional<std::size_t> FindClass(std::string_view class_name) const;
  std::string CoreName(CoreIndex core) const;
  // DRAM bandwidth in the engine's units, rounded down.
  ByteUnits dram_rate() const;
  EventEnergy event_energy() const;
};

// Returns a rate in the engine's units, rounded down. Requires 0 <= rate <= 10¹⁵.
ByteUnits RateUnits(std::int64_t bytes_per_second);

// Parses and validates a serialized description. kDataLoss if the bytes are no description,
// kFailedPrecondition if they need a newer reader, kInvalidArgument with every finding, one a line:
// what this version does not model is one too, so that no result silently leaves it out. `name`
// stands for the file in messages.
Result<Spec> ParseSpec(std::string_view bytes, std::string_view name);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_SPEC_H_
