#include "telemetry/tail_profile.h"

#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::telemetry {
namespace {

struct Request {
  Nanos latency;
  Attribution parts;
};

// Parts that add up to a random latency; the closing term may be negative.
Request RandomRequest(base::Prng& prng) {
  Request request;
  for (Nanos& part : request.parts.parts) {
    if (prng.Below(2) == 0) part = Nanos(prng.Below(1u << prng.Below(20)));
  }
  const auto total = static_cast<std::uint64_t>(request.parts.total().count());
  request.parts[Cause::kUnexplained] -= Nanos(prng.Below(total + 1));
  if (prng.Below(20) == 0) request.parts = {};
  request.latency = request.parts.total();
  return request;
}

std::vector<Request> RandomRequests(base::Prng& prng) {
  std::vector<Request> requests(1 + prng.Below(400));
  for (Request& request : requests) request = RandomRequest(prng);
  return requests;
}

TailProfile Of(const std::vector<Request>& requests) {
  TailProfile profile;
  for (const Request& request : requests) profile.Record(request.latency, request.parts);
  return profile;
}

// Zero is below every bucket.
std::int64_t BucketOrBelow(Nanos latency) {
  return latency.count() == 0
             ? -1000
             : ExponentialHistogram::BucketOf(latency.count(), ExponentialHistogram::kMaxScale);
}

TailProfile::Tail Oracle(const std::vector<Request>& requests, Nanos quantile) {
  TailProfile::Tail tail;
  for (const Request& request : requests) {
    if (BucketOrBelow(request.latency) < BucketOrBelow(quantile)) continue;
    ++tail.count;
    tail.sum += request.parts;
  }
  return tail;
}

void RequireSame(const TailProfile& profile, const std::vector<Request>& requests) {
  for (double q : {0.0, 0.3, 0.5, 0.9, 0.95, 0.99, 1.0}) {
    CAPTURE(q);
    const TailProfile::Tail tail = profile.TailFrom(q);
    const TailProfile::Tail oracle = Oracle(requests, Nanos(profile.latency().Quantile(q)));
    REQUIRE(tail.count == oracle.count);
    REQUIRE(tail.sum == oracle.sum);
    // At least the requests at and above the rank.
    REQUIRE(static_cast<double>(tail.count) >= (1 - q) * static_cast<double>(requests.size()));
  }
}

}  // namespace

TEST_CASE("a tail holds the requests of the quantile's bucket and above", "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 100u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::vector<Request> requests = RandomRequests(prng);
  const TailProfile profile = Of(requests);
  Attribution total;
  Nanos latency{0};
  for (const Request& request : requests) {
    total += request.parts;
    latency += request.latency;
  }
  REQUIRE(profile.total() == total);
  REQUIRE(profile.total().total() == latency);
  REQUIRE(profile.latency().sum() == latency.count());
  RequireSame(profile, requests);
}

TEST_CASE("merged profiles equal one that recorded everything", "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::vector<Request> all = RandomRequests(prng);
  TailProfile merged = Of(all);
  const std::vector<Request> more = RandomRequests(prng);
  merged.Merge(Of(more));
  all.insert(all.end(), more.begin(), more.end());
  REQUIRE(merged.latency() == Of(all).latency());
  REQUIRE(merged.total() == Of(all).total());
  RequireSame(merged, all);
}

TEST_CASE("mean parts are rounded down, also below zero", "[telemetry][unit]") {
  TailProfile profile;
  Attribution parts;
  parts[Cause::kPlanned] = Nanos(11);
  parts[Cause::kUnexplained] = Nanos(-1);
  profile.Record(Nanos(10), parts);
  parts[Cause::kPlanned] = Nanos(10);
  parts[Cause::kUnexplained] = Nanos(0);
  profile.Record(Nanos(10), parts);
  const Attribution mean = profile.TailFrom(0.5).mean();
  REQUIRE(mean.part(Cause::kPlanned) == Nanos(10));
  REQUIRE(mean.part(Cause::kUnexplained) == Nanos(-1));
}

TEST_CASE("an empty profile has an empty tail", "[telemetry][unit]") {
  const TailProfile::Tail tail = TailProfile().TailFrom(0.99);
  REQUIRE(tail.count == 0);
  REQUIRE(tail.mean() == Attribution());
}

}  // namespace leeway::telemetry
