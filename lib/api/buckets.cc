#include "leeway/buckets.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "retune/bucket_study.h"
#include "traffic/body.h"

namespace leeway {
inline namespace v0 {
namespace {

constexpr std::int64_t kMaxWindows = 10'000'000;

Status CheckOptions(const BucketStudyOptions& options) {
  if (options.buckets < 1 || options.buckets > 4096) {
    return base::InvalidArgument(
        absl::StrCat("buckets is ", options.buckets, "; between 1 and 4096"));
  }
  if (!(options.phi >= 1 && options.phi <= 1000)) {
    return base::InvalidArgument(absl::StrCat("phi is ", options.phi, "; between 1 and 1000"));
  }
  if (!(options.tau >= 0 && options.tau <= 10)) {
    return base::InvalidArgument(absl::StrCat("tau is ", options.tau, "; between 0 and 10"));
  }
  if (options.align < 1 || options.align > (std::int64_t{1} << 32)) {
    return base::InvalidArgument(absl::StrCat("align is ", options.align, "; between 1 and 2^32"));
  }
  if (options.window <= Nanos{0}) {
    return base::InvalidArgument(
        absl::StrCat("window is ", options.window.count(), " ns; more than 0"));
  }
  return Status();
}

Result<std::size_t> FindDim(const traffic::Body& body, const std::string& name) {
  const std::vector<std::string>& dims = body.dim_names();
  if (name.empty() && dims.size() == 1) return std::size_t{0};
  const auto found = std::find(dims.begin(), dims.end(), name);
  if (found != dims.end()) return static_cast<std::size_t>(found - dims.begin());
  return base::InvalidArgument(
      absl::StrCat(name.empty() ? "the traffic has several dims, name one"
                                : absl::StrCat("the traffic has no dim \"", name, "\""),
                   "; it has: ", absl::StrJoin(dims, ", ")));
}

retune::LengthHistogram ToHistogram(const std::vector<std::pair<std::int64_t, double>>& lengths) {
  std::vector<retune::LengthWeight> entries;
  entries.reserve(lengths.size());
  for (const auto& [length, weight] : lengths) entries.push_back({length, weight});
  return retune::LengthHistogram(std::move(entries));
}

// Calls visit(LengthWindow) for each window of the traffic.
template <typename Visit>
Status ForEachWindow(const traffic::Body& body, const BucketStudyOptions& options, std::size_t dim,
                     Visit visit) {
  LEEWAY_ASSIGN_OR_RETURN(std::unique_ptr<traffic::WindowReader> reader,
                          body.NewWindows(options.window, dim, options.seed));
  while (true) {
    LEEWAY_ASSIGN_OR_RETURN(std::optional<traffic::LengthWindow> window, reader->Next());
    if (!window) return Status();
    LEEWAY_RETURN_IF_ERROR(visit(*window));
  }
}

// The ladders reach to the longest request, which only a look at all of them can tell.
Result<std::int64_t> LongestOf(const traffic::Body& body, const BucketStudyOptions& options,
                               std::size_t dim, std::uint64_t& windows) {
  std::int64_t longest = 0;
  LEEWAY_RETURN_IF_ERROR(
      ForEachWindow(body, options, dim, [&](const traffic::LengthWindow& window) {
        for (const auto& [length, weight] : window.lengths) {
          if (weight > 0) longest = std::max(longest, length);
        }
        ++windows;
        if (options.progress && !options.progress(0)) {
          return Status(StatusCode::kCancelled, "the study was cancelled");
        }
        return Status();
      }));
  return longest;
}

BucketPolicyResult ToResult(const retune::PolicyOutcome& outcome) {
  BucketPolicyResult result;
  result.name = outcome.name;
  result.waste = outcome.waste;
  result.gain = outcome.gain;
  result.captured = outcome.captured;
  result.retunes = static_cast<std::uint64_t>(outcome.retunes);
  result.switches = static_cast<std::uint64_t>(outcome.switches);
  result.worst_window = outcome.worst_window;
  result.excess = outcome.harm;
  result.fallback_rate = outcome.fallback_rate;
  return result;
}

}  // namespace

Result<BucketStudy> StudyBuckets(const Traffic& traffic, const BucketStudyOptions& options) {
  LEEWAY_RETURN_IF_ERROR(CheckOptions(options));
  const traffic::Body& body = *traffic.body();
  if (const std::optional<Nanos> span = body.declared_span();
      span && *span / options.window > kMaxWindows) {
    return base::InvalidArgument(absl::StrCat("a window of ", options.window.count(), " ns cuts ",
                                              span->count(), " ns of traffic into more than ",
                                              kMaxWindows, " windows"));
  }
  LEEWAY_ASSIGN_OR_RETURN(const std::size_t dim, FindDim(body, options.dim));
  BucketStudy study;
  std::uint64_t windows = 0;
  LEEWAY_ASSIGN_OR_RETURN(study.max_length, LongestOf(body, options, dim, windows));
  if (windows < 2) {
    return base::FailedPrecondition(absl::StrCat(
        "the traffic fills ", windows, " window", windows == 1 ? "" : "s",
        "; the first fits the plan and at least one more is scored: choose a shorter window"));
  }

  retune::BucketStudyOptions inner;
  inner.policies = {"frozen", "oracle", "ref", "refx", "leeway", "library", "pow2", "exponential"};
  inner.policy.spec.max_buckets = options.buckets;
  inner.policy.spec.fallback_factor = options.phi;
  inner.policy.spec.align = options.align;
  inner.policy.threshold = options.tau;
  inner.policy.max_length = study.max_length;
  inner.policy.seed = options.seed;
  LEEWAY_ASSIGN_OR_RETURN(retune::BucketStudy running, retune::BucketStudy::Create(inner));
  LEEWAY_RETURN_IF_ERROR(
      ForEachWindow(body, options, dim, [&](const traffic::LengthWindow& window) {
        retune::TrafficWindow lengths;
        lengths.lengths = ToHistogram(window.lengths);
        lengths.even = ToHistogram(window.even);
        lengths.odd = ToHistogram(window.odd);
        study.requests += lengths.lengths.total();
        running.Add(lengths);
        ++study.windows;
        if (options.progress && !options.progress(study.windows)) {
          return Status(StatusCode::kCancelled, "the study was cancelled");
        }
        return Status();
      }));
  for (const retune::PolicyOutcome& outcome : running.Finish().policies) {
    study.policies.push_back(ToResult(outcome));
  }
  return study;
}

}  // namespace v0
}  // namespace leeway
