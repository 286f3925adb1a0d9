#include "base/ids.h"

#include <type_traits>

#include "tests/catch.h"

namespace leeway::base {
namespace {

using CoreId = Id<struct CoreTag>;
using RunId = Id<struct RunTag>;

TEST_CASE("an id is none until it is given a value", "[base][unit]") {
  CHECK_FALSE(CoreId().valid());
  CHECK(CoreId() == CoreId::None());
  CHECK(CoreId(0).valid());
  CHECK(CoreId(7).value() == 7);
  CHECK_FALSE(CoreId(CoreId::kNoneValue).valid());
}

TEST_CASE("ids order by value and none comes last", "[base][unit]") {
  CHECK(CoreId(1) < CoreId(2));
  CHECK(CoreId(4'000'000'000) < CoreId::None());
}

TEST_CASE("ids of different kinds and plain integers do not mix", "[base][unit]") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<CoreId, RunId>);
  STATIC_REQUIRE_FALSE(std::is_constructible_v<CoreId, RunId>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<int, CoreId>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<CoreId, std::uint32_t>);
  STATIC_REQUIRE(sizeof(CoreId) == sizeof(std::uint32_t));
}

}  // namespace
}  // namespace leeway::base
