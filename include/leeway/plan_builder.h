// Builds a plan in code: the operator graph of a model and its mappings.
//
//   PlanBuilder b("toy", Producer{"mycc", "1.4"});
//   auto seq = b.Dim("seq", {1, 4096}, BatchRule::kMax), n = b.Dim("batch", {1, 32},
//   BatchRule::kSum); auto e = b.Entry("main"); auto x = e.Input("x", DType::kBf16, {n, seq, 768});
//   auto w = e.Weight("w", DType::kInt8, {768, 768});
//   auto h = e.Op("mm", Gemm{n * seq, 768, 768}, {x, w});
//   e.Variant("s512").Envelope(seq, 1, 384, 512).Group("ffn", {h}).Kernel("ffn_s512");
//   Result<Plan> plan = std::move(b).Build();
//
// Threading: a builder and its handles belong to one thread at a time.
// Lifetime:  handles (Size apart) refer to their builder's content and must not be used after it
//            is destroyed; moving the builder keeps them valid.
// Errors:    only Build() reports, everything at once; a handle of another builder is a finding.
//
// A core is "matrix:0", or "matrix" for every core of the class; "1/matrix:0" is one of device 1. A
// digest is hexadecimal, as Plan::digest() and Sha256Of() give it.

#ifndef LEEWAY_PLAN_BUILDER_H_
#define LEEWAY_PLAN_BUILDER_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/plan.h"
#include "leeway/plan_parts.h"
#include "leeway/size.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "leeway/types.h"
#include "leeway/work.h"

namespace leeway {

namespace plan {
class Draft;
}  // namespace plan

inline namespace v0 {

struct Producer {
  std::string name, version;
};

struct Domain {
  std::int64_t min = 1, max = 1;
};

class OpRef;

class TensorRef {
 public:
  TensorRef(const OpRef& op);  // NOLINT: an operator stands for its first output

  TensorRef Quantize(const Quantization& quantization) const;
  // The scales or zero points are a tensor, instead of values.
  TensorRef ScaledBy(const TensorRef& scales) const;
  TensorRef ShiftedBy(const TensorRef& zero_points) const;
  // n of every m elements are non-zero.
  TensorRef Sparse(std::uint32_t n, std::uint32_t m) const;
  // The tensor is a view of another.
  TensorRef ViewOf(const TensorRef& tensor, const Size& offset_bytes = 0) const;
  TensorRef In(MemorySpace space) const;
  // What a weight holds: weights of equal digest are one copy.
  TensorRef Holds(std::string_view content_digest) const;
  TensorRef Annotate(std::string_view key, std::string_view value) const;

 private:
  friend class EntryRef;
  friend class OpRef;
  friend class plan::Draft;
  TensorRef(plan::Draft* draft, std::size_t index) : draft_(draft), index_(index) {}
  plan::Draft* draft_;
  std::size_t index_;
};

// An operator. It has one output, named as it is: of the dtype of its first input, and of the shape
// its work implies (Gemm {count·m, n}, Conv {n, h', w', filters}, Vector {elements}, Reduce
// {outputs}, others that of their first input) unless As() says otherwise. An output that no
// operator reads is an OUTPUT of the plan.
class OpRef {
 public:
  OpRef As(DType dtype, const std::vector<Size>& shape) const;
  OpRef Kind(std::string_view kind) const;
  OpRef Annotate(std::string_view key, std::string_view value) const;
  // Control edges: this operator starts after those have ended.
  OpRef After(std::initializer_list<OpRef> ops) const;
  // A further output.
  TensorRef Output(std::string_view name, DType dtype, const std::vector<Size>& shape) const;
  // The operator also updates a STATE tensor in place.
  OpRef Updates(const TensorRef& state) const;
  // The dimension is known once the operator has made its output number `output`.
  OpRef Produces(const Size& dim, std::uint32_t output = 0) const;
  // It must run exactly once: neither elided nor recomputed.
  OpRef SideEffects() const;

 private:
  friend class EntryRef;
  friend class TensorRef;
  friend class plan::Draft;
  OpRef(plan::Draft* draft, std::size_t entry, std::size_t index, std::size_t output)
      : draft_(draft), entry_(entry), index_(index), output_(output) {}
  plan::Draft* draft_;
  std::size_t entry_, index_, output_;
};

// Where a tensor lies in an arena.
struct ArenaSlot {
  TensorRef tensor;
  Size offset_bytes = 0;
};

class GroupRef;

class VariantRef {
 public:
  VariantRef Envelope(const Size& dim, std::int64_t min, std::int64_t opt, std::int64_t max) const;
  // As Envelope; runs at the next multiple of `granule` instead of at max.
  VariantRef Dynamic(const Size& dim, std::int64_t min, std::int64_t opt, std::int64_t max,
                     std::int64_t granule) const;
  // The variant needs `expr` within [min, max] and a multiple of `multiple_of`.
  VariantRef Require(const Size& expr, std::int64_t min, std::int64_t max,
                     std::int64_t multiple_of = 1) const;
  VariantRef Elide(const OpRef& op, std::string_view reason) const;
  VariantRef Layout(const TensorRef& tensor, const TensorLayout& layout) const;
  VariantRef Resident(const TensorRef& weight, std::string_view core) const;
  // Memory that the compiler has planned.
  VariantRef Arena(std::string_view name, const Size& bytes, const std::vector<ArenaSlot>& slots,
                   MemorySpace space = MemorySpace::kDram) const;
  // The order of groups on a core, and a group that waits for one on another core.
  VariantRef Order(std::string_view core, const std::vector<std::string>& groups) const;
  VariantRef Wait(std::string_view group, std::string_view after) const;
  VariantRef Compute(const Numerics& numerics) const;
  VariantRef Annotate(std::string_view key, std::string_view value) const;
  GroupRef Group(std::string_view name, std::initializer_list<OpRef> ops) const;
  GroupRef Group(std::string_view name, const std::vector<OpRef>& ops) const;

 protected:
  friend class EntryRef;
  VariantRef(plan::Draft* draft, std::size_t entry, std::size_t index)
      : draft_(draft), entry_(entry), index_(index) {}
  plan::Draft* draft_;
  std::size_t entry_, index_;
};

// A fusion group; what a variant has can follow it, other than Compute() and Annotate(), which are
// the group's own here. Prefer() and Pin() again add a core.
class GroupRef : public VariantRef {
 public:
  GroupRef Kernel(std::string_view key, const Size& workspace_bytes = 0) const;
  GroupRef Blob(std::string_view digest) const;
  GroupRef Launch(const LaunchShape& shape) const;
  GroupRef Any(std::string_view core_class = "") const;
  GroupRef Prefer(std::string_view core) const;
  GroupRef Pin(std::string_view core) const;
  GroupRef Shards(const Size& shards) const;
  GroupRef Tiling(std::int64_t m, std::int64_t n, std::int64_t k) const;
  // Of the group's operators, those that another group owns.
  GroupRef Recompute(std::initializer_list<OpRef> ops) const;
  // The compiler's own word for how it was fused.
  GroupRef Kind(std::string_view kind) const;
  // What it does and moves, where that is not the sum of its operators'.
  GroupRef Work(const GroupWork& work) const;
  GroupRef Compute(const Numerics& numerics) const;
  // A point of the profile: how long the group takes at `dims`, or nanoseconds at all of them.
  GroupRef Predict(const Dims& dims, Nanos p50, Nanos p90 = Nanos(0)) const;
  GroupRef Predict(const Dims& dims, const Prediction& prediction) const;
  GroupRef Predict(const Size& nanoseconds) const;
  GroupRef Annotate(std::string_view key, std::string_view value) const;

 private:
  friend class VariantRef;
  GroupRef(const VariantRef& variant, std::size_t group) : VariantRef(variant), group_(group) {}
  std::size_t group_;
};

class EntryRef {
 public:
  TensorRef Input(std::string_view name, DType dtype, const std::vector<Size>& shape) const;
  TensorRef Weight(std::string_view name, DType dtype, const std::vector<Size>& shape) const;
  TensorRef State(std::string_view name, DType dtype, const std::vector<Size>& shape) const;
  OpRef Op(std::string_view name, const Work& work, std::initializer_list<TensorRef> inputs) const;
  OpRef Op(std::string_view name, const Work& work, const std::vector<TensorRef>& inputs) const;
  VariantRef Variant(std::string_view name) const;
  EntryRef Annotate(std::string_view key, std::string_view value) const;

 private:
  friend class PlanBuilder;
  EntryRef(plan::Draft* draft, std::size_t index) : draft_(draft), index_(index) {}
  plan::Draft* draft_;
  std::size_t index_;
};

class PlanBuilder {
 public:
  PlanBuilder(std::string_view model, const Producer& producer);
  ~PlanBuilder();
  PlanBuilder(PlanBuilder&&) noexcept;
  PlanBuilder& operator=(PlanBuilder&&) noexcept;

  // Compiled for the device of this digest.
  void Target(std::string_view device_digest);
  // From which plan this one was made, and when: neither counts in its own digest.
  void Parent(std::string_view plan_digest);
  void Created(Nanos since_1970);

  // Returns the dimension as a size. A batch follows from its members' values by `rule`. It comes
  // with the request, unless an operator Produces() it.
  Size Dim(std::string_view name, Domain domain, BatchRule rule);
  // The position in a sequence of runs that share state.
  Size SequenceDim(std::string_view name, Domain domain, BatchRule rule);
  EntryRef Entry(std::string_view name);
  // An entry that only a Call runs.
  EntryRef InternalEntry(std::string_view name);
  // A point of the joint distribution of dims that the plan is tuned for, and where that comes
  // from.
  void Expect(const Dims& dims, double weight);
  void ExpectedBy(std::string_view source);
  void Annotate(std::string_view key, std::string_view value);

  // Ends the builder. kInvalidArgument carries every finding, with its path, one a line.
  Result<Plan> Build() &&;

 private:
  std::unique_ptr<plan::Draft> draft_;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_PLAN_BUILDER_H_
