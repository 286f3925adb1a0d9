// V3, V4, V6 and V12: transfers of a TPU v4 alone and together, its launches, and the links against
// the definition of what they compute.

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <utility>

#include "api/model_checks.h"
#include "base/math.h"
#include "base/prng.h"
#include "base/status_macros.h"
#include "device/dma.h"
#include "device/fair_shares.h"
#include "device/fluid_link.h"
#include "device/launch_queue.h"
#include "device/shared_link.h"
#include "leeway/device.h"

namespace leeway::api {
namespace {

using device::ByteUnits;
using device::DmaPath;
using device::SharedLink;

constexpr ByteUnits kByte = ByteUnits{1} << device::kByteUnitBits;
constexpr char kTpu[] = "pallas-tpu-tutorial, TPU v4 at 1050 MHz, measured: ";

Result<DmaPath> PathOf(const device::Spec& spec, std::string_view name) {
  const DmaPath* path = device::FindPath(spec.classes.front(), name);
  if (path != nullptr) return *path;
  return base::NotFound(spec.name + ": no path " + std::string(name));
}

// Lines fitted to single transfers. Of each the size that is furthest from its line.
Result<Checks> Lines(const device::Spec& spec) {
  struct Line {
    const char* name;
    double latency, cycles_per_kib, tolerance;
  };
  constexpr Line kLines[] = {{"hbm-vmem", 483.6, 1.1046, 0.03}, {"vmem-hbm", 417.5, 1.0506, 0.03},
                             {"hbm-cmem", 438.0, 1.1105, 0.03}, {"cmem-hbm", 378.3, 1.0013, 0.03},
                             {"cmem-vmem", 311, 0.5, 0},        {"vmem-cmem", 309, 1.0, 0}};
  Checks checks;
  for (const Line& line : kLines) {
    LEEWAY_ASSIGN_OR_RETURN(const DmaPath path, PathOf(spec, line.name));
    ModelCheck furthest;
    for (std::int64_t kib = 4; kib <= 4096; kib *= 4) {
      const double measured = line.latency + line.cycles_per_kib * static_cast<double>(kib);
      ModelCheck check{.name = "V3",
                       .what = "TPU v4, " + std::string(line.name) +
                               ", 4 KiB to 4 MiB: furthest at " + std::to_string(kib) + " KiB",
                       .ours = device::TransferCycles(path, kib * 1024),
                       .reference = measured,
                       .unit = "cycles",
                       .tolerance = line.tolerance,
                       .kind = CheckKind::kPlumbing,
                       .source = std::string(kTpu) + "lines fitted to single transfers"};
      const auto off = [](const ModelCheck& of) { return std::max(of.error(), -of.error()); };
      if (furthest.name.empty() || off(check) > off(furthest)) furthest = std::move(check);
    }
    checks.push_back(std::move(furthest));
  }
  return checks;
}

ByteUnits RateOf(double cycles_per_kib) {
  return base::RoundToInt64(1024 * static_cast<double>(kByte) / (cycles_per_kib * 1000))
      .value_or(0);
}

// Two transfers of `kib` that begin at once and share a link which gives a KiB in `link` cycles.
struct Pair {
  DmaPath first, second;
  double link = 0;
  std::uint64_t second_rank = 0;

  // The cycles of each. Time is in thousandths of a cycle instead of nanoseconds.
  std::array<double, 2> Cycles(std::int64_t kib) const {
    SharedLink shared(RateOf(link), 2);
    shared.Start(Instant(), 0, kib * 1024 * kByte, RateOf(first.cycles_per_kib), {1, 0});
    shared.Start(Instant(), 1, kib * 1024 * kByte, RateOf(second.cycles_per_kib), {1, second_rank});
    std::array<double, 2> cycles{first.latency_cycles, second.latency_cycles};
    while (shared.active() > 0) {
      const std::size_t slot = shared.next_slot();
      const Instant end = shared.next_end();
      cycles[slot] += static_cast<double>(end.count()) / 1000;
      shared.Stop(end, slot);
    }
    return cycles;
  }
  double Sum(std::int64_t kib) const {
    const auto cycles = Cycles(kib);
    return cycles[0] + cycles[1];
  }
  double Last(std::int64_t kib) const {
    const auto cycles = Cycles(kib);
    return std::max(cycles[0], cycles[1]);
  }
  double CyclesPerKib() const { return (Last(4096) - Last(1024)) / 3072; }
};

Pair Equals(const DmaPath& path) { return {path, path, path.cycles_per_kib}; }

class Contention {
 public:
  Contention(DmaPath read, DmaPath write) : read_(std::move(read)), write_(std::move(write)) {}

  Result<Checks> Run(const device::Spec& spec) {
    CoresReading();
    OneCore(spec.classes.front());
    Add("both cores write HBM, a KiB of each", Equals(write_).CyclesPerKib(), 2.003, 0.10);
    LEEWAY_ASSIGN_OR_RETURN(const DmaPath remote, PathOf(spec, "remote-vmem"));
    Add("both cores over one link between chips, a KiB of each", Equals(remote).CyclesPerKib(),
        49.55, 0.001);
    for (const auto& [name, slope] : {std::pair{"cmem-vmem", 0.5}, {"vmem-cmem", 1.0}}) {
      LEEWAY_ASSIGN_OR_RETURN(const DmaPath path, PathOf(spec, name));
      // A port a core: no link is shared.
      const double ours =
          (device::TransferCycles(path, 4 << 20) - device::TransferCycles(path, 1 << 20)) / 3072;
      Add("both cores, " + std::string(name) + ", a KiB of each", ours, slope, 0);
    }
    LEEWAY_ASSIGN_OR_RETURN(const DmaPath from_cmem, PathOf(spec, "cmem-hbm"));
    LEEWAY_ASSIGN_OR_RETURN(const DmaPath to_cmem, PathOf(spec, "hbm-cmem"));
    Unfair(from_cmem, to_cmem);
    return std::move(checks_);
  }

 private:
  void Add(const std::string& what, double ours, double measured, double tolerance) {
    checks_.push_back({.name = "V4",
                       .what = "TPU v4, " + what,
                       .ours = ours,
                       .reference = measured,
                       .unit = "cycles",
                       .tolerance = tolerance,
                       .source = std::string(kTpu) + "two transfers at once"});
  }

  // What is accepted of a sum is less than of each, and each is half of it.
  void CoresReading() {
    struct Measured {
      std::int64_t kib;
      double each;
    };
    constexpr Measured kMeasured[] = {{64, 636}, {256, 1048}, {1024, 2700}, {4096, 9304}};
    for (const Measured& of : kMeasured) {
      Add("both cores read HBM, " + std::to_string(of.kib) + " KiB each, sum",
          Equals(read_).Sum(of.kib), 2 * of.each, 0.03);
    }
  }

  // The loop that issues them is in what was measured. A read and a write take turns, as they do in
  // the body of a step; that the DRAM gives less than that is no part of it.
  void OneCore(const device::CoreClass& core) {
    constexpr double kAnyDram = 1e9;
    const device::DramLines lines = device::DramLinesOf(core);
    const double ghz = static_cast<double>(core.clock_hz) / 1e9;
    struct Measured {
      std::int64_t kib;
      double reads, mixed;
    };
    for (const Measured& of : {Measured{256, 1115, 1130}, {1024, 2807, 2836}}) {
      const std::string size = std::to_string(of.kib) + " KiB";
      const auto bytes = static_cast<double>(of.kib * 1024);
      const double turns = lines.TransferNs(2 * bytes, bytes, kAnyDram);
      Add("one core, two reads of " + size, Equals(read_).Last(of.kib), of.reads, 0.10);
      Add("one core, a read and a write of " + size, (lines.read.latency_ns + turns) * ghz,
          of.mixed, 0.10);
    }
  }

  // The hardware serves one core before the other, for no cause that its author found: sums are
  // compared, and whoever is served first.
  void Unfair(const DmaPath& from_cmem, const DmaPath& to_cmem) {
    const Pair fair = Equals(from_cmem);
    for (const auto& [first, second] : {std::pair{4548, 12571}, {12842, 4481}, {8562, 8568}}) {
      Add("both cores, cmem-hbm, 4 MiB each, sum of " + std::to_string(first) + " and " +
              std::to_string(second),
          fair.Sum(4096), first + second, 0.03);
    }
    Pair ranked = fair;
    ranked.second_rank = 1;
    for (const int winner : {4548, 4481}) {
      Add("both cores, cmem-hbm, 4 MiB each, the one served first in " + std::to_string(winner),
          ranked.Cycles(4096)[0], winner, 0.03);
    }
    for (const auto& [first, second] : {std::pair{10723, 4832}, {4933, 10939}}) {
      Add("both cores, hbm-cmem, 4 MiB each, sum of " + std::to_string(first) + " and " +
              std::to_string(second),
          Equals(to_cmem).Sum(4096), first + second, 0.03);
      checks_.back().note =
          "one core is served as if it were alone, and the other ends later than any order of "
          "service explains: neither fair shares nor turns give the sum. The measurement's author "
          "found no cause either";
    }
  }

  DmaPath read_, write_;
  Checks checks_;
};

// 64 asynchronous calls.
struct Calls {
  double each_us = 0;
  double unblocked = 0, most_in_flight = 0;
};

Calls CallAgainAndAgain(const device::Spec& spec, Nanos kernel) {
  constexpr device::LaunchQueue::Call kCalls = 64;
  device::LaunchQueue queue(spec.run_launch, spec.launch_queue_depth);
  for (device::LaunchQueue::Call i = 0; i < kCalls; ++i) queue.Ask(i, 1);
  Calls calls;
  std::deque<Instant> ends;
  Instant now, returned, device_free;
  bool blocked = false;
  for (device::LaunchQueue::Call issued = 0; issued < kCalls;) {
    for (; !ends.empty() && ends.front() <= now; ends.pop_front()) queue.Ended();
    for (; queue.Next(now); ++issued) {
      blocked = blocked || now > returned + spec.run_launch;
      returned = now;
      if (!blocked) ++calls.unblocked;
      calls.most_in_flight = std::max<double>(calls.most_in_flight, queue.in_flight());
      device_free = std::max(now, device_free) + kernel;
      ends.push_back(device_free);
    }
    now = std::min(queue.due(), ends.empty() ? Instant::Max() : ends.front());
  }
  calls.each_us = static_cast<double>(device_free.count()) / 1e3 / kCalls;
  return calls;
}

Checks Launches(const device::Spec& spec) {
  const Calls shorter = CallAgainAndAgain(spec, Nanos{10'800});
  const Calls longer = CallAgainAndAgain(spec, Nanos{1'000'800});
  struct Row {
    const char* what;
    double ours, reference, tolerance;
    const char* unit;
  };
  const Row rows[] = {
      {"64 calls of a kernel of 10.8 µs, each", shorter.each_us, 76.7, 0.03, "µs"},
      {"64 calls of a kernel of 1000.8 µs, each", longer.each_us, 1004.8, 0.03, "µs"},
      {"calls in flight while the caller waits", longer.most_in_flight, 32, 0, "calls"},
      // Measured as "about".
      {"calls before the first that waits, about", longer.unblocked, 32, 0.10, "calls"}};
  Checks checks;
  for (const Row& row : rows) {
    checks.push_back(
        {.name = "V6",
         .what = "TPU v4, " + std::string(row.what),
         .ours = row.ours,
         .reference = row.reference,
         .unit = row.unit,
         .tolerance = row.tolerance,
         .kind = CheckKind::kPlumbing,
         .source = "JAX and Pallas on TPU v4, measured; a call's cost and the depth are inputs"});
  }
  return checks;
}

// What became of a link's random life.
struct Agreement {
  double shares = 0, same = 0;
  double most_lost = 0;  // units of 2⁻²⁰ B/ns a flow
};

void Begin(device::FluidLink& link, Instant now, std::size_t slot, ByteUnits bytes,
           const device::FlowDemand& of) {
  link.Start(now, slot, bytes, of.cap);
}
void Begin(SharedLink& link, Instant now, std::size_t slot, ByteUnits bytes,
           const device::FlowDemand& of) {
  link.Start(now, slot, bytes, of.cap, of.claim);
}

template <typename Link>
void Compare(Link& link, const device::FlowDemands& demands, ByteUnits capacity,
             Agreement& agreement) {
  double total = 0, demand = 0;
  for (const auto& [slot, rate] : device::FairShares(demands, capacity)) {
    ++agreement.shares;
    if (link.rate(slot) == rate) ++agreement.same;
    total += static_cast<double>(link.rate(slot));
    demand += static_cast<double>(demands.at(slot).cap);
  }
  if (demands.empty()) return;
  // More than the capacity counts as well.
  const double lost = std::min(demand, static_cast<double>(capacity)) - total;
  agreement.most_lost = std::max(agreement.most_lost,
                                 std::max(lost, -lost * 1e6) / static_cast<double>(demands.size()));
}

template <typename Link>
void Live(std::uint64_t seed, std::uint64_t ranks, int weight_bits, Agreement& agreement) {
  base::Prng prng(seed);
  // Log-uniform: small and large alike.
  const auto size = [&](int bits) {
    const std::uint64_t drawn = 1 + prng.Below(static_cast<std::uint64_t>(bits));
    return static_cast<ByteUnits>(1 + prng.Below(std::uint64_t{1} << drawn));
  };
  const std::size_t slots = 1 + prng.Below(16);
  const ByteUnits capacity = 16 + size(44);
  Link link(capacity, slots);
  device::FlowDemands demands;
  Instant now;
  for (int change = 0; change < 60; ++change) {
    const std::size_t slot = prng.Below(slots);
    const std::int64_t room = std::min<std::int64_t>((link.next_end() - now).count(), 1'000'000);
    now += Nanos{static_cast<std::int64_t>(prng.Below(static_cast<std::uint64_t>(room) + 1))};
    if (demands.count(slot) != 0) {
      link.Stop(now, slot);
      demands.erase(slot);
    } else {
      device::FlowDemand of{std::min(size(40), capacity), {}};
      if (weight_bits > 0) of.claim = {size(weight_bits), prng.Below(ranks)};
      Begin(link, now, slot, size(50), of);
      demands[slot] = of;
    }
    Compare(link, demands, capacity, agreement);
  }
}

void AddAgreement(const std::string& of, const Agreement& agreement, Checks& checks) {
  constexpr char kSource[] =
      "max–min fairness by its definition (Bertsekas and Gallager, Data Networks, section 6.5.2), "
      "random flows";
  ModelCheck check{.name = "V12",
                   .what = of + ": rates that are those of brute force",
                   .ours = agreement.same,
                   .reference = agreement.shares,
                   .unit = "rates",
                   .kind = CheckKind::kPlumbing,
                   .source = kSource};
  checks.push_back(check);
  check.what = of + ": bandwidth lost by a flow at a re-share, in 2⁻²⁰ B/ns";
  check.ours = agreement.most_lost;
  check.reference = 1;
  check.unit = "units";
  check.rule = CheckRule::kAtMost;
  checks.push_back(std::move(check));
}

Checks Sharing() {
  constexpr std::uint64_t kLives = 100;
  Agreement fluid, shared;
  for (std::uint64_t seed = 0; seed < kLives; ++seed) {
    Live<device::FluidLink>(seed, 1, 0, fluid);
    Live<SharedLink>(seed, 4, 10, shared);
  }
  Checks checks;
  AddAgreement("flows by cap", fluid, checks);
  AddAgreement("flows by cap, weight and rank", shared, checks);
  return checks;
}

}  // namespace

Result<Checks> TransferChecks() {
  LEEWAY_ASSIGN_OR_RETURN(const Device device, Device::Load("tpu_v4"));
  const device::Spec& spec = *device.spec();
  LEEWAY_ASSIGN_OR_RETURN(Checks all, Lines(spec));
  LEEWAY_ASSIGN_OR_RETURN(const DmaPath read, PathOf(spec, "hbm-vmem"));
  LEEWAY_ASSIGN_OR_RETURN(const DmaPath write, PathOf(spec, "vmem-hbm"));
  LEEWAY_ASSIGN_OR_RETURN(const Checks contention, Contention(read, write).Run(spec));
  for (const Checks& more : {contention, Launches(spec), Sharing()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace leeway::api
