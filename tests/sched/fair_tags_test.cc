#include "sched/fair_tags.h"

#include <cmath>
#include <deque>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::sched {
namespace {

struct Waiting {
  std::uint64_t start = 0;
  std::int64_t work = 0;
};

// One server that takes the smallest start tag; streams that always wait.
struct Server {
  FairTags tags;
  std::vector<std::uint32_t> weights;
  std::vector<std::deque<Waiting>> queues;
  std::vector<std::int64_t> served;

  void Arrive(std::size_t stream, std::int64_t work) {
    queues[stream].push_back({tags.Next(StreamId(stream)), work});
    tags.Charge(StreamId(stream), weights[stream], Nanos{work});
  }
  std::size_t ServeOne() {
    std::size_t next = queues.size();
    for (std::size_t s = 0; s < queues.size(); ++s) {
      if (queues[s].empty()) continue;
      if (next == queues.size() || queues[s].front().start < queues[next].front().start) next = s;
    }
    tags.Serve(queues[next].front().start);
    served[next] += queues[next].front().work;
    queues[next].pop_front();
    return next;
  }
};

}  // namespace

TEST_CASE("streams that wait are served by weight, to within their longest requests",
          "[sched][fair_tags][property]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  base::Prng prng(seed);
  Server server;
  const std::size_t streams = 2 + prng.Below(4);
  constexpr std::int64_t kLongest = 1000;
  for (std::size_t s = 0; s < streams; ++s) {
    server.weights.push_back(1 + static_cast<std::uint32_t>(prng.Below(20)));
  }
  server.queues.resize(streams);
  server.served.resize(streams);
  const auto arrive = [&](std::size_t s) {
    server.Arrive(s, 1 + static_cast<std::int64_t>(prng.Below(kLongest)));
  };
  for (std::size_t s = 0; s < streams; ++s) {
    arrive(s);
    arrive(s);
  }
  for (int i = 0; i < 3000; ++i) {
    arrive(server.ServeOne());
    // Theorem 1 of the paper, for every pair of streams and the time since the start.
    for (std::size_t a = 0; a < streams; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const double wa = server.weights[a], wb = server.weights[b];
        const double apart = std::abs(static_cast<double>(server.served[a]) / wa -
                                      static_cast<double>(server.served[b]) / wb);
        REQUIRE(apart <= kLongest / wa + kLongest / wb + 2);
      }
    }
  }
}

TEST_CASE("a stream that was idle neither saves up nor owes", "[sched][fair_tags]") {
  FairTags tags;
  const StreamId a(0), b(1);
  for (int i = 0; i < 10; ++i) tags.Charge(a, 1, Nanos{100});
  CHECK(tags.Next(a) == 1000);
  tags.Serve(900);
  // It begins with what is being served, not at 0.
  CHECK(tags.Next(b) == 900);
  tags.Charge(b, 2, Nanos{100});
  CHECK(tags.Next(b) == 950);
  // All is served: the two are equals again.
  tags.Idle();
  CHECK(tags.Next(a) == 1000);
  CHECK(tags.Next(b) == 1000);
}

TEST_CASE("no work is lost to the division by a weight", "[sched][fair_tags]") {
  FairTags tags;
  for (int i = 0; i < 3000; ++i) tags.Charge(StreamId(0), 3, Nanos{1});
  CHECK(tags.Next(StreamId(0)) == 1000);
}

TEST_CASE("tags end at their last and stay in order", "[sched][fair_tags]") {
  FairTags tags;
  tags.Charge(StreamId(0), 1, Nanos::max());
  CHECK(tags.Next(StreamId(0)) == FairTags::kLast);
  tags.Charge(StreamId(0), 1, Nanos::max());
  CHECK(tags.Next(StreamId(0)) == FairTags::kLast);
}

}  // namespace leeway::sched
