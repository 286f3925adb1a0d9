// How a share is written in a message: "12.3 %", "-4 %".

#ifndef LEEWAY_RETUNE_PERCENT_H_
#define LEEWAY_RETUNE_PERCENT_H_

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"

namespace leeway::retune {

inline std::string Percent(double share) {
  // No "-0": the sum of the two zeros is 0.
  return absl::StrCat(std::round(share * 1000) / 10 + 0.0, " %");
}

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_PERCENT_H_
