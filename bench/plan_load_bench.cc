// What loading a plan, checked and digested, costs beside protobuf's own parse of the same bytes:
// CPU time and the peak of the memory that is allocated meanwhile, both in one run.
//
// The plan is what a compiler of a large model writes: of every 4 operators 1 GEMM, 25 groups and
// as many profiles for 100 operators, 4 variants, names with paths.
//
//   time_ratio, peak_ratio   ours over protobuf's; the budget is 3 and 1.5 at 100,000 operators
//   wire_MB, pb_MB, our_MB   the bytes, and what is allocated at the peak, the result included
//   exponent                 log-log slope of our CPU time over the sizes up to this one

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <map>
#include <new>
#include <string>
#include <string_view>

#include "leeway/plan.h"
#include "leeway_internal/plan/v1/plan.pb.h"

namespace {

// Counting costs time: what is timed is not counted.
bool counting = false;
std::size_t live_bytes = 0, peak_bytes = 0;

void* Allocate(std::size_t size) {
  void* const block = std::malloc(size == 0 ? 1 : size);
  if (block == nullptr) throw std::bad_alloc();
  if (counting) {
    live_bytes += malloc_usable_size(block);
    peak_bytes = std::max(peak_bytes, live_bytes);
  }
  return block;
}

void Release(void* block) {
  if (counting && block != nullptr) live_bytes -= malloc_usable_size(block);
  std::free(block);
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* block) noexcept { Release(block); }
void operator delete[](void* block) noexcept { Release(block); }
void operator delete(void* block, std::size_t) noexcept { Release(block); }
void operator delete[](void* block, std::size_t) noexcept { Release(block); }

namespace leeway {
namespace {

namespace pb = leeway_internal::plan::v1;

constexpr int kVariants = 4, kOpsInGroup = 4;

// Appends `message` as the value of a field: the whole plan is never a message here.
void Append(int field, std::string_view message, std::string& out) {
  const auto varint = [&](std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    out += static_cast<char>(value);
  };
  varint(static_cast<std::uint64_t>(field) << 3 | 2);
  varint(message.size());
  out += message;
}

std::string OpName(int op) {
  return "decoder/layer_" + std::to_string(op / 40) + "/block_" + std::to_string(op % 40);
}

pb::Tensor TensorOf(const std::string& name, pb::Tensor::Kind kind) {
  pb::Tensor tensor;
  tensor.set_name(name);
  tensor.set_kind(kind);
  tensor.set_dtype(pb::BF16);
  if (kind == pb::Tensor::WEIGHT) {
    tensor.add_shape("4096");
    tensor.add_shape("4096");
    tensor.set_content_digest(std::string(32, 'd'));
  } else {
    tensor.add_shape("batch * seq");
    tensor.add_shape("4096");
  }
  return tensor;
}

pb::Operator OperatorOf(int op) {
  pb::Operator out;
  out.set_name(OpName(op));
  out.add_inputs(op == 0 ? "tokens" : OpName(op - 1) + ":0");
  if (op % 4 == 0) {
    out.set_kind("matmul");
    out.add_inputs(OpName(op) + ":w");
    pb::Gemm& gemm = *out.mutable_work()->mutable_gemm();
    gemm.set_m("batch * seq");
    gemm.set_n("4096");
    gemm.set_k("4096");
    pb::Annotation& source = *out.add_annotations();
    source.set_key("source");
    source.set_value("model/decoder.py:" + std::to_string(op % 997));
  } else {
    out.set_kind(op % 4 == 1 ? "add" : "rms_norm");
    if (op >= 8) out.add_inputs(OpName(op - 7) + ":0");
    pb::Vector& vector = *out.mutable_work()->mutable_vector();
    vector.set_elements("4096 * (batch * ((seq ceildiv 128) * 128))");
    vector.set_ops_per_element(4);
  }
  out.add_outputs(OpName(op) + ":0");
  return out;
}

pb::FusionGroup GroupOf(int variant, int group) {
  pb::FusionGroup out;
  out.set_name("fusion_" + std::to_string(group));
  for (int i = 0; i < kOpsInGroup; ++i) out.add_ops(OpName(group * kOpsInGroup + i));
  out.mutable_tiling()->set_m(128);
  out.mutable_tiling()->set_n(256);
  out.mutable_tiling()->set_k(512);
  out.mutable_kernel()->set_key("matmul_add_norm_v" + std::to_string(variant) + "_" +
                                std::to_string(group % 50));
  out.mutable_kernel()->set_workspace_bytes("batch * seq * 64");
  out.mutable_placement()->set_mode(pb::Placement::PREFERRED);
  pb::CoreRef& core = *out.mutable_placement()->add_cores();
  core.set_class_("matrix");
  core.set_index(static_cast<std::uint32_t>(group % 4));
  for (int p = 1; p <= 2; ++p) {
    pb::Profile::Point& point = *out.mutable_profile()->add_points();
    for (const char* dim : {"batch", "seq"}) {
      pb::DimValue& value = *point.add_dims();
      value.set_dim(dim);
      value.set_value(p * 8);
    }
    point.set_p50_ns(10'000 * p + group % 100);
    point.set_p90_ns(12'000 * p + group % 100);
    point.set_dram_bytes(1 << 20);
    point.set_source("measured");
    point.set_samples(100);
  }
  return out;
}

std::string VariantOf(int variant, int operators) {
  pb::Variant out;
  out.set_name("seq_" + std::to_string(1024 << variant));
  pb::Range& range = *out.add_envelope();
  range.set_dim("seq");
  range.set_min(1);
  range.set_opt(512 << variant);
  range.set_max(1024 << variant);
  std::string bytes = out.SerializeAsString();
  for (int group = 0; group < operators / kOpsInGroup; ++group) {
    Append(4, GroupOf(variant, group).SerializeAsString(), bytes);
  }
  return bytes;
}

std::string PlanOf(int operators) {
  pb::Plan plan;
  plan.mutable_header()->set_model("large");
  plan.mutable_header()->set_producer("plan_load_bench");
  for (const auto& [name, max, rule] :
       {std::tuple("batch", 32, pb::Dim::COUNT), std::tuple("seq", 8192, pb::Dim::MAX)}) {
    pb::Dim& dim = *plan.add_dims();
    dim.set_name(name);
    dim.set_min(1);
    dim.set_max(max);
    dim.set_bind(pb::Dim::SUBMIT);
    dim.set_batch_rule(rule);
  }
  std::string bytes = plan.SerializeAsString();
  Append(4, TensorOf("tokens", pb::Tensor::INPUT).SerializeAsString(), bytes);
  for (int op = 0; op < operators; ++op) {
    const auto kind = op + 1 < operators ? pb::Tensor::ACTIVATION : pb::Tensor::OUTPUT;
    Append(4, TensorOf(OpName(op) + ":0", kind).SerializeAsString(), bytes);
    if (op % 4 != 0) continue;
    Append(4, TensorOf(OpName(op) + ":w", pb::Tensor::WEIGHT).SerializeAsString(), bytes);
  }
  pb::Entry head;
  head.set_name("main");
  std::string entry = head.SerializeAsString();
  for (int op = 0; op < operators; ++op) Append(2, OperatorOf(op).SerializeAsString(), entry);
  for (int v = 0; v < kVariants; ++v) Append(3, VariantOf(v, operators), entry);
  Append(5, entry, bytes);
  return bytes;
}

struct Cost {
  double seconds = std::numeric_limits<double>::infinity();
  std::size_t peak = 0;
};

// Runs `work`, which returns what it made, once for the least time and once for the peak.
template <typename Work>
void Measure(Work work, Cost& cost) {
  {
    // What was freed before is put together now, not by the first large allocation of `work`.
    malloc_trim(0);
    const std::clock_t start = std::clock();
    const auto made = work();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    cost.seconds = std::min(cost.seconds, seconds);
  }
  if (cost.peak != 0) return;
  live_bytes = peak_bytes = 0;
  counting = true;
  { const auto made = work(); }
  counting = false;
  cost.peak = peak_bytes;
}

// Least-squares slope of log(seconds) over log(operators).
double Exponent(const std::map<std::int64_t, double>& seconds) {
  double n = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const auto& [operators, time] : seconds) {
    const double lx = std::log(static_cast<double>(operators)), ly = std::log(time);
    n += 1, x += lx, y += ly, xx += lx * lx, xy += lx * ly;
  }
  return n < 2 ? 0 : (n * xy - x * y) / (n * xx - x * x);
}

void BM_Load(benchmark::State& state) {
  static std::map<std::int64_t, double> times;
  const std::string bytes = PlanOf(static_cast<int>(state.range(0)));
  Cost protobuf, ours;
  for (auto _ : state) {
    Measure(
        [&] {
          pb::Plan plan;
          if (!plan.ParseFromString(bytes)) state.SkipWithError("no plan");
          return plan;
        },
        protobuf);
    Measure(
        [&] {
          Result<Plan> plan = Plan::Parse(bytes, "large.pb");
          if (!plan.ok()) state.SkipWithError(plan.status().ToString().substr(0, 500).c_str());
          return plan;
        },
        ours);
  }
  times[state.range(0)] = ours.seconds;
  constexpr double kMega = 1e6;
  state.counters["time_ratio"] = ours.seconds / protobuf.seconds;
  state.counters["peak_ratio"] =
      static_cast<double>(ours.peak) / static_cast<double>(protobuf.peak);
  state.counters["pb_ms"] = protobuf.seconds * 1e3;
  state.counters["our_ms"] = ours.seconds * 1e3;
  state.counters["wire_MB"] = static_cast<double>(bytes.size()) / kMega;
  state.counters["pb_MB"] = static_cast<double>(protobuf.peak) / kMega;
  state.counters["our_MB"] = static_cast<double>(ours.peak) / kMega;
  state.counters["exponent"] = Exponent(times);
}
BENCHMARK(BM_Load)->Unit(benchmark::kMillisecond)->Arg(10'000)->Iterations(20);
BENCHMARK(BM_Load)->Unit(benchmark::kMillisecond)->Arg(100'000)->Iterations(5);
BENCHMARK(BM_Load)->Unit(benchmark::kMillisecond)->Arg(1'000'000)->Iterations(1);

}  // namespace
}  // namespace leeway
