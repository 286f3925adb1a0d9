#include "plan/plan_proto_draft.h"

#include <charconv>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace leeway::plan {
namespace {

namespace pb = leeway_internal::plan::v1alpha;

std::string Pixels(const Size& input, const Size& kernel, const leeway::Conv& conv) {
  const Size padded = input + 2 * std::uint64_t{conv.padding};
  return (FloorDiv(padded - conv.dilation * (kernel - 1) - 1, conv.stride) + 1).text();
}

// Fills the message of one kind of work and returns the output's shape; none is that of the first
// input.
struct WorkWriter {
  pb::Work& out;
  using Shape = std::vector<std::string>;

  Shape operator()(const leeway::Gemm& work) const {
    pb::Gemm& gemm = *out.mutable_gemm();
    gemm.set_m(work.m.text());
    gemm.set_n(work.n.text());
    gemm.set_k(work.k.text());
    if (work.count.text() != "1") gemm.set_count(work.count.text());
    if (work.density != 1) gemm.set_density(work.density);
    const Size rows = work.count.text() == "1" ? work.m : work.count * work.m;
    return {rows.text(), work.n.text()};
  }

  Shape operator()(const leeway::Conv& work) const {
    pb::Conv& conv = *out.mutable_conv();
    conv.set_n(work.n.text());
    conv.set_h(work.h.text());
    conv.set_w(work.w.text());
    conv.set_c(work.c.text());
    conv.set_filters(work.filters.text());
    conv.set_kernel_h(work.kernel_h.text());
    conv.set_kernel_w(work.kernel_w.text());
    conv.set_stride_h(work.stride);
    conv.set_stride_w(work.stride);
    conv.set_dilation_h(work.dilation);
    conv.set_dilation_w(work.dilation);
    conv.set_pad_top(work.padding);
    conv.set_pad_left(work.padding);
    conv.set_pad_bottom(work.padding);
    conv.set_pad_right(work.padding);
    conv.set_groups(work.groups);
    return {work.n.text(), Pixels(work.h, work.kernel_h, work), Pixels(work.w, work.kernel_w, work),
            work.filters.text()};
  }

  Shape operator()(const leeway::Vector& work) const {
    out.mutable_vector()->set_elements(work.elements.text());
    out.mutable_vector()->set_ops_per_element(work.ops_per_element);
    return {work.elements.text()};
  }

  Shape operator()(const leeway::Reduce& work) const {
    out.mutable_reduce()->set_elements(work.elements.text());
    out.mutable_reduce()->set_outputs(work.outputs.text());
    out.mutable_reduce()->set_ops_per_element(work.ops_per_element);
    return {work.outputs.text()};
  }

  Shape operator()(const leeway::Move& work) const {
    out.mutable_move()->set_bytes(work.bytes.text());
    return {};
  }

  Shape operator()(const leeway::Call& work) const {
    out.mutable_call()->set_entry(work.entry);
    out.mutable_call()->set_times(work.times.text());
    return {};
  }

  Shape operator()(const leeway::Custom& work) const {
    out.mutable_custom()->set_flops(work.flops.text());
    out.mutable_custom()->set_bytes(work.bytes.text());
    return {};
  }
};

}  // namespace

void Draft::Mistake(std::string path, std::string message) {
  mistakes.push_back({std::move(path), std::move(message), Severity::kError});
}

std::string Draft::TensorName(const TensorRef& ref) {
  if (ref.draft_ == this) return tensor(ref.index_).name();
  Mistake("tensors", "a handle of tensor number " + std::to_string(ref.index_) +
                         " belongs to another builder");
  return "";
}

std::string Draft::OpName(const OpRef& ref, std::size_t entry_index) {
  if (ref.draft_ == this && ref.entry_ == entry_index) return op(ref).name();
  Mistake("entries[" + std::to_string(entry_index) + "].operators",
          "a handle of operator number " + std::to_string(ref.index_) + " belongs to another " +
              (ref.draft_ == this ? "entry" : "builder"));
  return "";
}

std::size_t Draft::AddTensor(std::string_view name, pb::Tensor::Kind kind, DType dtype,
                             const std::vector<Size>& shape) {
  pb::Tensor& tensor = *plan.add_tensors();
  tensor.set_name(std::string(name));
  tensor.set_kind(kind);
  tensor.set_dtype(static_cast<pb::DType>(dtype));
  for (const Size& size : shape) tensor.add_shape(size.text());
  return static_cast<std::size_t>(plan.tensors_size()) - 1;
}

Draft::Added Draft::AddOp(std::size_t entry_index, std::string_view name, const leeway::Work& work,
                          const TensorRef* inputs, std::size_t count) {
  pb::Operator& op = *entry(entry_index).add_operators();
  op.set_name(std::string(name));
  for (std::size_t i = 0; i < count; ++i) op.add_inputs(TensorName(inputs[i]));
  op.add_outputs(std::string(name));
  const WorkWriter::Shape shape = std::visit(WorkWriter{*op.mutable_work()}, work);

  const std::size_t output = AddTensor(name, pb::Tensor::ACTIVATION, DType::kF32, {});
  pb::Tensor& tensor = this->tensor(output);
  if (count > 0 && inputs[0].draft_ == this) {
    const pb::Tensor& first = this->tensor(inputs[0].index_);
    tensor.set_dtype(first.dtype());
    if (shape.empty()) *tensor.mutable_shape() = first.shape();
  }
  for (const std::string& size : shape) tensor.add_shape(size);
  return {static_cast<std::size_t>(entry(entry_index).operators_size()) - 1, output};
}

pb::CoreRef Draft::Core(std::string_view text) {
  pb::CoreRef core;
  const std::size_t colon = text.rfind(':');
  core.set_class_(std::string(text.substr(0, colon)));
  if (colon == std::string_view::npos) return core;
  const std::string_view digits = text.substr(colon + 1);
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    Mistake("", "core " + Quote(text) + " is neither CLASS nor CLASS:INDEX");
  }
  core.set_index(index);
  return core;
}

std::string Draft::Finish() {
  absl::flat_hash_set<std::string> read, written;
  for (const pb::Entry& entry : plan.entries()) {
    for (const pb::Operator& op : entry.operators()) {
      read.insert(op.inputs().begin(), op.inputs().end());
      written.insert(op.outputs().begin(), op.outputs().end());
    }
  }
  for (pb::Tensor& tensor : *plan.mutable_tensors()) {
    const bool ends = written.contains(tensor.name()) && !read.contains(tensor.name());
    if (ends && tensor.kind() == pb::Tensor::ACTIVATION) tensor.set_kind(pb::Tensor::OUTPUT);
  }
  return plan.SerializeAsString();  // deterministic: the schema has no map
}

}  // namespace leeway::plan
