#include "plan/load.h"

#include <utility>

#include "base/status_macros.h"
#include "plan/findings.h"
#include "plan/plan_proto.h"
#include "plan/reader.h"
#include "plan/validate.h"

namespace leeway::plan {

Result<Loaded> LoadPlan(std::string_view bytes, std::string_view name) {
  auto body = std::make_shared<Body>();
  Findings findings;
  {
    Reader reader(*body, findings);
    LEEWAY_RETURN_IF_ERROR(ReadPlan(bytes, name, reader));
  }
  Validate(*body, findings);
  Loaded loaded;
  if (findings.ok()) loaded.body = std::move(body);
  loaded.check = findings.Take();
  return loaded;
}

Result<std::shared_ptr<const Body>> LoadValidPlan(std::string_view bytes, std::string_view name) {
  LEEWAY_ASSIGN_OR_RETURN(Loaded loaded, LoadPlan(bytes, name));
  if (loaded.body == nullptr) {
    return base::InvalidArgument(Describe(loaded.check, name));
  }
  return std::move(loaded.body);
}

}  // namespace leeway::plan
