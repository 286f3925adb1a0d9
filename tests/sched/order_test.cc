#include "sched/order.h"

#include "tests/catch.h"

namespace leeway::sched {
namespace {

constexpr StreamId kStream(0);
Instant At(std::int64_t ns) { return Instant(Nanos{ns}); }

}  // namespace

TEST_CASE("by leeway urgency is admission and an interval a level, near the most urgent live one",
          "[sched][order]") {
  Order order(Policy::kLeeway, Nanos{1000});
  CHECK(order.Admit(At(0), kStream, Priority(1)) == 0);
  CHECK(order.Admit(At(999), kStream, Priority(3)) == 2999);
  CHECK(order.Admit(At(2500), kStream, Priority(1)) == 2500);
  // At most 63 intervals behind: of the oldest, then of the next.
  CHECK(order.Admit(At(500'000), kStream, Priority(1)) == 63'000);
  order.Left(0);
  CHECK(order.Admit(At(500'000), kStream, Priority(1)) == 65'500);
}

TEST_CASE("a slot is the interval of the admission and the level less one", "[sched][order]") {
  Order order(Policy::kLeeway, Nanos{1000});
  for (int level : {1, 2, 5}) {
    for (std::int64_t at : {0, 1, 999, 1000, 1001, 2500}) {
      const std::uint64_t urgency = order.Admit(At(at), kStream, Priority(level));
      CHECK(order.SlotOf(urgency) == static_cast<std::uint64_t>(at / 1000 + level - 1));
    }
  }
}

TEST_CASE("the longest interval and the last instant keep keys valid and ordered",
          "[sched][order]") {
  Order order(Policy::kLeeway, Nanos::max());
  const Instant last = At(std::int64_t{1} << 53);
  const std::uint64_t urgent = order.Admit(last, kStream, Priority(1));
  const std::uint64_t late = order.Admit(last, kStream, Priority(Priority::kLeastUrgent));
  CHECK(order.KeyOf(late, 0).valid());
  CHECK(order.KeyOf(urgent, 0) < order.KeyOf(late, kCriticalities - 1));
}

TEST_CASE("fifo and lifo-steal know no priorities", "[sched][order]") {
  const Policy policy = GENERATE(Policy::kFifo, Policy::kLifoSteal);
  Order order(policy, Nanos{1000});
  const std::uint64_t first = order.Admit(At(0), kStream, Priority(5));
  CHECK(order.Admit(At(90'000), kStream, Priority(1)) == first);
}

TEST_CASE("step keys follow the policy", "[sched][order]") {
  Order leeway(Policy::kLeeway, Nanos{1000}), fifo(Policy::kFifo, Nanos{1000}),
      lifo(Policy::kLifoSteal, Nanos{1000}), wfq(Policy::kWfq, Nanos{1000});
  const auto keys = [](Order& order) {
    const Key critical = order.KeyOf(4, 60);
    order.Readied();
    const Key urgent = order.KeyOf(3, 1);
    order.Readied();
    return std::pair(critical, urgent);
  };
  const auto [c1, u1] = keys(leeway);
  CHECK(u1 < c1);
  CHECK(leeway.KeyOf(4, 60) == c1);
  const auto [c2, u2] = keys(wfq);
  CHECK(u2 < c2);
  CHECK(wfq.KeyOf(4, 61) < c2);
  const auto [c3, u3] = keys(fifo);
  CHECK(c3 < u3);
  const auto [c4, u4] = keys(lifo);
  CHECK(u4 < c4);
  for (Key key : {c1, c2, c3, c4}) CHECK(key.valid());
}

TEST_CASE("a stream's weight is what it was given, else half for each level of priority",
          "[sched][order]") {
  StreamSpec spec;
  CHECK(WeightOf(spec) == 1024);
  spec.priority = Priority(2);
  CHECK(WeightOf(spec) == 512);
  spec.priority = Priority(11);
  CHECK(WeightOf(spec) == 1);
  spec.priority = Priority(63);
  CHECK(WeightOf(spec) == 1);
  spec.weight = 7;
  CHECK(WeightOf(spec) == 7);
}

TEST_CASE("policies have names, and only those", "[sched][order]") {
  for (Policy policy : kPolicies) CHECK(PolicyNamed(PolicyName(policy)) == policy);
  CHECK_FALSE(PolicyNamed("lifo"));
  CHECK_FALSE(PolicyNamed(""));
}

}  // namespace leeway::sched
