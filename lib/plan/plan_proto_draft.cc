#include "plan/plan_proto_draft.h"

#include <charconv>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace leeway::plan {
namespace {

namespace pb = leeway_internal::plan::v1;

// Pixels along one axis of a convolution's output.
std::string Pixels(const Size& input, const Size& kernel, std::uint64_t padding,
                   std::uint32_t dilation, std::uint32_t stride) {
  const Size padded = input + padding;
  return (FloorDiv(padded - dilation * (kernel - 1) - 1, stride) + 1).text();
}

// Fills the message of one kind of work and returns the output's shape; none is that of the first
// input.
class WorkWriter {
 public:
  using Shape = std::vector<std::string>;

  explicit WorkWriter(pb::Work& message) : out_(message) {}

  Shape operator()(const leeway::Gemm& work) const {
    pb::Gemm& gemm = *out_.mutable_gemm();
    gemm.set_m(work.m.text());
    gemm.set_n(work.n.text());
    gemm.set_k(work.k.text());
    if (work.count.text() != "1") gemm.set_count(work.count.text());
    if (work.density != 1) gemm.set_density(work.density);
    const Size rows = work.count.text() == "1" ? work.m : work.count * work.m;
    return {rows.text(), work.n.text()};
  }

  Shape operator()(const leeway::Conv& work) const {
    pb::Conv& conv = *out_.mutable_conv();
    conv.set_n(work.n.text());
    conv.set_h(work.h.text());
    conv.set_w(work.w.text());
    conv.set_c(work.c.text());
    conv.set_filters(work.filters.text());
    conv.set_kernel_h(work.kernel_h.text());
    conv.set_kernel_w(work.kernel_w.text());
    conv.set_stride_h(work.stride.h);
    conv.set_stride_w(work.stride.w);
    conv.set_dilation_h(work.dilation.h);
    conv.set_dilation_w(work.dilation.w);
    conv.set_pad_top(work.padding.top);
    conv.set_pad_left(work.padding.left);
    conv.set_pad_bottom(work.padding.bottom);
    conv.set_pad_right(work.padding.right);
    conv.set_groups(work.groups);
    return {work.n.text(),
            Pixels(work.h, work.kernel_h, std::uint64_t{work.padding.top} + work.padding.bottom,
                   work.dilation.h, work.stride.h),
            Pixels(work.w, work.kernel_w, std::uint64_t{work.padding.left} + work.padding.right,
                   work.dilation.w, work.stride.w),
            work.filters.text()};
  }

  Shape operator()(const leeway::Vector& work) const {
    out_.mutable_vector()->set_elements(work.elements.text());
    out_.mutable_vector()->set_ops_per_element(work.ops_per_element);
    return {work.elements.text()};
  }

  Shape operator()(const leeway::Reduce& work) const {
    out_.mutable_reduce()->set_elements(work.elements.text());
    out_.mutable_reduce()->set_outputs(work.outputs.text());
    out_.mutable_reduce()->set_ops_per_element(work.ops_per_element);
    return {work.outputs.text()};
  }

  Shape operator()(const leeway::Move& work) const {
    out_.mutable_move()->set_bytes(work.bytes.text());
    if (work.contiguous_bytes.text() != "0") {
      out_.mutable_move()->set_contiguous_bytes(work.contiguous_bytes.text());
    }
    return {};
  }

  Shape operator()(const leeway::Collective& work) const {
    pb::Collective& collective = *out_.mutable_collective();
    collective.set_kind(static_cast<pb::Collective::Kind>(work.kind));
    collective.set_bytes(work.bytes.text());
    collective.set_participants(work.participants.text());
    for (const std::vector<std::uint32_t>& group : work.groups) {
      collective.add_groups()->mutable_replicas()->Add(group.begin(), group.end());
    }
    return {};
  }

  Shape operator()(const leeway::Send& work) const { return Transfer(work, *out_.mutable_send()); }
  Shape operator()(const leeway::Receive& work) const {
    return Transfer(work, *out_.mutable_receive());
  }

  Shape operator()(const leeway::HostWork& work) const {
    out_.mutable_host()->set_nanoseconds(work.duration.count());
    return {};
  }

  Shape operator()(const leeway::Call& work) const {
    out_.mutable_call()->set_entry(work.entry);
    out_.mutable_call()->set_times(work.times.text());
    return {};
  }

  Shape operator()(const leeway::Custom& work) const {
    out_.mutable_custom()->set_flops(work.flops.text());
    out_.mutable_custom()->set_bytes(work.bytes.text());
    return {};
  }

 private:
  template <typename Work>
  static Shape Transfer(const Work& work, pb::SendReceive& transfer) {
    transfer.set_bytes(work.bytes.text());
    transfer.set_peer(work.peer);
    transfer.set_channel(work.channel);
    return {};
  }

  pb::Work& out_;
};

}  // namespace

void AddAnnotation(google::protobuf::RepeatedPtrField<pb::Annotation>& annotations,
                   std::string_view key, std::string_view value) {
  pb::Annotation& annotation = *annotations.Add();
  annotation.set_key(std::string(key));
  annotation.set_value(std::string(value));
}

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
  bool good = true;
  const auto number = [&](std::string_view digits) {
    std::uint32_t value = 0;
    const char* const end = digits.data() + digits.size();
    const auto [at, error] = std::from_chars(digits.data(), end, value);
    good = good && error == std::errc() && at == end;
    return value;
  };
  std::string_view rest = text;
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    core.set_device(number(rest.substr(0, slash)));
    rest.remove_prefix(slash + 1);
  }
  const std::size_t colon = rest.rfind(':');
  core.set_class_(std::string(rest.substr(0, colon)));
  if (colon != std::string_view::npos) core.set_index(number(rest.substr(colon + 1)));
  if (!good) Mistake("", "core " + Quote(text) + " is neither CLASS nor CLASS:INDEX");
  return core;
}

std::string Draft::Digest(std::string_view hex) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    const std::size_t high = kDigits.find(hex[i]);
    const std::size_t low = kDigits.find(hex[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) break;
    bytes += static_cast<char>(high << 4 | low);
  }
  constexpr std::size_t kBytes = 32;
  if (bytes.size() != kBytes || hex.size() != 2 * kBytes) {
    Mistake("", "digest " + Quote(hex) + " is not 64 lower-case hexadecimal digits");
  }
  return bytes;
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
