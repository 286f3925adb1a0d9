#include "sched/order.h"

#include "tests/catch.h"

namespace leeway::sched {
namespace {

constexpr StreamId kStream(0);
Instant At(std::int64_t ns) { return Instant(Nanos{ns}); }

}  // namespace

TEST_CASE("by leeway a slot is the admission's interval and the priority, near the oldest live one",
          "[sched][order]") {
  Order order(Policy::kLeeway, Nanos{1000});
  CHECK(order.Admit(At(0), kStream, Priority(1)) == 0);
  CHECK(order.Admit(At(999), kStream, Priority(3)) == 2);
  CHECK(order.Admit(At(2500), kStream, Priority(1)) == 2);
  // The oldest live slot is 0, then 2.
  CHECK(order.Admit(At(500'000), kStream, Priority(1)) == 63);
  order.Left(0);
  CHECK(order.Admit(At(500'000), kStream, Priority(1)) == 65);
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
