#include "device/launch_queue.h"

#include <algorithm>

#include "base/check.h"

namespace leeway::device {

LaunchQueue::LaunchQueue(Nanos issue, std::uint32_t depth) : issue_(issue), depth_(depth) {
  LEEWAY_CHECK(issue >= Nanos{0} && depth >= 1);
}

LaunchQueue::Call LaunchQueue::Issue(Instant now, Nanos kernel) {
  Call call;
  Instant issued = std::max(now, host_free_) + issue_;
  while (!ends_.empty() && ends_.front() <= issued) ends_.pop_front();
  if (ends_.size() >= depth_) {
    call.blocked = true;
    issued = ends_.front();
    ends_.pop_front();
  }
  call.returns = host_free_ = issued;
  call.starts = std::max(issued, device_free_);
  call.ends = device_free_ = call.starts + kernel;
  ends_.push_back(call.ends);
  call.in_flight = static_cast<std::uint32_t>(ends_.size());
  return call;
}

}  // namespace leeway::device
