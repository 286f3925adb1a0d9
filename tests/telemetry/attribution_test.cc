#include "leeway/attribution.h"

#include <cctype>
#include <set>
#include <string>

#include "tests/catch.h"

namespace leeway {

TEST_CASE("every cause has its own snake_case name", "[telemetry][unit]") {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    const std::string name = CauseName(static_cast<Cause>(i));
    CAPTURE(name);
    for (char c : name) CHECK((c == '_' || std::islower(static_cast<unsigned char>(c))));
    CHECK(name != "unknown");
    CHECK(names.insert(name).second);
  }
  CHECK(CauseName(Cause::kLowerPriorityInFlight) == std::string("lower_priority_in_flight"));
  CHECK(CauseName(static_cast<Cause>(kCauseCount)) == std::string("unknown"));
}

}  // namespace leeway
