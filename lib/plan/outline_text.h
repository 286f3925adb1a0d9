// Facts as text: unambiguous, so that different facts never read alike.
//
// Threading: pure functions.

#ifndef LEEWAY_PLAN_OUTLINE_TEXT_H_
#define LEEWAY_PLAN_OUTLINE_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan/outline.h"

namespace leeway::plan {

// Returns a name that may stand in a list: as it is where it is a plain word, else in quotes with
// quotes and backslashes escaped.
std::string NameText(std::string_view name);

// Returns the shortest text that reads back as the same double.
std::string Shortest(double value);

std::string Hex(std::string_view bytes);

std::string Join(const std::vector<std::string>& parts, std::string_view between = ", ");

// Sorts by label and joins the values of equal labels, themselves sorted.
void Settle(Facts& facts);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_OUTLINE_TEXT_H_
