#include "exec/round_skipper.h"

#include <algorithm>
#include <utility>

namespace leeway::exec {

RoundSkipper::Mark RoundSkipper::Take() const {
  Mark mark{scheduler_.last_round(), world_.Now(), world_.TakeMark(), scheduler_.counters(), {}};
  if (attributor_ != nullptr) mark.attribution = attributor_->TakeMark(mark.round.run);
  return mark;
}

void RoundSkipper::OnRound(Instant next) {
  const std::uint64_t begun =
      scheduler_.last_round().number - std::exchange(seen_, scheduler_.last_round().number);
  // Several at one instant nest, or the last took no time: the state between them is not known.
  if (begun != 1 || !scheduler_.alone() || !world_.calm()) return before_.reset();
  Mark now = Take();
  const bool alike = before_ && before_->round.run == now.round.run &&
                     before_->round.generation == now.round.generation &&
                     before_->round.frame == now.round.frame && before_->world.Alike(now.world);
  const std::int64_t left = scheduler_.rounds_left(now.round);
  const Nanos period = before_ ? now.at - before_->at : Nanos{0};
  if (!alike || left == 0 || period <= Nanos{0}) {
    before_ = std::move(now);
    return;
  }
  // What comes in at the very instant at which a repetition begins is met before it begins.
  next = std::min(next, world_.next_timer());
  std::int64_t rounds = left;
  rounds = std::min(rounds, (next - now.at - Nanos{1}).count() / period.count());
  if (rounds > 0) {
    scheduler_.Repeat(now.round, rounds, period, before_->counters);
    world_.Repeat(rounds, period, before_->world);
    if (attributor_ != nullptr) attributor_->Repeat(now.round.run, rounds, *before_->attribution);
  }
  before_.reset();
}

}  // namespace leeway::exec
