#include <string>
#include <utility>

#include "plan/plan_proto_graph.h"
#include "plan/plan_proto_mapping.h"

namespace leeway::plan {
namespace {

static_assert(static_cast<int>(DType::kBool) == pb::BOOL);
static_assert(static_cast<int>(BatchRule::kEqual) == pb::Dim::EQUAL);
static_assert(static_cast<int>(Bind::kSequence) == pb::Dim::SEQUENCE);
static_assert(static_cast<int>(TensorKind::kState) == pb::Tensor::STATE);

// A dtype that may be left out.
void CheckDType(Reader& reader, const Path& path, int dtype) {
  reader.Enum(path, dtype, pb::DType_MAX, static_cast<int>(DType::kF32));
}

Dim ReadDim(Reader& reader, const Path& path, const pb::Dim& in) {
  Dim dim;
  dim.name = reader.Name(path.At("name"), in.name());
  if (!dim.name.empty() && !IsDimName(dim.name)) {
    reader.findings().Error(path.At("name"), "dimension " + Quote(dim.name) +
                                                 " is not a name that expressions can use");
  }
  dim.min = reader.NonNegative(path.At("min"), in.min());
  dim.max = in.max();
  if (dim.max < dim.min) {
    reader.findings().Error(path.At("max"), "max " + std::to_string(dim.max) + " of dimension " +
                                                Quote(dim.name) + " is below its min " +
                                                std::to_string(dim.min));
    dim.max = dim.min;
  }
  dim.bind = static_cast<Bind>(
      reader.Enum(path.At("bind"), in.bind(), pb::Dim::Bind_MAX, static_cast<int>(Bind::kSubmit)));
  dim.batch_rule = static_cast<BatchRule>(reader.Enum(path.At("batch_rule"), in.batch_rule(),
                                                      pb::Dim::BatchRule_MAX,
                                                      static_cast<int>(BatchRule::kMax)));
  if ((dim.bind == Bind::kProduced) != in.has_produced_by()) {
    reader.findings().Error(path.At("produced_by"),
                            dim.bind == Bind::kProduced
                                ? "a PRODUCED dimension does not say by which operator"
                                : "only a PRODUCED dimension names an operator");
  }
  return dim;
}

// Reads what is checked but has no place in a Body: nothing in the library uses it yet.
void CheckFormat(Reader& reader, const Path& path, const pb::Tensor& in) {
  const Path quant = path.At("quant");
  for (int i = 0; i < in.quant().scale_size(); ++i) {
    reader.Amount(quant.At("scale", static_cast<std::size_t>(i)), in.quant().scale(i));
  }
  reader.NonNegative(quant.At("block"), in.quant().block());
  CheckDType(reader, quant.At("scale_dtype"), in.quant().scale_dtype());
  const int points = in.quant().zero_point_size();
  if (points > 1 && points != in.quant().scale_size()) {
    reader.findings().Error(quant.At("zero_point"),
                            std::to_string(points) + " zero points do not match " +
                                std::to_string(in.quant().scale_size()) + " scales");
  }
  if (in.has_quant() && in.quant().axis() != 0 &&
      (in.quant().axis() < 0 || in.quant().axis() >= in.shape_size())) {
    reader.findings().Error(quant.At("axis"), "axis " + std::to_string(in.quant().axis()) +
                                                  " is outside a shape of rank " +
                                                  std::to_string(in.shape_size()));
  }
  const pb::Sparsity& sparsity = in.sparsity();
  if (in.has_sparsity() && (sparsity.n() == 0 || sparsity.n() > sparsity.m())) {
    reader.findings().Error(path.At("sparsity"), std::to_string(sparsity.n()) + " of " +
                                                     std::to_string(sparsity.m()) +
                                                     " elements cannot be non-zero");
  }
  reader.Enum(path.At("memory_space"), in.memory_space(), pb::MemorySpace_MAX, pb::DRAM);
}

Expr OffsetOf(Reader& reader, const Path& path, const pb::Tensor& in) {
  return reader.SizeOr(path.At("alias_of.offset_bytes"), in.alias_of().offset_bytes(), 0);
}

// Reports a view that leaves what it is a view of where all dims are at their least or largest.
void CheckView(Reader& reader, const Path& path, const Tensor& view, const Expr& offset) {
  const Tensor& base = reader.body().tensors[*view.alias_of];
  for (const bool largest : {false, true}) {
    std::vector<std::int64_t> dims;
    for (const Interval& domain : reader.domains()) dims.push_back(largest ? domain.hi : domain.lo);
    const std::int64_t bytes = view.Bytes(dims), at = offset(dims), room = base.Bytes(dims);
    if (bytes <= room && at <= room - bytes) continue;
    reader.findings().Error(path, std::to_string(bytes) + " bytes at offset " + std::to_string(at) +
                                      " leave the " + std::to_string(room) + " bytes of tensor " +
                                      Quote(base.name) + " where dimensions are at their " +
                                      (largest ? "max" : "min"));
    return;
  }
}

Conv ReadConv(Reader& reader, const Path& path, const pb::Conv& in) {
  Conv conv;
  conv.n = reader.Size(path.At("n"), in.n());
  conv.h = reader.Size(path.At("h"), in.h());
  conv.w = reader.Size(path.At("w"), in.w());
  conv.c = reader.Size(path.At("c"), in.c());
  conv.filters = reader.Size(path.At("filters"), in.filters());
  constexpr Interval kKernel{1, 1 << 20};
  conv.kernel_h = reader.Size(path.At("kernel_h"), in.kernel_h(), kKernel);
  conv.kernel_w = reader.Size(path.At("kernel_w"), in.kernel_w(), kKernel);
  constexpr std::uint32_t kMaxStep = 1u << 20;
  for (const auto& [field, step] :
       std::initializer_list<std::pair<const char*, std::uint32_t>>{{"stride_h", in.stride_h()},
                                                                    {"stride_w", in.stride_w()},
                                                                    {"dilation_h", in.dilation_h()},
                                                                    {"dilation_w", in.dilation_w()},
                                                                    {"pad_top", in.pad_top()},
                                                                    {"pad_left", in.pad_left()},
                                                                    {"pad_bottom", in.pad_bottom()},
                                                                    {"pad_right", in.pad_right()},
                                                                    {"groups", in.groups()}}) {
    if (step <= kMaxStep) continue;
    reader.findings().Error(path.At(field),
                            std::to_string(step) + " exceeds " + std::to_string(kMaxStep));
    return conv;
  }
  const auto or_one = [](std::uint32_t value) { return value == 0 ? 1 : value; };
  conv.stride_h = or_one(in.stride_h());
  conv.stride_w = or_one(in.stride_w());
  conv.dilation_h = or_one(in.dilation_h());
  conv.dilation_w = or_one(in.dilation_w());
  conv.pad_top = in.pad_top();
  conv.pad_left = in.pad_left();
  conv.pad_bottom = in.pad_bottom();
  conv.pad_right = in.pad_right();
  conv.groups = or_one(in.groups());
  return conv;
}

Gemm ReadGemm(Reader& reader, const Path& path, const pb::Gemm& in) {
  Gemm gemm;
  gemm.m = reader.Size(path.At("m"), in.m());
  gemm.n = reader.Size(path.At("n"), in.n());
  gemm.k = reader.Size(path.At("k"), in.k());
  gemm.count = reader.SizeOr(path.At("count"), in.count(), 1);
  const double density = reader.Amount(path.At("density"), in.density());
  if (density > 1) {
    reader.findings().Error(path.At("density"),
                            "density " + std::to_string(density) + " is above 1");
  }
  gemm.density = density == 0 ? 1 : density;
  return gemm;
}

Work ReadWork(Reader& r, const Path& operator_path, const pb::Work& in) {
  const Path path = operator_path.At("work");
  const auto size = [&](const char* field, const std::string& text) {
    return r.Size(path.At(field), text);
  };
  switch (in.work_case()) {
    case pb::Work::kGemm:
      return ReadGemm(r, path.At("gemm"), in.gemm());
    case pb::Work::kConv:
      return ReadConv(r, path.At("conv"), in.conv());
    case pb::Work::kVector:
      return Vector{size("vector.elements", in.vector().elements()),
                    r.Amount(path.At("vector.ops_per_element"), in.vector().ops_per_element())};
    case pb::Work::kReduce:
      return Reduce{size("reduce.elements", in.reduce().elements()),
                    size("reduce.outputs", in.reduce().outputs()),
                    r.Amount(path.At("reduce.ops_per_element"), in.reduce().ops_per_element())};
    case pb::Work::kMove: {
      Move move{size("move.bytes", in.move().bytes()), std::nullopt};
      if (const std::string& bytes = in.move().contiguous_bytes(); !bytes.empty()) {
        move.contiguous_bytes = size("move.contiguous_bytes", bytes);
      }
      return move;
    }
    case pb::Work::kCollective:
      return Collective{
          r.Enum(path.At("collective.kind"), in.collective().kind(), pb::Collective::Kind_MAX, 0),
          size("collective.bytes", in.collective().bytes()),
          size("collective.participants", in.collective().participants())};
    case pb::Work::kSend:
      return SendReceive{true, size("send.bytes", in.send().bytes())};
    case pb::Work::kReceive:
      return SendReceive{false, size("receive.bytes", in.receive().bytes())};
    case pb::Work::kHost:
      return Host{r.NonNegative(path.At("host.nanoseconds"), in.host().nanoseconds())};
    case pb::Work::kCall: {
      const std::optional<Index> entry =
          r.Find(path.At("call.entry"), r.entries, "entry", in.call().entry());
      return entry ? Work(Call{*entry, size("call.times", in.call().times())}) : Work();
    }
    case pb::Work::kCustom:
      return Custom{r.SizeOr(path.At("custom.flops"), in.custom().flops(), 0),
                    r.SizeOr(path.At("custom.bytes"), in.custom().bytes(), 0)};
    case pb::Work::WORK_NOT_SET:
      break;
  }
  return std::monostate();
}

std::vector<Index> ReadTensorRefs(Reader& reader, const Path& path, std::string_view field,
                                  const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::vector<Index> refs;
  refs.reserve(static_cast<std::size_t>(names.size()));
  std::size_t i = 0;
  for (const std::string& name : names) {
    const Path at = path.At(field, i++);
    const std::optional<Index> tensor = reader.Find(at, reader.tensors, "tensor", name);
    if (tensor) refs.push_back(*tensor);
  }
  return refs;
}

}  // namespace

void ReadHeader(Reader& reader, const Path& path, const pb::Header& in) {
  Body& body = reader.body();
  body.model = reader.Name(path.At("model"), in.model());
  body.producer = reader.Text(path.At("producer"), in.producer());
  body.producer_version = reader.Text(path.At("producer_version"), in.producer_version());
  reader.DigestBytes(path.At("target_device"), in.target_device());
  reader.DigestBytes(path.At("parent"), in.parent());
}

void ReadDims(Reader& reader, const Path& plan, const pb::Plan& in) {
  if (static_cast<std::size_t>(in.dims_size()) > kMaxDims) {
    reader.findings().Error(plan.At("dims"), std::to_string(in.dims_size()) +
                                                 " dimensions exceed " + std::to_string(kMaxDims));
  }
  for (int i = 0; i < in.dims_size() && i < static_cast<int>(kMaxDims); ++i) {
    reader.body().dims.push_back(
        ReadDim(reader, plan.At("dims", static_cast<std::size_t>(i)), in.dims(i)));
  }
  reader.DeclareDims(plan);
}

void ReadShapeProfile(Reader& reader, const Path& path, const pb::ShapeProfile& in) {
  reader.Text(path.At("source"), in.source());
  const std::size_t dims = reader.body().dims.size();
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.points_size()); ++i) {
    const pb::ShapeProfile::Point& point = in.points(static_cast<int>(i));
    const Path at = path.At("points", i);
    if (!reader.TakeDimCells(at, dims)) return;
    ShapePoint out{ReadDimValues(reader, at, point.dims()),
                   reader.Amount(at.At("weight"), point.weight())};
    if (static_cast<std::size_t>(point.dims_size()) < dims) {
      reader.findings().Error(at.At("dims"), std::to_string(point.dims_size()) + " of " +
                                                 std::to_string(dims) +
                                                 " dimensions are given; a point is joint");
    }
    if (point.weight() == 0)
      reader.findings().Error(at.At("weight"), "a weight of 0 counts nothing");
    reader.body().shape_profile.push_back(std::move(out));
  }
}

Tensor ReadTensor(Reader& reader, const Path& path, const pb::Tensor& in) {
  Tensor tensor;
  tensor.name = reader.Name(path.At("name"), in.name());
  tensor.kind =
      static_cast<TensorKind>(reader.Enum(path.At("kind"), in.kind(), pb::Tensor::Kind_MAX, 0));
  tensor.dtype = static_cast<DType>(reader.Enum(path.At("dtype"), in.dtype(), pb::DType_MAX, 0));
  if (static_cast<std::size_t>(in.shape_size()) > kMaxRank) {
    reader.findings().Error(path.At("shape"), "rank " + std::to_string(in.shape_size()) +
                                                  " exceeds " + std::to_string(kMaxRank));
  } else {
    tensor.shape.reserve(static_cast<std::size_t>(in.shape_size()));
    std::string texts;
    for (const std::string& text : in.shape()) {
      tensor.shape.push_back(reader.Size(path.At("shape", tensor.shape.size()), text));
      texts.append(text) += ',';
    }
    tensor.elements = reader.Elements(path.At("shape"), texts, tensor.shape);
  }
  if (tensor.kind == TensorKind::kWeight && !tensor.elements.is_constant()) {
    reader.findings().Error(
        path.At("shape"), "the shape of weight " + Quote(tensor.name) + " depends on a dimension");
    tensor.elements = Expr::Constant(1);
  }
  CheckFormat(reader, path, in);
  if (in.has_alias_of()) OffsetOf(reader, path, in);
  tensor.content_digest = reader.DigestBytes(path.At("content_digest"), in.content_digest());
  ReadAnnotations(reader, path, in.annotations());
  return tensor;
}

void ReadTensorLinks(Reader& reader, const Path& path, const pb::Tensor& in, Tensor& tensor) {
  const Path alias = path.At("alias_of");
  tensor.alias_of =
      reader.Find(alias.At("tensor"), reader.tensors, "tensor", in.alias_of().tensor());
  if (tensor.alias_of) CheckView(reader, alias, tensor, OffsetOf(reader, path, in));
}

Operator ReadOperator(Reader& reader, const Path& path, const pb::Operator& in) {
  Operator out;
  out.name = reader.Name(path.At("name"), in.name());
  out.kind = reader.Text(path.At("kind"), in.kind());
  out.inputs = ReadTensorRefs(reader, path, "inputs", in.inputs());
  out.outputs = ReadTensorRefs(reader, path, "outputs", in.outputs());
  out.work = ReadWork(reader, path, in.work());
  out.annotations = ReadAnnotations(reader, path, in.annotations());
  return out;
}

// Checks PRODUCED dims, whose operators are known only now.
void CheckProducers(Reader& reader, const Path& plan, const pb::Plan& in) {
  for (std::size_t i = 0; i < reader.body().dims.size(); ++i) {
    const pb::Dim& dim = in.dims(static_cast<int>(i));
    if (!dim.has_produced_by()) continue;
    bool found = false;
    for (const Entry& entry : reader.body().entries) {
      for (const Operator& op : entry.operators) {
        found |= op.name == dim.produced_by().operator_() &&
                 dim.produced_by().output() < op.outputs.size();
      }
    }
    const Path path = plan.At("dims", i);
    if (!found) {
      reader.findings().Error(path.At("produced_by"),
                              "no operator " + Quote(dim.produced_by().operator_()) +
                                  " has an output " + std::to_string(dim.produced_by().output()));
    }
  }
}

}  // namespace leeway::plan
