// A plan as stable text, for review and FileCheck.

#ifndef LEEWAY_PLAN_PLAN_TEXT_H_
#define LEEWAY_PLAN_PLAN_TEXT_H_

#include <string>

#include "plan/body.h"

namespace leeway::plan {

// Returns one line for each dimension, entry, variant and group.
std::string ToText(const Body& body);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_TEXT_H_
