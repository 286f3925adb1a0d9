#include "sched/fair_tags.h"

#include <algorithm>

#include "base/check.h"

namespace leeway::sched {

std::uint64_t FairTags::Next(StreamId stream) const {
  const std::size_t s = stream.value();
  return s < streams_.size() ? std::max(now_, streams_[s].finish) : now_;
}

void FairTags::Charge(StreamId stream, std::uint32_t weight, Nanos work) {
  LEEWAY_CHECK(weight >= 1);
  const std::uint64_t start = Next(stream);
  if (stream.value() >= streams_.size()) streams_.resize(stream.value() + 1);
  Stream& charged = streams_[stream.value()];
  const auto ns = static_cast<std::uint64_t>(std::max(work, Nanos{0}).count());
  const std::uint64_t whole = std::min(ns + charged.rest % weight, std::uint64_t{1} << 62);
  charged.finish = std::min(start + whole / weight, kLast);
  charged.rest = whole % weight;
  last_finish_ = std::max(last_finish_, charged.finish);
}

void FairTags::Serve(std::uint64_t start) { now_ = std::max(now_, start); }

void FairTags::Idle() { now_ = std::max(now_, last_finish_); }

}  // namespace leeway::sched
