#include "telemetry/wait_clock.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"

namespace leeway::telemetry {
namespace {

constexpr std::size_t kWordBits = 64;

std::vector<std::uint64_t> MaskOf(const std::vector<std::uint32_t>& cores, std::size_t count) {
  std::vector<std::uint64_t> mask((count + kWordBits - 1) / kWordBits);
  for (std::uint32_t core : cores) {
    LEEWAY_CHECK(core < count);
    mask[core / kWordBits] |= std::uint64_t{1} << (core % kWordBits);
  }
  return mask;
}

}  // namespace

WaitClock::WaitClock(std::size_t cores, std::vector<Domain> domains)
    : cores_(cores), running_slot_(cores), idle_mask_((cores + kWordBits - 1) / kWordBits) {
  for (std::size_t core = 0; core < cores; ++core) {
    idle_mask_[core / kWordBits] |= std::uint64_t{1} << (core % kWordBits);
  }
  for (Domain& domain : domains) AddDomain(std::move(domain));
}

std::size_t WaitClock::AddDomain(Domain domain) {
  DomainState state;
  state.allowed_mask = MaskOf(domain.allowed, cores_.size());
  state.class_mask = MaskOf(domain.of_class, cores_.size());
  state.allowed = std::move(domain.allowed);
  domains_.push_back(std::move(state));
  return domains_.size() - 1;
}

void WaitClock::Started(Instant now, std::uint32_t core, std::uint64_t slot) {
  Advance(now);
  Core& c = cores_[core];
  if (c.steps++ > 0) return c.queued.push_back(slot);
  running_slot_[core] = slot;
  idle_mask_[core / kWordBits] &= ~(std::uint64_t{1} << (core % kWordBits));
  ++changes_;
}

void WaitClock::Ended(Instant now, std::uint32_t core) {
  Advance(now);
  Core& c = cores_[core];
  LEEWAY_CHECK(c.steps > 0);
  ++changes_;
  if (--c.steps > 0) {
    running_slot_[core] = c.queued.front();
    c.queued.erase(c.queued.begin());
    return;
  }
  idle_mask_[core / kWordBits] |= std::uint64_t{1} << (core % kWordBits);
}

void WaitClock::Hold(Instant now, std::size_t domain, std::uint64_t slot) {
  Advance(now);
  ++Find(now, domain, slot).held;
  domains_[domain].stale = true;
}

void WaitClock::Unhold(Instant now, std::size_t domain, std::uint64_t slot) {
  Advance(now);
  Waiting& waiting = Find(now, domain, slot);
  LEEWAY_CHECK(waiting.held > 0);
  --waiting.held;
  domains_[domain].stale = true;
  DropIfUnused(domain, waiting);
}

WaitClock::Reading WaitClock::Enter(Instant now, std::size_t domain, std::uint64_t slot) {
  Advance(now);
  Waiting& waiting = Find(now, domain, slot);
  ++waiting.steps;
  return Read(now, waiting);
}

WaitClock::Reading WaitClock::Leave(Instant now, std::size_t domain, std::uint64_t slot,
                                    const Reading& entered) {
  Advance(now);
  Waiting& waiting = Find(now, domain, slot);
  LEEWAY_CHECK(waiting.steps > 0);
  Reading parts = Read(now, waiting);
  for (std::size_t i = 0; i < kClasses; ++i) parts[i] -= entered[i];
  --waiting.steps;
  DropIfUnused(domain, waiting);
  return parts;
}

void WaitClock::AddTo(const Reading& parts, Attribution& attribution) {
  constexpr std::array<Cause, kClasses> kCauses = {Cause::kDispatch, Cause::kCoreImbalance,
                                                   Cause::kLowerPriorityInFlight,
                                                   Cause::kHigherPriority, Cause::kCapacity};
  for (std::size_t i = 0; i < kClasses; ++i) attribution[kCauses[i]] += parts[i];
}

void WaitClock::Advance(Instant now) {
  if (now == updated_) return;
  LEEWAY_CHECK(now > updated_);
  for (std::size_t domain : live_) {
    DomainState& d = domains_[domain];
    if (d.viewed != changes_ || d.stale) Reclassify(d);
  }
  updated_ = now;
}

void WaitClock::Reclassify(DomainState& domain) {
  const View view = ViewOf(domain);
  domain.viewed = changes_;
  if (view == domain.view && !domain.stale) return;
  domain.view = view;
  domain.stale = false;
  for (Waiting& waiting : domain.waiting) {
    const Class next = ClassOf(view, waiting);
    if (next == waiting.current) continue;
    waiting.spent[static_cast<std::size_t>(waiting.current)] += updated_ - waiting.since;
    waiting.since = updated_;
    waiting.current = next;
  }
}

WaitClock::View WaitClock::ViewOf(const DomainState& domain) const {
  View view;
  std::uint64_t allowed_idle = 0, class_idle = 0;
  for (std::size_t word = 0; word < idle_mask_.size(); ++word) {
    allowed_idle |= idle_mask_[word] & domain.allowed_mask[word];
    class_idle |= idle_mask_[word] & domain.class_mask[word];
  }
  if (allowed_idle != 0) {
    view.cores = View::Cores::kAllowedIdle;
  } else if (class_idle != 0) {
    view.cores = View::Cores::kOtherIdle;
  } else {
    view.smallest_slot = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t core : domain.allowed) {
      view.smallest_slot = std::min(view.smallest_slot, running_slot_[core]);
      view.largest_slot = std::max(view.largest_slot, running_slot_[core]);
    }
  }
  return view;
}

WaitClock::Class WaitClock::ClassOf(const View& view, const Waiting& waiting) {
  switch (view.cores) {
    case View::Cores::kAllowedIdle:
      return waiting.held > 0 ? Class::kImbalance : Class::kDispatch;
    case View::Cores::kOtherIdle:
      return Class::kImbalance;
    case View::Cores::kBusy:
      break;
  }
  if (view.largest_slot > waiting.slot) return Class::kLowerInFlight;
  if (view.smallest_slot < waiting.slot) return Class::kHigherPriority;
  return Class::kCapacity;
}

WaitClock::Waiting& WaitClock::Find(Instant now, std::size_t domain, std::uint64_t slot) {
  DomainState& d = domains_[domain];
  for (Waiting& waiting : d.waiting) {
    if (waiting.slot == slot) return waiting;
  }
  if (d.waiting.empty()) live_.push_back(domain);
  Waiting waiting;
  waiting.slot = slot;
  waiting.since = now;
  d.waiting.push_back(waiting);
  d.stale = true;
  return d.waiting.back();
}

void WaitClock::DropIfUnused(std::size_t domain, Waiting& waiting) {
  if (waiting.steps > 0 || waiting.held > 0) return;
  std::vector<Waiting>& all = domains_[domain].waiting;
  waiting = all.back();
  all.pop_back();
  if (all.empty()) live_.erase(std::find(live_.begin(), live_.end(), domain));
}

WaitClock::Reading WaitClock::Read(Instant now, const Waiting& waiting) {
  Reading reading = waiting.spent;
  reading[static_cast<std::size_t>(waiting.current)] += now - waiting.since;
  return reading;
}

}  // namespace leeway::telemetry
