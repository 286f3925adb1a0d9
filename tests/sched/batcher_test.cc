#include "sched/batcher.h"

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

}  // namespace leeway::sched
