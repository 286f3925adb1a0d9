// A plan as named items with facts, in a normal form: two plans mean the same where their outlines
// are equal.
//
// A fact is a text. Defaults are written out or left out alike, expressions are in one spelling,
// what has no order is sorted. Fields that this version does not know are facts too, so that
// nothing is lost.
//
// Threading: values.

#ifndef LEEWAY_PLAN_OUTLINE_H_
#define LEEWAY_PLAN_OUTLINE_H_

#include <string>
#include <string_view>
#include <vector>

#include "leeway/plan_diff.h"
#include "plan/body.h"

namespace leeway::plan {

struct Fact {
  // Of a change of the fact.
  PlanChangeKind kind = PlanChangeKind::kOther;
  // What it is called; unique within the item.
  std::string label;
  // Where it stands below the item: "shape", "envelope[2]"; empty for the item itself.
  std::string at;
  std::string value;
};

// Facts are sorted by label; one that holds the default is left out.
using Facts = std::vector<Fact>;

struct Item {
  std::string name;
  Index index = 0;  // in the message
  Facts facts;
};

struct GroupItem : Item {
  std::vector<std::string> ops;         // in order
  std::vector<std::string> recomputed;  // sorted
};

struct VariantItem : Item {
  std::vector<GroupItem> groups;
};

struct EntryItem : Item {
  std::vector<Item> operators;
  std::vector<VariantItem> variants;
};

// Items are in the message's order.
struct Outline {
  Facts facts;
  std::vector<Item> dims, tensors;
  std::vector<EntryItem> entries;
};

Outline ReadOutline(const Body& plan);

// Returns an expression in the one spelling that equal ones are compared by. Requires that it is
// one of the plan's.
std::string Normal(const Body& plan, std::string_view expression);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_OUTLINE_H_
