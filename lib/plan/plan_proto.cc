#include <string>
#include <utility>

#include "plan/plan_proto_graph.h"
#include "plan/plan_proto_mapping.h"
#include "plan/plan_proto_unknown.h"
#include "plan/plan_proto_work.h"

namespace leeway::plan {
namespace {

static_assert(static_cast<int>(DType::kBool) == pb::BOOL);
static_assert(static_cast<int>(kLastDType) == pb::C64 &&
              static_cast<int>(pb::DType_MAX) == pb::C64);
static_assert(static_cast<int>(BatchRule::kEqual) == pb::Dim::EQUAL);
static_assert(static_cast<int>(Bind::kSequence) == pb::Dim::SEQUENCE);
static_assert(static_cast<int>(TensorKind::kState) == pb::Tensor::STATE);

// A dtype that may be left out.
void CheckDType(Reader& reader, const Path& path, int dtype) {
  reader.Enum(path, dtype, pb::DType_MAX, static_cast<int>(DType::kF32));
}

Dim ReadDim(Reader& reader, const Path& path, const pb::Dim& in) {
  NoteUnknown(reader, path, in);
  NoteUnknown(reader, path.At("produced_by"), in.produced_by());
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

// The tensors that it names are looked up by ReadTensorLinks.
void CheckQuantization(Reader& reader, const Path& path, const pb::Quantization& in, int rank) {
  NoteUnknown(reader, path, in);
  for (int i = 0; i < in.scale_size(); ++i) {
    reader.Amount(path.At("scale", static_cast<std::size_t>(i)), in.scale(i));
  }
  reader.NonNegative(path.At("block"), in.block());
  CheckDType(reader, path.At("scale_dtype"), in.scale_dtype());
  const int points = in.zero_point_size();
  if (points > 1 && points != in.scale_size()) {
    reader.findings().Error(path.At("zero_point"), std::to_string(points) +
                                                       " zero points do not match " +
                                                       std::to_string(in.scale_size()) + " scales");
  }
  if (in.axis() != 0 && (in.axis() < 0 || in.axis() >= rank)) {
    reader.findings().Error(path.At("axis"), "axis " + std::to_string(in.axis()) +
                                                 " is outside a shape of rank " +
                                                 std::to_string(rank));
  }
  const auto one_form = [&](const char* tensor, const std::string& name, int values) {
    if (name.empty() || values == 0) return;
    reader.findings().Error(path.At(tensor), "tensor " + Quote(name) + " and " +
                                                 std::to_string(values) +
                                                 " values say the same thing: only one may");
  };
  one_form("scale_tensor", in.scale_tensor(), in.scale_size());
  one_form("zero_point_tensor", in.zero_point_tensor(), in.zero_point_size());
}

// Reads what is checked but has no place in a Body: nothing in the library uses it yet.
void CheckFormat(Reader& reader, const Path& path, const pb::Tensor& in) {
  CheckQuantization(reader, path.At("quant"), in.quant(), in.shape_size());
  const pb::Sparsity& sparsity = in.sparsity();
  NoteUnknown(reader, path.At("sparsity"), sparsity);
  if (in.has_sparsity() && (sparsity.n() == 0 || sparsity.n() > sparsity.m())) {
    reader.findings().Error(path.At("sparsity"), std::to_string(sparsity.n()) + " of " +
                                                     std::to_string(sparsity.m()) +
                                                     " elements cannot be non-zero");
  }
  reader.Enum(path.At("memory_space"), in.memory_space(), pb::MemorySpace_MAX, pb::DRAM);
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

}  // namespace

void ReadHeader(Reader& reader, const Path& path, const pb::Header& in) {
  NoteUnknown(reader, path, in);
  Body& body = reader.body();
  body.model = reader.Name(path.At("model"), in.model());
  body.producer = reader.Text(path.At("producer"), in.producer());
  body.producer_version = reader.Text(path.At("producer_version"), in.producer_version());
  body.target_device = reader.DigestBytes(path.At("target_device"), in.target_device());
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
  NoteUnknown(reader, path, in);
  reader.Text(path.At("source"), in.source());
  const std::size_t dims = reader.body().dims.size();
  for (std::size_t i = 0; i < static_cast<std::size_t>(in.points_size()); ++i) {
    const pb::ShapeProfile::Point& point = in.points(static_cast<int>(i));
    const Path at = path.At("points", i);
    if (!reader.TakeDimCells(at, dims)) return;
    NoteUnknown(reader, at, point);
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
  NoteUnknown(reader, path, in);
  Tensor tensor;
  tensor.name = reader.Name(path.At("name"), in.name());
  tensor.kind =
      static_cast<TensorKind>(reader.Enum(path.At("kind"), in.kind(), pb::Tensor::Kind_MAX, 0));
  tensor.dtype = static_cast<DType>(reader.Enum(path.At("dtype"), in.dtype(), pb::DType_MAX, 0));
  if (tensor.dtype == DType::kTf32) {
    reader.findings().Error(
        path.At("dtype"), "TF32 is a way to compute: tensor " + Quote(tensor.name) + " holds F32");
  }
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
  ReadAnnotations(reader, path, "annotations", in.annotations());
  return tensor;
}

void ReadTensorLinks(Reader& reader, const Path& path, const pb::Tensor& in, Tensor& tensor) {
  if (in.has_alias_of()) {
    const Path alias = path.At("alias_of");
    NoteUnknown(reader, alias, in.alias_of());
    tensor.alias_of =
        reader.Find(alias.At("tensor"), reader.tensors, "tensor", in.alias_of().tensor());
    if (tensor.alias_of) CheckView(reader, alias, tensor, OffsetOf(reader, path, in));
  }
  const Path quant = path.At("quant");
  const auto check = [&](const char* field, const std::string& name) {
    if (name.empty()) return;
    const std::optional<Index> named = reader.Find(quant.At(field), reader.tensors, "tensor", name);
    if (named) reader.body().tensors[*named].quantizes = true;
  };
  check("scale_tensor", in.quant().scale_tensor());
  check("zero_point_tensor", in.quant().zero_point_tensor());
}

Operator ReadOperator(Reader& reader, const Path& path, const pb::Operator& in) {
  NoteUnknown(reader, path, in);
  Operator out;
  out.name = reader.Name(path.At("name"), in.name());
  out.kind = reader.OptionalName(path.At("kind"), in.kind());
  out.inputs = ReadTensorRefs(reader, path, "inputs", in.inputs());
  out.outputs = ReadTensorRefs(reader, path, "outputs", in.outputs());
  out.work = ReadWork(reader, path, in.work());
  out.side_effects = in.side_effects();
  out.annotations = ReadAnnotations(reader, path, "annotations", in.annotations());
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
