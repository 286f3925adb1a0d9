#include "plan/body.h"

#include <algorithm>
#include <limits>
#include <set>

#include "base/math.h"

namespace leeway::plan {
namespace {

bool CoversEnvelope(const Variant& callee, const Variant& caller) {
  return std::equal(callee.envelope.begin(), callee.envelope.end(), caller.envelope.begin(),
                    caller.envelope.end(), [](const Range& outer, const Range& inner) {
                      return outer.min <= inner.min && inner.max <= outer.max;
                    });
}

}  // namespace

std::int64_t Tensor::Bytes(std::span<const std::int64_t> dims) const {
  const std::int64_t bits = BitsPerElement(dtype);
  const std::int64_t count = elements(dims);
  if (bits % 8 == 0) return count * (bits / 8);
  return count / 2 + count % 2;  // two four-bit elements a byte
}

std::int64_t PaddedValue(const Range& range, std::int64_t value) {
  if (range.mode == ShapeMode::kPadded) return range.max;
  const std::int64_t over = value % range.granule;
  if (over == 0) return value;
  const std::optional<std::int64_t> next = base::CheckedAdd(value - over, range.granule);
  return next ? std::min(*next, range.max) : range.max;
}

const Call* CallOf(const Entry& entry, const Group& group) {
  return group.ops.size() == 1 ? std::get_if<Call>(&entry.operators[group.ops[0]].work) : nullptr;
}

bool Covers(const Variant& variant, std::span<const std::int64_t> dims) {
  for (std::size_t i = 0; i < variant.envelope.size(); ++i) {
    if (dims[i] < variant.envelope[i].min || dims[i] > variant.envelope[i].max) return false;
  }
  return std::all_of(variant.constraints.begin(), variant.constraints.end(),
                     [&](const Constraint& constraint) {
                       const std::int64_t value = constraint.expr(dims);
                       return constraint.min <= value && value <= constraint.max &&
                              value % constraint.multiple_of == 0;
                     });
}

std::optional<Index> Body::FindDim(std::string_view name) const {
  for (Index i = 0; i < dims.size(); ++i) {
    if (dims[i].name == name) return i;
  }
  return std::nullopt;
}

std::optional<Index> Body::FindEntry(std::string_view name) const {
  for (Index i = 0; i < entries.size(); ++i) {
    if (entries[i].name == name) return i;
  }
  return std::nullopt;
}

std::optional<Index> Body::CalledVariant(const Variant& caller, Index entry) const {
  const std::vector<Variant>& variants = entries[entry].variants;
  for (Index i = 0; i < variants.size(); ++i) {
    if (variants[i].name == caller.name) return i;
  }
  for (Index i = 0; i < variants.size(); ++i) {
    if (variants[i].constraints.empty() && CoversEnvelope(variants[i], caller)) return i;
  }
  return std::nullopt;
}

std::int64_t Body::WeightBytes() const {
  std::int64_t total = 0;
  std::set<std::string_view> seen;
  for (const Tensor& tensor : tensors) {
    if (tensor.kind != TensorKind::kWeight || tensor.alias_of) continue;
    if (!tensor.content_digest.empty() && !seen.insert(tensor.content_digest).second) continue;
    // A weight's shape is constant: it needs no dims.
    total = base::CheckedAdd(total, tensor.Bytes({}))
                .value_or(std::numeric_limits<std::int64_t>::max());
  }
  return total;
}

}  // namespace leeway::plan
