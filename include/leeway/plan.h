// A compile plan: the operator graph of a model and one or more mappings of it.
//
// Threading: immutable; any thread may read. Copies share one body.
// Lifetime:  a Plan keeps its body alive; nothing else does.
// Errors:    loading checks everything before anything runs and reports every finding.

#ifndef LEEWAY_PLAN_H_
#define LEEWAY_PLAN_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "leeway/status.h"

namespace leeway {

namespace plan {
class Body;
}  // namespace plan

inline namespace v0 {

class Device;

enum class Severity { kError, kWarning };

// Something validation objects to.
struct Finding {
  // Field path in the plan, e.g. "entries[0].variants[1].fusion_groups[3].ops[2]".
  std::string path;
  // Lower case; names the object, the offending value and the bound.
  std::string message;
  Severity severity = Severity::kError;
};

// What a check found: at most kMaxFindings in full, and how many there were.
struct CheckResult {
  static constexpr std::size_t kMaxFindings = 1000;
  std::vector<Finding> findings;
  std::size_t total = 0;
  bool ok = true;  // no finding of severity error
};

class Plan {
 public:
  // Loads a serialized leeway.plan.v1.Plan from a file or, where no file of that name exists,
  // the plan that ships under that name ("bert_base").
  // kNotFound or another I/O code names the path; kDataLoss if the bytes are no plan (truncated,
  // not protobuf); kInvalidArgument with every finding, one a line; kFailedPrecondition if a newer
  // schema is required; kResourceExhausted above 2 GiB.
  static Result<Plan> Load(const std::string& path_or_name);

  // As Load, from memory. `name` stands for the file in messages.
  static Result<Plan> Parse(std::string_view bytes, std::string_view name);

  // All findings of a serialized plan, those that need a device included if one is given.
  // The status is only for bytes that are no plan.
  static Result<CheckResult> Check(std::string_view bytes, const Device* device);

  // The serialized message, byte for byte as a deterministic encoder writes it.
  std::string Serialize() const;

  std::string_view model() const;
  // The content digest (docs/plan_digest.md) in hexadecimal: the same for all forms of a plan,
  // whatever `created` and `parent` say.
  const std::string& digest() const;

  // A stable text form for review and FileCheck: one line a fusion group.
  std::string ToText() const;

  // For the library's own modules.
  explicit Plan(std::shared_ptr<const plan::Body> body) : body_(std::move(body)) {}
  const std::shared_ptr<const plan::Body>& body() const { return body_; }

 private:
  std::shared_ptr<const plan::Body> body_;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_PLAN_H_
