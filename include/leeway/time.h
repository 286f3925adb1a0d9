// Time as types: a duration is Nanos, a point in time is an Instant.
//
// Time: an Instant counts integer nanoseconds from the origin of whatever made it (a trace, a
//       simulation, a runtime's start). Instants of different origins must not be compared.

#ifndef LEEWAY_TIME_H_
#define LEEWAY_TIME_H_

#include <chrono>
#include <compare>
#include <cstdint>
#include <limits>

namespace leeway {
inline namespace v0 {

using Nanos = std::chrono::duration<std::int64_t, std::nano>;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""min;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ns;

class Instant {
 public:
  constexpr Instant() = default;
  constexpr explicit Instant(Nanos since_origin) : since_origin_(since_origin) {}

  static constexpr Instant Max() { return Instant(Nanos::max()); }

  constexpr Nanos since_origin() const { return since_origin_; }
  constexpr std::int64_t count() const { return since_origin_.count(); }

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Nanos operator-(Instant a, Instant b) {
    return a.since_origin_ - b.since_origin_;
  }
  friend constexpr Instant operator+(Instant t, Nanos d) { return Instant(t.since_origin_ + d); }
  friend constexpr Instant operator-(Instant t, Nanos d) { return Instant(t.since_origin_ - d); }
  constexpr Instant& operator+=(Nanos d) { return *this = *this + d; }

 private:
  Nanos since_origin_{0};
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_TIME_H_
