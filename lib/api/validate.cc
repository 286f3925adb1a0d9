#include "leeway/validate.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "api/model_checks.h"
#include "base/status_macros.h"

namespace leeway {
inline namespace v0 {
namespace {

// "V10" after "V9".
int NumberOf(const ModelCheck& check) {
  int number = 0;
  std::from_chars(check.name.data() + 1, check.name.data() + check.name.size(), number);
  return number;
}

void Append(api::Checks& all, api::Checks more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

const char* CheckKindName(CheckKind kind) {
  return kind == CheckKind::kPrediction ? "prediction" : "plumbing";
}

double ModelCheck::error() const { return reference == 0 ? ours : ours / reference - 1; }

bool ModelCheck::ok() const {
  if (rule == CheckRule::kAtMost) return ours <= reference * (1 + tolerance);
  if (tolerance == 0) return ours == reference;
  const double off = error();
  return (off < 0 ? -off : off) <= tolerance;
}

Result<std::vector<ModelCheck>> ValidateModel(const ValidateOptions& options) {
  LEEWAY_ASSIGN_OR_RETURN(api::Checks all, api::ScaleSimChecks(options));
  for (const auto& group : {api::TransferChecks, api::OperatorChecks, api::PowerChecks}) {
    LEEWAY_ASSIGN_OR_RETURN(api::Checks more, group());
    Append(all, std::move(more));
  }
  std::stable_sort(all.begin(), all.end(), [](const ModelCheck& a, const ModelCheck& b) {
    return NumberOf(a) < NumberOf(b);
  });
  return all;
}

}  // namespace v0
}  // namespace leeway
