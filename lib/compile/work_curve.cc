#include "compile/work_curve.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/status_macros.h"

namespace leeway::compile {
namespace {

constexpr std::int64_t kMaxEdges = std::int64_t{1} << 20;
constexpr std::size_t kPollEvery = 256;

// The multiples of `align` in the domain, and its end.
Result<std::vector<std::int64_t>> AlignedEdges(const plan::Dim& domain, std::int64_t align) {
  if (align < 1) return base::InvalidArgument(absl::StrCat("align is ", align, "; at least 1"));
  const std::int64_t first = base::CeilDiv(domain.min, align);
  const std::int64_t last = domain.max / align;
  const std::int64_t count = last - first + 1 + (domain.max % align != 0 ? 1 : 0);
  if (count > kMaxEdges) {
    return base::ResourceExhausted(
        absl::StrCat("dim \"", domain.name, "\" has ", count, " edges in [", domain.min, ", ",
                     domain.max, "] at multiples of ", align, "; at most ", kMaxEdges));
  }
  std::vector<std::int64_t> edges;
  for (std::int64_t i = first; i <= last; ++i) edges.push_back(i * align);
  if (domain.max % align != 0) edges.push_back(domain.max);
  return edges;
}

}  // namespace

Result<WorkCurve> WorkCurve::Make(Compiler& compiler, std::int64_t align,
                                  const std::function<bool()>& polled) {
  const plan::Dim& domain = compiler.domain();
  WorkCurve curve;
  LEEWAY_ASSIGN_OR_RETURN(curve.edge_, AlignedEdges(domain, align));
  curve.min_ = domain.min;
  curve.max_ = domain.max;
  curve.align_ = align;
  curve.work_.resize(curve.edge_.size());
  // From the end: an edge that costs more than a longer one is never the best.
  for (std::size_t i = curve.edge_.size(); i-- > 0;) {
    if (polled && i % kPollEvery == 0 && !polled()) {
      return Status(StatusCode::kCancelled, "the work curve was cancelled");
    }
    LEEWAY_ASSIGN_OR_RETURN(curve.work_[i], compiler.CoreTime(curve.edge_[i]));
    if (i + 1 == curve.edge_.size() || curve.work_[i] <= curve.work_[i + 1]) continue;
    curve.work_[i] = curve.work_[i + 1];
    curve.edge_[i] = curve.edge_[i + 1];
  }
  return curve;
}

std::size_t WorkCurve::Slot(std::int64_t length) const {
  const std::int64_t slot = base::CeilDiv(length, align_) - base::CeilDiv(min_, align_);
  return static_cast<std::size_t>(slot);
}

}  // namespace leeway::compile
