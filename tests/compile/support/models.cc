#include "tests/compile/support/models.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/prng.h"
#include "leeway/plan_builder.h"
#include "plan/load.h"
#include "sched/cost_table.h"
#include "tests/catch.h"

namespace leeway::compile::testing {
namespace {

// A tensor of `rows` rows and so many columns.
struct Value {
  TensorRef tensor;
  Size rows;
  std::int64_t columns;
};

class RandomGraph {
 public:
  RandomGraph(base::Prng& prng, EntryRef entry, std::string prefix, Size seq, Size batch)
      : prng_(prng),
        entry_(entry),
        prefix_(std::move(prefix)),
        seq_(std::move(seq)),
        batch_(std::move(batch)) {}

  void AddInput() {
    const std::int64_t columns = Columns();
    const Size rows = batch_ * seq_;
    values_.push_back({entry_.Input(Name("in"), DType::kBf16, {rows, columns}), rows, columns});
  }

  void AddOperator() {
    const Value from = Pick();
    switch (prng_.Below(9)) {
      case 0:
      case 1:
        return AddProduct(from);
      case 2:
      case 3:
      case 4:
        return AddElementwise(from);
      case 5:
        return Add(entry_.Op(Name("reduce"), Reduce{from.rows * from.columns, from.rows, 2},
                             {from.tensor}),
                   from.rows, 1);
      case 6:
        return Add(entry_.Op(Name("move"), Move{from.rows * from.columns * 2}, {from.tensor}),
                   from.rows, from.columns);
      case 7:
        return AddUpdate(from);
      default:
        return AddAttention(from);
    }
  }

  void AddCall(const std::string& callee) {
    const Value from = Pick();
    Add(entry_.Op(Name("call"), Call{callee, static_cast<std::int64_t>(prng_.Below(4))},
                  {from.tensor}),
        from.rows, from.columns);
  }

 private:
  std::int64_t Columns() { return std::int64_t{16} << prng_.Below(7); }
  std::string Name(const std::string& kind) { return prefix_ + kind + std::to_string(next_++); }
  Value Pick() {
    // Recent values more often: chains, with a join or a branch here and there.
    const std::size_t back = std::min(prng_.Below(values_.size()), prng_.Below(values_.size()));
    return values_[values_.size() - 1 - back];
  }
  void Add(const OpRef& op, const Size& rows, std::int64_t columns) {
    values_.push_back({op.As(DType::kBf16, {rows, columns}), rows, columns});
  }

  void AddProduct(const Value& from) {
    const std::int64_t columns = Columns();
    const TensorRef weight = entry_.Weight(Name("w"), DType::kBf16, {from.columns, columns});
    Add(entry_.Op(Name("mm"), Gemm{from.rows, columns, from.columns}, {from.tensor, weight}),
        from.rows, columns);
  }

  void AddElementwise(const Value& from) {
    std::vector<TensorRef> inputs = {from.tensor};
    const Value other = Pick();
    if (other.columns == from.columns && other.rows.text() == from.rows.text()) {
      inputs.push_back(other.tensor);
    }
    Add(entry_.Op(Name("ew"), Vector{from.rows * from.columns, 1.0 + prng_.Below(8)}, inputs),
        from.rows, from.columns);
  }

  // Updates the graph's state in place, so that its uses have an order.
  void AddUpdate(const Value& from) {
    if (!state_) state_ = entry_.State(Name("state"), DType::kBf16, {batch_, 64});
    const OpRef op = entry_.Op(Name("update"), Vector{from.rows * from.columns, 1}, {from.tensor});
    if (prng_.Below(2) == 0) op.Updates(*state_);
    if (last_) op.After({*last_});
    last_ = op;
    Add(op, from.rows, from.columns);
  }

  void AddAttention(const Value& from) {
    if (from.rows.text() != (batch_ * seq_).text()) return AddElementwise(from);
    const OpRef scores =
        entry_.Op(Name("scores"), Gemm{seq_, seq_, from.columns, batch_}, {from.tensor})
            .As(DType::kBf16, {batch_, seq_, seq_});
    const OpRef softmax = entry_.Op(Name("softmax"), Vector{batch_ * seq_ * seq_, 4}, {scores})
                              .As(DType::kBf16, {batch_, seq_, seq_});
    Add(entry_.Op(Name("values"), Gemm{seq_, from.columns, seq_, batch_}, {softmax, from.tensor}),
        from.rows, from.columns);
  }

  base::Prng& prng_;
  EntryRef entry_;
  std::string prefix_;
  Size seq_, batch_;
  std::vector<Value> values_;
  std::optional<TensorRef> state_;
  std::optional<OpRef> last_;  // of the updates
  std::uint32_t next_ = 0;
};

}  // namespace

Model ShippedModel(const std::string& name) {
  const auto file = base::FindShipped(base::ShippedKind::kPlan, name);
  REQUIRE(file.has_value());
  auto body = plan::LoadValidPlan(file->bytes, file->name);
  INFO(body.status().ToString());
  REQUIRE(body.ok());
  return *body;
}

Device ShippedDevice() {
  const auto file = base::FindShipped(base::ShippedKind::kDevice, "onnxim_tpuv4_c4");
  REQUIRE(file.has_value());
  return std::make_shared<const device::Spec>(device::ParseSpec(file->bytes, file->name).value());
}

Device MixedDevice() {
  device::Spec spec = *ShippedDevice();
  spec.name = "mixed";
  device::CoreClass vector = spec.classes[0];
  spec.classes[0].count = 2;
  vector.name = "vector";
  vector.count = 3;
  vector.arrays = 0;
  vector.vector_lanes /= 4;
  vector.first_core = 2;
  spec.classes.push_back(vector);
  return std::make_shared<const device::Spec>(std::move(spec));
}

Model RandomModel(std::uint64_t seed, const ModelShape& shape) {
  base::Prng prng(seed);
  PlanBuilder builder("random", {"test", "1"});
  const Size seq = builder.Dim("seq", {1, shape.max_seq}, BatchRule::kMax);
  const Size batch = builder.Dim("batch", {1, 8}, BatchRule::kCount);
  RandomGraph main(prng, builder.Entry("main"), "main_", seq, batch);
  main.AddInput();
  if (shape.calls) {
    RandomGraph body(prng, builder.InternalEntry("body"), "body_", seq, batch);
    body.AddInput();
    for (std::uint32_t i = 0; i < shape.operators / 2; ++i) body.AddOperator();
  }
  for (std::uint32_t i = 0; i < shape.operators; ++i) {
    if (shape.calls && (i == 0 || prng.Below(4) == 0)) main.AddCall("body");
    main.AddOperator();
  }
  Result<Plan> plan = std::move(builder).Build();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  return plan->body();
}

Costed CostOf(const plan::Body& plan, const device::Spec& device, const std::string& entry,
              const std::string& variant, std::span<const std::int64_t> dims) {
  const plan::Entry& of = plan.entries[plan.FindEntry(entry).value()];
  const auto found = std::find_if(of.variants.begin(), of.variants.end(),
                                  [&](const plan::Variant& v) { return v.name == variant; });
  REQUIRE(found != of.variants.end());
  sched::DomainTable domains;
  const auto graph = sched::RunGraph::OfVariant(plan, of, *found, device, domains);
  INFO(graph.status().ToString());
  REQUIRE(graph.ok());
  const auto table = sched::MakeCostTable(plan, device, domains, *graph, dims);
  INFO(table.status().ToString());
  REQUIRE(table.ok());
  Costed costed{table->core_time, table->steps};
  for (std::uint32_t n = 0; n < graph->nodes().size(); ++n) {
    if (graph->nodes()[n].call != nullptr) continue;
    const std::int64_t times = table->rounds[graph->nodes()[n].frame] * table->shards[n];
    costed.dram_bytes +=
        static_cast<double>(times) *
        static_cast<double>(table->cost(sched::NodeId(n), table->first_class[n]).dram_bytes);
  }
  return costed;
}

}  // namespace leeway::compile::testing
