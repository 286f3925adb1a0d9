// A request as the policy knows it, from submit to its one end.

#ifndef LEEWAY_SCHED_REQUEST_H_
#define LEEWAY_SCHED_REQUEST_H_

#include <cstdint>
#include <memory>
#include <string>

#include "leeway/time.h"
#include "leeway/types.h"
#include "sched/cost_table.h"
#include "sched/model.h"

namespace leeway::sched {

using StreamId = base::Id<struct StreamTag>;

// Rises with every submit.
using RequestId = std::uint64_t;

struct Request {
  RequestId id = 0;
  StreamId stream;
  Instant admitted;
  // Fixed at admission: smaller first. The slot is its coarse part (sched/order.h).
  std::uint64_t urgency = 0;
  std::uint64_t slot = 0;
  // The plan it is bound to, whatever the stream serves later. Versions tell a stream's plans
  // apart.
  std::shared_ptr<Model> model;
  std::uint32_t version = 0;
  DimValues dims;                    // Model::Alone of what was submitted
  GraphId graph;                     // bound on arrival; none while formation is first-come
  Instant expires = Instant::Max();  // until batched
  std::uint64_t user = 0;
  enum class State : std::uint8_t { kLive, kCancelled } state = State::kLive;
};

enum class TimeoutAction { kReject, kDelay };
enum class FallbackKind { kGeneric, kReject };

struct StreamSpec {
  std::string name;
  Priority priority{1};
  // Share of the device under a policy that is fair between streams; 0: by the priority.
  std::uint32_t weight = 0;
  // Requests that may wait, unbatched or for their turn to be told; one more is rejected. 0: no
  // bound.
  std::uint32_t max_queue_size = 0;
  // How long a request may wait unbatched; 0: for ever.
  Nanos timeout{0};
  TimeoutAction timeout_action = TimeoutAction::kReject;
  // Whether a request's own timeout counts in place of this one.
  bool allow_timeout_override = true;
  // Whether OK responses are told in the order of the submits (sched/response_order.h).
  bool preserve_ordering = false;
  // A request that is predicted to end later than this after its submit is rejected; 0: none is.
  Nanos admission_deadline{0};
  // What new requests bind to. Freed with the last request bound to it once Swap() has replaced it.
  std::shared_ptr<Model> model;
  std::uint32_t version = 0;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_REQUEST_H_
