// Work in the sense of the adaptation figures: what a request costs at the bucket it is bound to,
// alone, on the modelled device, whatever runs it in the end; and what it would cost at its own
// dims.
//
// Threading: one thread at a time.

#ifndef LEEWAY_EXEC_WORK_METER_H_
#define LEEWAY_EXEC_WORK_METER_H_

#include "absl/container/flat_hash_map.h"
#include "leeway/status.h"
#include "leeway/time.h"
#include "sched/model.h"

namespace leeway::exec {

struct RequestWork {
  Nanos at_bucket{0};
  Nanos at_dims{0};
};

class WorkMeter {
 public:
  explicit WorkMeter(sched::Model& model) : model_(model) {}

  // `submitted` by the plan's dim index. The cost model's errors.
  Result<RequestWork> Of(std::span<const std::int64_t> submitted);

 private:
  static constexpr std::size_t kMaxRemembered = 1 << 16;

  sched::Model& model_;
  absl::flat_hash_map<sched::DimValues, RequestWork> remembered_;
};

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_WORK_METER_H_
