#include "leeway/time.h"

#include <type_traits>

#include "tests/catch.h"

namespace leeway {
namespace {

TEST_CASE("instants differ by a duration and move by one", "[base][unit]") {
  const Instant start(5us);
  const Instant end = start + 2ms;
  CHECK(end - start == 2ms);
  CHECK(end - 2ms == start);
  CHECK(end.count() == 2'005'000);
  Instant moved = start;
  moved += 1ns;
  CHECK(moved.since_origin() == 5001ns);
  CHECK(moved > start);
  CHECK(Instant() == Instant(0ns));
  CHECK(Instant::Max() > Instant(24h));
}

TEST_CASE("a number is neither an instant nor a duration, and a double no time at all",
          "[base][unit]") {
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::int64_t, Nanos>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<Nanos, Instant>);
  STATIC_REQUIRE_FALSE(std::is_convertible_v<std::chrono::duration<double>, Nanos>);
}

}  // namespace
}  // namespace leeway
