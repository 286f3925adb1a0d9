#include "leeway/plan.h"

#include <limits>

#include "base/file.h"
#include "base/status_macros.h"
#include "plan/body.h"
#include "plan/load.h"
#include "plan/plan_text.h"

namespace leeway {
inline namespace v0 {

Result<Plan> Plan::Load(const std::string& path_or_name) {
  constexpr std::uint64_t kLimit = std::numeric_limits<int>::max();
  Result<std::string> file = base::ReadFile(path_or_name, kLimit);
  if (file.ok()) return Parse(*file, path_or_name);
  if (file.status().code() != StatusCode::kNotFound) return file.status();
  const auto shipped = base::FindShipped(base::ShippedKind::kPlan, path_or_name);
  if (!shipped) {
    return base::NotFound(path_or_name + ": no such file, and no plan of that name ships");
  }
  return Parse(shipped->bytes, path_or_name);
}

Result<Plan> Plan::Parse(std::string_view bytes, std::string_view name) {
  LEEWAY_ASSIGN_OR_RETURN(std::shared_ptr<const plan::Body> body, plan::LoadValidPlan(bytes, name));
  return Plan(std::move(body));
}

std::string Plan::Serialize() const { return body_->serialized; }

std::string_view Plan::model() const { return body_->model; }

const std::string& Plan::digest() const { return body_->digest_hex; }

std::string Plan::ToText() const { return plan::ToText(*body_); }

}  // namespace v0
}  // namespace leeway
