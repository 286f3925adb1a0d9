// f: the work of serving one request of a length, under the best bucket that covers it.
//
// f(s) = min over the aligned edges b >= s of the domain of CoreTime(b). It never falls, although
// single edges may cost less than shorter ones where a tiling of less traffic takes over; a
// compiler that wants f pads to the edge that attains it.
//
// Threading: immutable; any thread may read.

#ifndef LEEWAY_COMPILE_WORK_CURVE_H_
#define LEEWAY_COMPILE_WORK_CURVE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "compile/compiler.h"
#include "leeway/status.h"
#include "leeway/time.h"

namespace leeway::compile {

class WorkCurve {
 public:
  // Costs every multiple of `align` in the dim's domain, and the domain's end. `polled` is called
  // now and then and ends the work with kCancelled when it returns false; it may be empty.
  // kInvalidArgument for align < 1, kResourceExhausted for more than 2^20 edges (align more);
  // the compiler's errors.
  static Result<WorkCurve> Make(Compiler& compiler, std::int64_t align,
                                const std::function<bool()>& polled = {});

  // Requires min <= length <= max.
  Nanos operator()(std::int64_t length) const { return work_[Slot(length)]; }
  // The edge that attains f(length): the smallest of equals.
  std::int64_t EdgeFor(std::int64_t length) const { return edge_[Slot(length)]; }

  std::int64_t min() const { return min_; }
  std::int64_t max() const { return max_; }

 private:
  std::size_t Slot(std::int64_t length) const;

  std::int64_t min_ = 1, max_ = 1, align_ = 1;
  std::vector<Nanos> work_;         // by aligned edge, rising
  std::vector<std::int64_t> edge_;  // by aligned edge
};

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_WORK_CURVE_H_
