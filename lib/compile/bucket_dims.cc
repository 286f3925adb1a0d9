#include "compile/bucket_dims.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace leeway::compile {
namespace {

bool MayBeBucketed(const plan::Dim& dim) {
  return dim.bind == plan::Bind::kSubmit && !plan::IsBatchDim(dim);
}

Result<plan::Index> FindBucketed(const plan::Body& model, const std::string& name) {
  if (!name.empty()) {
    const std::optional<plan::Index> found = model.FindDim(name);
    if (!found) return base::NotFound(absl::StrCat("the model has no dim \"", name, "\""));
    if (MayBeBucketed(model.dims[*found])) return *found;
    return base::InvalidArgument(absl::StrCat(
        "dim \"", name, "\" ",
        plan::IsBatchDim(model.dims[*found]) ? "is a batch dim" : "is not bound at submit",
        ": it is never padded"));
  }
  std::string names;
  std::optional<plan::Index> only;
  for (plan::Index d = 0; d < model.dims.size(); ++d) {
    if (!MayBeBucketed(model.dims[d])) continue;
    absl::StrAppend(&names, names.empty() ? "" : ", ", model.dims[d].name);
    only = d;
  }
  if (!only) {
    return base::InvalidArgument(
        "the model has no dim to bucket: none that is bound at submit "
        "and is no batch dim");
  }
  if (names != model.dims[*only].name) {
    return base::InvalidArgument(
        absl::StrCat("the model has several dims to bucket, name one of: ", names));
  }
  return *only;
}

}  // namespace

Result<BucketDims> BucketDims::Create(const plan::Body& model, const std::string& dim,
                                      std::int64_t max_batch) {
  if (max_batch < 1) {
    return base::InvalidArgument(absl::StrCat("max_batch is ", max_batch, "; at least 1"));
  }
  BucketDims dims;
  LEEWAY_ASSIGN_OR_RETURN(dims.dim_, FindBucketed(model, dim));
  dims.dims_ = model.dims;
  for (const plan::Dim& of : model.dims) {
    const bool counts = of.batch_rule == BatchRule::kCount;
    dims.most_.push_back(std::max(counts ? std::min(of.max, max_batch) : of.max, of.min));
    if (plan::IsBatchDim(of)) dims.max_batch_ = std::max(dims.max_batch_, dims.most_.back());
  }
  return dims;
}

std::int64_t BucketDims::Octave(std::int64_t length) const {
  const auto at_least = static_cast<std::uint64_t>(std::max<std::int64_t>(length, 1));
  constexpr std::uint64_t kLast = std::uint64_t{1} << 62;
  if (at_least > kLast) return domain().max;
  return std::clamp(static_cast<std::int64_t>(std::bit_ceil(at_least)), domain().min, domain().max);
}

std::int64_t BucketDims::BatchValue(plan::Index dim, std::int64_t batch) const {
  return std::clamp(batch, dims_[dim].min, most_[dim]);
}

std::vector<std::int64_t> BucketDims::At(std::int64_t length, std::int64_t batch) const {
  std::vector<std::int64_t> at;
  at.reserve(dims_.size());
  for (plan::Index d = 0; d < dims_.size(); ++d) {
    at.push_back(plan::IsBatchDim(dims_[d]) ? BatchValue(d, batch) : dims_[d].max);
  }
  at[dim_] = length;
  return at;
}

std::vector<plan::Range> BucketDims::Envelope(std::int64_t edge, std::int64_t batch) const {
  std::vector<plan::Range> envelope;
  envelope.reserve(dims_.size());
  for (plan::Index d = 0; d < dims_.size(); ++d) {
    plan::Range range{.min = dims_[d].min, .opt = dims_[d].max, .max = dims_[d].max};
    if (plan::IsBatchDim(dims_[d])) {
      range.opt = BatchValue(d, 1);
      range.max = BatchValue(d, batch);
      range.mode = plan::ShapeMode::kDynamic;
    }
    envelope.push_back(range);
  }
  envelope[dim_].opt = envelope[dim_].max = edge;
  return envelope;
}

}  // namespace leeway::compile
