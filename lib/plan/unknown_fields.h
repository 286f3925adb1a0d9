// The fields of a plan that this schema does not know: a newer minor version wrote them. They are
// kept in the serialized plan, count in its digest and are not read; one warning says so.
//
// Threading: an UnknownFields belongs to one thread.

#ifndef LEEWAY_PLAN_UNKNOWN_FIELDS_H_
#define LEEWAY_PLAN_UNKNOWN_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "plan/findings.h"

namespace leeway::plan {

class UnknownFields {
 public:
  // Notes the fields of `wire`, what a lite message holds of the fields unknown to it: their tags
  // and values, one after the other. `path` is the message's.
  void Note(const Path& path, std::string_view wire);

  // Adds a warning that counts all fields and names the first of them; nothing where there are
  // none.
  void Report(Findings& findings) const;

 private:
  std::size_t total_ = 0;
  std::size_t shown_ = 0;
  std::string places_;  // "header: 99, 100; entries[0]: 40"
};

// Returns the number of the first field in `wire` and removes the field; 0 where none is left.
std::uint32_t TakeField(std::string_view& wire);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_UNKNOWN_FIELDS_H_
