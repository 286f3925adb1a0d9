// A plan as stable text, for review and FileCheck.

#ifndef LEEWAY_PLAN_PLAN_TEXT_H_
#define LEEWAY_PLAN_PLAN_TEXT_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/body.h"

namespace leeway::plan {

// What a text or a graph shows beside the plan's own content. Variants and groups are given by
// their indices in the Body; a function that is not set adds nothing.
struct Extras {
  // Whether to show a variant; entries without one to show are left out too.
  std::function<bool(Index entry, Index variant)> shows;
  // The dims that a variant is looked at; nothing where it does not cover them.
  std::function<std::optional<std::vector<std::int64_t>>(Index entry, Index variant)> dims;
  // "time 12345 ns (modelled) …"
  std::function<std::string(Index entry, Index variant, Index group)> group_words;
};

// Returns one line for each dimension, entry, variant and group. Extras stand at the ends of lines.
std::string ToText(const Body& body, const Extras& extras = {});

// Returns the name as a word of a line: blanks and control characters are replaced.
std::string Word(std::string_view name);
// Returns e.g. "pinned matrix:0 matrix:1".
std::string PlacementText(const Placement& placement);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_TEXT_H_
