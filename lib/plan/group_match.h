// Which fusion groups of one mapping are which of another: by the operators that they own, then by
// name.
//
// Threading: pure functions. Lifetime: results refer to the groups given.

#ifndef LEEWAY_PLAN_GROUP_MATCH_H_
#define LEEWAY_PLAN_GROUP_MATCH_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/outline.h"

namespace leeway::plan {

// One group in both mappings.
struct GroupPair {
  const GroupItem* before;
  const GroupItem* after;
};

// Groups that became others: one renamed, one split, several merged, one added or removed.
struct Regrouping {
  std::vector<const GroupItem*> before, after;
};

struct MovedOperator {
  std::string op;
  const GroupItem* before;
  const GroupItem* after;
};

struct GroupMatch {
  std::vector<GroupPair> pairs;  // by the name before
  std::vector<Regrouping> regroupings;
  // Of operators that are in a group of both mappings, those that no regrouping explains; by name.
  std::vector<MovedOperator> moved;
};

// Groups of equal operators are the same: under one name, or renamed. Then a group whose operators
// several others hold, and nothing else, is split into them, or they are merged. What is left is
// the same where the names are. O(n log n) in groups and operators.
GroupMatch MatchGroups(const std::vector<GroupItem>& before, const std::vector<GroupItem>& after);

// Returns both orders of the operators that the groups share, where they differ.
std::optional<std::pair<std::string, std::string>> CommonOrders(const GroupItem& before,
                                                                const GroupItem& after);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_GROUP_MATCH_H_
