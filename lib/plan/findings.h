// What validation objects to, and where in the plan it is.
//
// Threading: a Findings belongs to one thread.

#ifndef LEEWAY_PLAN_FINDINGS_H_
#define LEEWAY_PLAN_FINDINGS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "leeway/plan.h"

namespace leeway::plan {

// A field path, rendered only where a finding needs it. A path borrows its parent: name every path
// that outlives the expression it is made in, and never let it outlive its parent.
class Path {
 public:
  explicit Path(std::string_view field) : field_(field) {}

  Path At(std::string_view field) const { return Path(this, field, kNoIndex); }
  Path At(std::string_view field, std::size_t index) const { return Path(this, field, index); }

  // Returns e.g. "entries[0].variants[1].envelope".
  std::string ToString() const;

 private:
  static constexpr std::size_t kNoIndex = static_cast<std::size_t>(-1);
  Path(const Path* parent, std::string_view field, std::size_t index)
      : parent_(parent), field_(field), index_(index) {}

  const Path* parent_ = nullptr;
  std::string_view field_;
  std::size_t index_ = kNoIndex;
};

// Collects findings: the first CheckResult::kMaxFindings in full, a count of all.
class Findings {
 public:
  Findings() = default;
  // Goes on after a check that has ended.
  explicit Findings(CheckResult result) : result_(std::move(result)) {}

  void Error(const Path& path, std::string message);
  void Warning(const Path& path, std::string message);
  // Counts `more` findings that were not looked at one by one.
  void CountOnly(std::size_t more);

  // True once further findings are only counted: their messages need not be made.
  bool full() const { return result_.findings.size() >= CheckResult::kMaxFindings; }
  bool ok() const { return result_.ok; }
  std::size_t total() const { return result_.total; }
  CheckResult Take() { return std::move(result_); }

 private:
  void Add(Severity severity, const Path& path, std::string message);

  CheckResult result_;
};

// Returns `name` in double quotes, shortened, bytes outside printable ASCII escaped.
std::string Quote(std::string_view name);

// Returns one line a finding, each after `name` and a colon.
std::string Describe(const CheckResult& result, std::string_view name);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_FINDINGS_H_
