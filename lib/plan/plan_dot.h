// A plan's groups as a graph in the language of Graphviz.

#ifndef LEEWAY_PLAN_PLAN_DOT_H_
#define LEEWAY_PLAN_PLAN_DOT_H_

#include <string>

#include "plan/body.h"
#include "plan/plan_text.h"

namespace leeway::plan {

// Returns one digraph: a cluster for each entry, within it one for each variant, within that a node
// for each group. An edge carries the tensors that pass from a group to a later one, with their
// bytes where the extras have dims; a dashed edge is an order without data. Names are free text.
std::string ToDot(const Body& body, const Extras& extras = {});

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_DOT_H_
