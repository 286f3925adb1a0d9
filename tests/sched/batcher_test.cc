#include "sched/batcher.h"

#include <algorithm>
#include <deque>
#include <map>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/support/task_graphs.h"

namespace leeway::sched {
namespace {

using leeway::testing::Task;
using leeway::testing::TaskGraph;

// A model with buckets 16 and 48 of seq, for batches of up to 4 and 8.
struct Fixture {
  DomainTable domains;
  std::shared_ptr<Model> model;
  std::vector<StreamSpec> streams;
  RequestId next = 0;

  Fixture() {
    const TaskGraph one = {Task{100, {}, plan::PlacementMode::kAny, {}, 1, 0}};
    const TaskGraph two = {Task{200, {}, plan::PlacementMode::kAny, {}, 1, 0}};
    model = Model::Create(leeway::testing::PlanOf({{"s", 16, 4, one}, {"t", 48, 8, two}}),
                          leeway::testing::DeviceOf({}), "", 2, domains)
                .value();
    for (int s = 0; s < 2; ++s) {
      StreamSpec spec;
      spec.name = "s" + std::to_string(s);
      spec.priority = Priority(s + 1);
      spec.model = model;
      streams.push_back(spec);
    }
  }

  Request Make(std::int64_t at, std::int64_t seq, std::size_t stream = 0, std::uint64_t slot = 0) {
    Request request;
    request.id = next++;
    request.stream = StreamId(stream);
    request.admitted = Instant(Nanos{at});
    request.slot = slot;
    request.model = model;
    request.dims = {seq, 1};
    request.graph = model->Bind(request.dims).value().value_or(model->generic());
    return request;
  }
};

std::vector<RequestId> Ids(const Batch& batch) {
  std::vector<RequestId> ids;
  for (const Request& member : batch.members) ids.push_back(member.id);
  return ids;
}

std::optional<Batch> CloseAt(Batcher& batcher, std::int64_t at) {
  (void)batcher.Advance(Instant(Nanos{at}));
  return batcher.Close();
}

}  // namespace

TEST_CASE("a batch never mixes variants or streams, and its dims are the members' combined ones",
          "[sched][batcher]") {
  Fixture f;
  Batcher batcher(BatchPolicy{}, f.streams);
  batcher.Add(f.Make(0, 10));
  batcher.Add(f.Make(0, 40));
  batcher.Add(f.Make(0, 12, 1));
  batcher.Add(f.Make(0, 16));
  const auto first = CloseAt(batcher, 0);
  REQUIRE(first);
  CHECK(Ids(*first) == std::vector<RequestId>{0, 3});
  CHECK(first->dims == DimValues{16, 2});
  CHECK(Ids(CloseAt(batcher, 0).value()) == std::vector<RequestId>{1});
  CHECK(Ids(CloseAt(batcher, 0).value()) == std::vector<RequestId>{2});
  CHECK_FALSE(CloseAt(batcher, 0));
}

TEST_CASE("a batch is no larger than its variant covers", "[sched][batcher]") {
  Fixture f;
  Batcher batcher(BatchPolicy{}, f.streams);
  for (int i = 0; i < 6; ++i) batcher.Add(f.Make(0, 5));
  CHECK(CloseAt(batcher, 0)->members.size() == 4);
  CHECK(CloseAt(batcher, 0)->members.size() == 2);
}

TEST_CASE("a sub-queue is due when full, when preferred, or when its oldest has waited the delay",
          "[sched][batcher]") {
  Fixture f;
  BatchPolicy policy;
  policy.max_batch_size = 4;
  policy.preferred_batch_size = {2};
  policy.max_queue_delay = Nanos{100};
  Batcher batcher(policy, f.streams);
  batcher.Add(f.Make(0, 40));
  CHECK_FALSE(CloseAt(batcher, 99));
  CHECK(batcher.next_timer() == Instant(Nanos{100}));
  batcher.Add(f.Make(99, 40));
  CHECK(CloseAt(batcher, 99)->members.size() == 2);
  batcher.Add(f.Make(100, 40));
  CHECK_FALSE(CloseAt(batcher, 199));
  CHECK(CloseAt(batcher, 200)->members.size() == 1);
  // Three are there: the preferred two go, the third waits on.
  for (int i = 0; i < 3; ++i) batcher.Add(f.Make(300, 40));
  CHECK(CloseAt(batcher, 300)->members.size() == 2);
  CHECK_FALSE(CloseAt(batcher, 300));
  CHECK(batcher.waiting() == 1);
}

TEST_CASE("of the due, the smallest slot goes first, then the oldest", "[sched][batcher]") {
  Fixture f;
  Batcher batcher(BatchPolicy{}, f.streams);
  batcher.Add(f.Make(0, 5, 0, 7));
  batcher.Add(f.Make(1, 40, 0, 3));
  batcher.Add(f.Make(2, 5, 1, 3));
  CHECK(Ids(*CloseAt(batcher, 5)) == std::vector<RequestId>{1});
  CHECK(Ids(*CloseAt(batcher, 5)) == std::vector<RequestId>{2});
  CHECK(Ids(*CloseAt(batcher, 5)) == std::vector<RequestId>{0});
}

TEST_CASE("requests that no variant covers run one by one", "[sched][batcher]") {
  Fixture f;
  Batcher batcher(BatchPolicy{}, f.streams);
  batcher.Add(f.Make(0, 60));
  batcher.Add(f.Make(0, 61));
  const auto first = CloseAt(batcher, 0);
  REQUIRE(first);
  CHECK(first->graph == f.model->generic());
  CHECK(first->members.size() == 1);
}

TEST_CASE("first come, first served batches run in the variant that covers the largest member",
          "[sched][batcher]") {
  Fixture f;
  BatchPolicy policy;
  policy.formation = BatchPolicy::Formation::kFirstCome;
  Batcher batcher(policy, f.streams);
  for (std::int64_t seq : {5, 40, 6}) {
    Request request = f.Make(0, seq);
    request.graph = GraphId::None();
    batcher.Add(std::move(request));
  }
  const auto batch = CloseAt(batcher, 0);
  REQUIRE(batch);
  CHECK(Ids(*batch) == std::vector<RequestId>{0, 1, 2});
  CHECK(batch->graph == GraphId(1));
  CHECK(batch->dims == DimValues{40, 3});
}

TEST_CASE("an expired request leaves its sub-queue and the next one takes its place",
          "[sched][batcher]") {
  Fixture f;
  BatchPolicy policy;
  policy.max_queue_delay = Nanos{1000};
  Batcher batcher(policy, f.streams);
  Request first = f.Make(0, 5);
  first.expires = Instant(Nanos{50});
  batcher.Add(std::move(first));
  batcher.Add(f.Make(10, 5));
  CHECK(batcher.next_timer() == Instant(Nanos{50}));
  const std::vector<Request> expired = batcher.Advance(Instant(Nanos{50}));
  REQUIRE(expired.size() == 1);
  CHECK(expired[0].id == 0);
  CHECK(batcher.waiting(StreamId(0)) == 1);
  CHECK_FALSE(CloseAt(batcher, 1009));
  CHECK(Ids(*CloseAt(batcher, 1010)) == std::vector<RequestId>{1});
}

namespace {

// The second gives up first, so that the first goes behind it.
void AddDelayed(Fixture& fixture, Batcher& batcher) {
  for (const auto& [at, expires] : {std::pair(0, 300), std::pair(50, 100)}) {
    Request request = fixture.Make(at, 8);
    request.expires = Instant(Nanos{expires});
    batcher.Add(std::move(request));
  }
}

}  // namespace

TEST_CASE("delayed requests count by their age, whichever was delayed first", "[sched][batcher]") {
  Fixture fixture;
  fixture.streams[0].timeout_action = TimeoutAction::kDelay;
  BatchPolicy policy;
  policy.max_queue_delay = Nanos{500};
  Batcher batcher(policy, fixture.streams);
  AddDelayed(fixture, batcher);
  // Younger than the first and older than the second, on another sub-queue.
  Request other = fixture.Make(20, 40);
  const RequestId other_id = other.id;
  batcher.Add(std::move(other));
  CHECK(batcher.Advance(Instant(Nanos{300})).empty());
  CHECK(batcher.next_timer() == Instant(Nanos{500}));
  CHECK_FALSE(CloseAt(batcher, 499));
  CHECK(Ids(*CloseAt(batcher, 520)) == std::vector<RequestId>{1, 0});
  CHECK(Ids(*CloseAt(batcher, 520)) == std::vector<RequestId>{other_id});
}

TEST_CASE("a delayed request that is cancelled leaves the age to the next", "[sched][batcher]") {
  Fixture fixture;
  fixture.streams[0].timeout_action = TimeoutAction::kDelay;
  BatchPolicy policy;
  policy.max_queue_delay = Nanos{500};
  Batcher batcher(policy, fixture.streams);
  AddDelayed(fixture, batcher);
  (void)batcher.Advance(Instant(Nanos{300}));
  CHECK(batcher.Remove(0).has_value());
  CHECK(batcher.next_timer() == Instant(Nanos{550}));
  CHECK(Ids(*CloseAt(batcher, 550)) == std::vector<RequestId>{1});
  CHECK(batcher.waiting() == 0);
}

TEST_CASE("a sub-queue that can hold no more than its variant covers is full at that",
          "[sched][batcher]") {
  Fixture f;
  BatchPolicy policy;
  policy.max_queue_delay = Nanos{1000};
  Batcher batcher(policy, f.streams);
  for (int i = 0; i < 4; ++i) batcher.Add(f.Make(0, 5));
  const auto batch = CloseAt(batcher, 0);
  REQUIRE(batch);
  CHECK(batch->members.size() == 4);
}

TEST_CASE("a delay without end never ripens", "[sched][batcher]") {
  Fixture f;
  BatchPolicy policy;
  policy.max_queue_delay = Nanos::max();
  Batcher batcher(policy, f.streams);
  batcher.Add(f.Make(1000, 5));
  CHECK_FALSE(CloseAt(batcher, 1'000'000'000));
}

namespace {

// As Fixture, with a dim more whose values do not mix: rule EQUAL.
struct EqualFixture {
  DomainTable domains;
  std::shared_ptr<Model> model;
  std::vector<StreamSpec> streams;
  RequestId next = 0;

  static constexpr std::int64_t kValues = 1'000'000;

  EqualFixture() {
    const TaskGraph one = {Task{100, {}, plan::PlacementMode::kAny, {}, 1, 0}};
    auto body = std::make_shared<plan::Body>(*leeway::testing::PlanOf({{"v", 64, 8, one}}));
    body->dims.push_back({"adapter", 1, kValues, plan::Bind::kSubmit, BatchRule::kEqual});
    plan::Variant& variant = body->entries[0].variants[0];
    variant.envelope.push_back({1, 1, kValues, plan::ShapeMode::kDynamic, 1});
    variant.groups[0].profile[0].dims.push_back(1);
    model = Model::Create(body, leeway::testing::DeviceOf({}), "", 2, domains).value();
    StreamSpec spec;
    spec.name = "s";
    spec.model = model;
    streams.push_back(spec);
  }

  Request Make(std::int64_t at, std::int64_t adapter) {
    Request request;
    request.id = next++;
    request.stream = StreamId(0);
    request.admitted = Instant(Nanos{at});
    request.model = model;
    request.dims = {8, 1, adapter};
    request.graph = GraphId(0);
    return request;
  }
};

}  // namespace

TEST_CASE("requests whose EQUAL dims differ never share a batch", "[sched][batcher]") {
  EqualFixture f;
  Batcher batcher(BatchPolicy{}, f.streams);
  for (const std::int64_t adapter : {7, 9, 7, 9, 9}) batcher.Add(f.Make(0, adapter));
  const auto first = CloseAt(batcher, 0);
  CHECK(Ids(*first) == std::vector<RequestId>{0, 2});
  CHECK(first->dims == DimValues{8, 2, 7});
  CHECK(Ids(CloseAt(batcher, 0).value()) == std::vector<RequestId>{1, 3, 4});
  CHECK_FALSE(CloseAt(batcher, 0));
}

TEST_CASE("a sub-queue that has emptied is forgotten, however it emptied", "[sched][batcher]") {
  enum class By { kBatch, kCancel, kExpiry };
  const By by = GENERATE(By::kBatch, By::kCancel, By::kExpiry);
  CAPTURE(static_cast<int>(by));
  EqualFixture f;
  BatchPolicy policy;
  if (by != By::kBatch) policy.max_queue_delay = Nanos{1'000'000'000'000};
  Batcher batcher(policy, f.streams);
  std::size_t out = 0;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    // A value that never comes again.
    Request request = f.Make(i, 1 + i);
    const RequestId id = request.id;
    if (by == By::kExpiry) request.expires = Instant(Nanos{i + 1});
    batcher.Add(std::move(request));
    switch (by) {
      case By::kBatch:
        out += CloseAt(batcher, i)->members.size();
        break;
      case By::kCancel:
        out += batcher.Remove(id) ? 1 : 0;
        break;
      case By::kExpiry:
        out += batcher.Advance(Instant(Nanos{i + 1})).size();
        break;
    }
  }
  CHECK(out == 20'000);
  CHECK(batcher.waiting() == 0);
  CHECK(batcher.next_timer() == Instant::Max());
  CHECK(batcher.sub_queues() == 1);
}

TEST_CASE("there are never more sub-queues than values that waited at once, and none mixes two",
          "[sched][batcher][property]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  base::Prng prng(seed);
  EqualFixture f;
  BatchPolicy policy;
  policy.max_batch_size = 1 + static_cast<std::uint32_t>(prng.Below(4));
  policy.max_queue_delay = Nanos{static_cast<std::int64_t>(prng.Below(50))};
  Batcher batcher(policy, f.streams);
  std::map<std::int64_t, std::deque<RequestId>> waiting;  // by value, in order of arrival
  std::size_t most = 0, mixed = 0, out_of_order = 0, lost = 0;
  std::int64_t at = 0;
  const auto take = [&](const Request& request) {
    const auto of = waiting.find(request.dims[2]);
    if (of == waiting.end()) return ++lost, void();
    const auto found = std::find(of->second.begin(), of->second.end(), request.id);
    if (found == of->second.end()) return ++lost, void();
    of->second.erase(found);
    if (of->second.empty()) waiting.erase(of);
  };
  for (int i = 0; i < 5000; ++i) {
    at += static_cast<std::int64_t>(prng.Below(3));
    // Values drift, so that most of them come for a while and never again.
    Request request = f.Make(at, 1 + i / 4 + static_cast<std::int64_t>(prng.Below(8)));
    if (prng.Below(4) == 0) {
      request.expires = Instant(Nanos{at + static_cast<std::int64_t>(prng.Below(40))});
    }
    waiting[request.dims[2]].push_back(request.id);
    most = std::max(most, waiting.size());
    batcher.Add(std::move(request));
    for (const Request& expired : batcher.Advance(Instant(Nanos{at}))) take(expired);
    if (prng.Below(8) == 0) {
      if (const auto removed = batcher.Remove(f.next - 1 - prng.Below(10))) take(*removed);
    }
    while (prng.Below(3) > 0) {
      const std::optional<Batch> batch = batcher.Close();
      if (!batch) break;
      for (std::size_t m = 0; m < batch->members.size(); ++m) {
        const Request& member = batch->members[m];
        if (member.dims[2] != batch->dims[2]) ++mixed;
        if (m > 0 && member.id < batch->members[m - 1].id) ++out_of_order;
        take(member);
      }
    }
  }
  CHECK(mixed == 0);
  CHECK(out_of_order == 0);
  CHECK(lost == 0);
  std::size_t left = 0;
  for (const auto& [value, ids] : waiting) left += ids.size();
  CHECK(batcher.waiting() == left);
  CHECK(batcher.sub_queues() <= most);
  CHECK(most < 500);  // of more than a thousand values
}

}  // namespace leeway::sched
