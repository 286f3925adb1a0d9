#include <algorithm>

#include "plan/reader.h"
#include "plan/validate.h"

namespace leeway::plan {
namespace {

bool IsHost(const Entry& entry, Index op) {
  return op != kUnresolved && std::holds_alternative<Host>(entry.operators[op].work);
}

// Work of an accelerator, in the same launch: an operator that states none goes with either.
bool IsOther(const Entry& entry, Index op) {
  return op != kUnresolved && !IsHost(entry, op) &&
         !std::holds_alternative<std::monostate>(entry.operators[op].work);
}

void CheckGroup(const Path& path, const Entry& entry, const Group& group, Findings& findings) {
  const auto host =
      std::find_if(group.ops.begin(), group.ops.end(), [&](Index op) { return IsHost(entry, op); });
  if (host == group.ops.end()) return;
  const std::string what = "operator " + Quote(entry.operators[*host].name) + " is HOST work";
  const auto other = std::find_if(group.ops.begin(), group.ops.end(),
                                  [&](Index op) { return IsOther(entry, op); });
  if (other != group.ops.end()) {
    findings.Error(path.At("ops"), what + ", and its group holds " +
                                       Quote(entry.operators[*other].name) +
                                       ", which runs on an accelerator's core");
  }
  if (group.work) {
    findings.Error(path.At("work"), what + ", and its group states work of an accelerator's core");
  }
}

}  // namespace

void CheckHostWork(const Body& body, Findings& findings) {
  const Path plan("");
  for (std::size_t e = 0; e < body.entries.size(); ++e) {
    const Entry& entry = body.entries[e];
    const Path at = plan.At("entries", e);
    for (std::size_t v = 0; v < entry.variants.size(); ++v) {
      const Path path = at.At("variants", v);
      const std::vector<Group>& groups = entry.variants[v].groups;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        CheckGroup(path.At("fusion_groups", g), entry, groups[g], findings);
      }
    }
  }
}

}  // namespace leeway::plan
