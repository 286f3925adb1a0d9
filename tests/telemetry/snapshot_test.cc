#include "telemetry/snapshot.h"

#include <limits>
#include <string>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/telemetry/random_snapshot.h"

namespace leeway::telemetry {
namespace {

using testing::RandomSnapshot;

Snapshot Merged(Snapshot a, const Snapshot& b) {
  const Status status = a.Merge(b);
  INFO(status.ToString());
  REQUIRE(status.ok());
  return a;
}

std::string Bytes(const Snapshot& snapshot) {
  const Result<std::string> bytes = snapshot.Serialize();
  INFO(bytes.status().ToString());
  REQUIRE(bytes.ok());
  return *bytes;
}

Snapshot Covering(std::int64_t start, std::uint64_t first, std::uint64_t last) {
  Snapshot s;
  s.origin = Origin::kMeasured;
  s.ranges = {{"a", start, first, last}};
  s.counters.steps = 1;
  return s;
}

}  // namespace

TEST_CASE("merging is associative and commutative byte for byte", "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Snapshot a = RandomSnapshot(prng, "a");
  const Snapshot b = RandomSnapshot(prng, "b");
  const Snapshot c = RandomSnapshot(prng, "c");
  const std::string left = Bytes(Merged(Merged(a, b), c));
  REQUIRE(left == Bytes(Merged(a, Merged(b, c))));
  REQUIRE(left == Bytes(Merged(Merged(c, b), a)));
  REQUIRE(left == Bytes(Merged(Merged(b, Snapshot()), Merged(Merged(Snapshot(), a), c))));
  const Snapshot whole = Merged(a, Merged(b, c));
  REQUIRE(whole.counters.submitted ==
          a.counters.submitted + b.counters.submitted + c.counters.submitted);
  REQUIRE(whole.counters.Balanced());
}

TEST_CASE("parsing what was serialized gives the canonical form", "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  base::Prng prng(seed);
  Snapshot snapshot = RandomSnapshot(prng, "a");
  const std::string bytes = Bytes(snapshot);
  REQUIRE(snapshot.Canonicalise().ok());
  const Result<Snapshot> parsed = Snapshot::Parse(bytes);
  INFO(parsed.status().ToString());
  REQUIRE(parsed.ok());
  REQUIRE(*parsed == snapshot);
  REQUIRE(Bytes(*parsed) == bytes);
}

TEST_CASE("an empty snapshot survives the round trip", "[telemetry][unit]") {
  REQUIRE(Snapshot::Parse(Bytes(Snapshot())).value() == Snapshot());
  REQUIRE(Snapshot::Parse("").value() == Snapshot());
}

TEST_CASE("the same range twice is refused, and nothing changes", "[telemetry][unit]") {
  Snapshot a = Covering(7, 10, 20);
  const Snapshot before = a;
  const Status status = a.Merge(Covering(7, 20, 25));
  REQUIRE(status.code() == StatusCode::kAlreadyExists);
  REQUIRE(std::string(status.message()) ==
          "replica \"a\" started at 7: sequences 20 to 20 are covered twice");
  REQUIRE(a == before);
  REQUIRE(a.Merge(before).code() == StatusCode::kAlreadyExists);
  // One inside the other, with a third between them in the order.
  Snapshot wide = Merged(Covering(7, 1, 1), Covering(7, 30, 99));
  REQUIRE(wide.Merge(Covering(7, 40, 41)).code() == StatusCode::kAlreadyExists);
}

TEST_CASE("adjacent ranges become one; gaps and restarts are listed", "[telemetry][unit]") {
  const Snapshot adjacent = Merged(Covering(7, 10, 20), Covering(7, 21, 30));
  REQUIRE(adjacent.ranges == std::vector<ReplicaRange>{{"a", 7, 10, 30}});
  REQUIRE(adjacent.Discontinuities().empty());

  const Snapshot gap = Merged(Covering(9, 1, 4), Merged(Covering(7, 40, 50), adjacent));
  Discontinuity missing{Discontinuity::Kind::kGap, "a", 7, 31, 39};
  Discontinuity restart{Discontinuity::Kind::kRestart, "a", 9, 0, 0};
  REQUIRE(gap.Discontinuities() == std::vector<Discontinuity>{missing, restart});
  // The missing part fills the gap.
  REQUIRE(Merged(gap, Covering(7, 31, 39)).Discontinuities() ==
          std::vector<Discontinuity>{restart});
}

TEST_CASE("what does not belong together does not merge", "[telemetry][unit]") {
  const Snapshot a = Covering(7, 1, 2);
  const auto refused = [&a](auto change) {
    Snapshot b = Covering(8, 1, 2);
    change(b);
    return Snapshot(a).Merge(b).code();
  };
  CHECK(refused([](Snapshot&) {}) == StatusCode::kOk);
  CHECK(refused([](Snapshot& b) { b.origin = Origin::kEmulated; }) ==
        StatusCode::kFailedPrecondition);
  CHECK(refused([](Snapshot& b) { b.plan_digest = std::string(32, 'x'); }) ==
        StatusCode::kFailedPrecondition);
  CHECK(refused([](Snapshot& b) { b.device_digest = std::string(32, 'x'); }) ==
        StatusCode::kFailedPrecondition);
  CHECK(refused([](Snapshot& b) { b.ranges.clear(); }) == StatusCode::kFailedPrecondition);
}

TEST_CASE("a sum that overflows is refused by name, and nothing changes", "[telemetry][unit]") {
  Snapshot a = Covering(7, 1, 2);
  a.counters.steps = std::numeric_limits<std::uint64_t>::max();
  const Snapshot before = a;
  const Status steps = a.Merge(Covering(8, 1, 2));
  CHECK(steps.code() == StatusCode::kOutOfRange);
  CHECK(std::string(steps.message()) == "the sum of steps exceeds 64 bits");
  CHECK(a == before);

  Snapshot b = Covering(7, 1, 2);
  Snapshot c = Covering(8, 1, 2);
  b.cores = {{"core", Nanos::max(), 0, 0, 0}};
  c.cores = {{"core", Nanos(1), 0, 0, 0}};
  CHECK(b.Merge(c).code() == StatusCode::kOutOfRange);

  b = Covering(7, 1, 2);
  b.streams.resize(1);
  b.streams[0].latency_ns.Record(std::numeric_limits<std::int64_t>::max() - 1);
  c = b;
  c.ranges[0].start_unix_ns = 8;
  CHECK(b.Merge(c).code() == StatusCode::kOutOfRange);
}

TEST_CASE("the balance names the stream that does not balance", "[telemetry][unit]") {
  Snapshot s;
  s.streams.resize(2);
  s.streams[0].name = "chat";
  s.streams[0].counters.submitted = s.streams[0].counters.ok = 3;
  s.streams[1].name = "bulk";
  s.streams[1].counters.submitted = 2;
  s.streams[1].counters.in_flight = s.streams[1].counters.expired = 1;
  s.counters.submitted = 5;
  s.counters.ok = 3;
  s.counters.in_flight = s.counters.expired = 1;
  CHECK(s.CheckBalance().ok());
  s.streams[1].counters.expired = 0;
  CHECK(std::string(s.CheckBalance().message()) ==
        "stream \"bulk\": submitted 2 is not ok 0 + rejected 0 + expired 0 + cancelled 0 + "
        "failed 0 + in_flight 1");
  s.streams.pop_back();
  CHECK(std::string(s.CheckBalance().message()) ==
        "all streams: submitted 5 is not the streams' sum 3");
  s.counters.ok = std::numeric_limits<std::uint64_t>::max();
  s.counters.submitted = 1;
  CHECK_FALSE(s.CheckBalance().ok());
}

}  // namespace leeway::telemetry
