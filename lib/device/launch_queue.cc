#include "device/launch_queue.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace leeway::device {

LaunchQueue::LaunchQueue(Nanos issue, std::uint32_t depth) : issue_(issue), depth_(depth) {
  LEEWAY_CHECK(issue >= Nanos{0} && depth >= 1);
}

void LaunchQueue::Ask(Call call, std::uint64_t urgency) {
  waiting_.push_back({urgency, asked_++, call});
}

void LaunchQueue::Drop(Call call) {
  if (issuing_ && issuing_->call == call) {
    issuing_->call.reset();
    return;
  }
  const auto found = std::find_if(waiting_.begin(), waiting_.end(),
                                  [&](const Waiting& waiting) { return waiting.call == call; });
  LEEWAY_CHECK(found != waiting_.end());
  waiting_.erase(found);
}

void LaunchQueue::Ended() {
  LEEWAY_CHECK(in_flight_ > 0);
  --in_flight_;
}

void LaunchQueue::Begin(Instant now) {
  const auto first =
      std::min_element(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
        return std::tie(a.urgency, a.number) < std::tie(b.urgency, b.number);
      });
  if (first == waiting_.end()) return;
  issuing_ = {first->call, now + issue_};
  waiting_.erase(first);
}

std::optional<LaunchQueue::Call> LaunchQueue::Next(Instant now) {
  while (true) {
    if (!issuing_) Begin(now);
    if (!issuing_ || issuing_->done > now || !HasPlace()) return std::nullopt;
    const std::optional<Call> call = std::exchange(issuing_, std::nullopt)->call;
    if (!call) continue;
    ++in_flight_;
    return call;
  }
}

Instant LaunchQueue::due() const {
  return issuing_ && HasPlace() ? issuing_->done : Instant::Max();
}

}  // namespace leeway::device
