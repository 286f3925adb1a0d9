#include <limits>
#include <map>
#include <string>
#include <vector>

#include "leeway_internal/traffic/v1alpha/traffic.pb.h"
#include "tests/catch.h"
#include "tests/traffic/support/distance.h"
#include "tests/traffic/support/files.h"

namespace leeway::traffic::testing {
namespace {

namespace pb = leeway_internal::traffic::v1alpha;

constexpr double kAlpha = 1e-7;

// Two streams over three windows of ten seconds; the second window has one stream, the third none.
std::string Message() {
  pb::Traffic message;
  message.add_streams()->set_name("a");
  message.add_streams()->set_name("b");
  pb::Generated& generated = *message.mutable_generated();
  generated.set_requests(1000);
  generated.set_window_ns(Nanos(10s).count());
  generated.set_dim("seq");
  for (const double position : {0.0, 0.25, 1.0}) generated.add_quantile_positions(position);
  const auto add = [](pb::Window& window, std::uint32_t stream, double rate, int first) {
    pb::StreamShare& share = *window.add_streams();
    share.set_stream(stream);
    share.set_rate(rate);
    for (const int quantile : {first, first + 50, first + 1000}) share.add_quantiles(quantile);
  };
  pb::Window& first = *generated.add_windows();
  add(first, 1, 0.25, 5000);
  add(first, 0, 0.5, 1);
  add(*generated.add_windows(), 0, 0.25, 100);
  generated.add_windows();
  return message.SerializeAsString();
}

TEST_CASE("generated requests are apportioned to windows and streams exactly",
          "[traffic][generated]") {
  const Traffic traffic = Traffic::Parse(Message(), "g").value();
  CHECK(traffic.body()->declared_span() == Nanos(30s));
  const Reading reading = ReadAll(traffic, 9);
  REQUIRE(reading.status.ok());
  std::map<std::pair<std::int64_t, std::uint32_t>, int> counts;
  for (const Arrival& arrival : reading.arrivals) {
    ++counts[{arrival.at.count() / Nanos(10s).count(), arrival.stream}];
  }
  CHECK(counts == decltype(counts){{{0, 0}, 500}, {{0, 1}, 250}, {{1, 0}, 250}});
  const std::vector<std::int64_t> times = Times(reading.arrivals);
  CHECK(std::is_sorted(times.begin(), times.end()));
}

TEST_CASE("generated lengths follow the declared quantiles of their stream",
          "[traffic][generated]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(folder.Write("g.pb", Message()), {.requests = 40'000});
  REQUIRE(traffic.ok());
  std::map<std::uint32_t, std::vector<std::int64_t>> lengths;
  for (const Arrival& arrival : ReadAll(*traffic, 3).arrivals) {
    if (arrival.at < Instant(10s)) lengths[arrival.stream].push_back(arrival.dims[0]);
  }
  REQUIRE(lengths[0].size() == 20'000);
  REQUIRE(lengths[1].size() == 10'000);
  for (const std::uint32_t stream : {0u, 1u}) {
    const double first = stream == 0 ? 1 : 5000;
    // Lengths are rounded to the nearest.
    const auto f = [first](std::int64_t x) {
      const double y = static_cast<double>(x) + 0.5 - first;
      return y < 50 ? 0.25 * y / 50 : std::min(1.0, 0.25 + 0.75 * (y - 50) / 950);
    };
    CHECK(KolmogorovDistance(lengths[stream], f) < DkwBound(lengths[stream].size(), kAlpha));
  }
}

TEST_CASE("a seed decides the draws of a generator", "[traffic][generated]") {
  const Traffic traffic = Traffic::Parse(Message(), "g").value();
  const std::string one = ToText(ReadAll(traffic, 1).arrivals);
  CHECK(ToText(ReadAll(Traffic::Parse(Message(), "again").value(), 1).arrivals) == one);
  CHECK(ToText(ReadAll(traffic, 2).arrivals) != one);
}

TEST_CASE("the draws of seed 1 are these on every machine", "[traffic][golden]") {
  const Traffic traffic = Traffic::Parse(Message(), "g").value().Limit(5);
  const std::vector<Arrival> arrivals = ReadAll(traffic, 1).arrivals;
  using List = std::vector<std::int64_t>;
  CHECK(Times(arrivals) == List{3758800, 17902032, 21225655, 22492405, 27030327});
  CHECK(Lengths(arrivals) == List{36, 5334, 5148, 5941, 220});
  REQUIRE(arrivals.size() == 5);
  CHECK(arrivals[0].stream == 0);
  CHECK(arrivals[1].stream == 1);
}

TEST_CASE("windows of a generator count its drawn arrivals", "[traffic][generated]") {
  const Traffic traffic = Traffic::Parse(Message(), "g").value();
  const WindowsReading reading = ReadWindows(traffic, 10s, 4);
  REQUIRE(reading.windows.size() == 2);
  std::map<std::int64_t, double> counted;
  for (const Arrival& arrival : ReadAll(traffic, 4).arrivals) {
    if (arrival.at < Instant(10s)) counted[arrival.dims[0]] += 1;
  }
  const std::map<std::int64_t, double> given(reading.windows[0].lengths.begin(),
                                             reading.windows[0].lengths.end());
  CHECK(given == counted);
  CHECK_FALSE(traffic.body()->exact_windows());
}

TEST_CASE("Poisson gaps are exponential and lengths equally likely", "[traffic][poisson]") {
  const auto traffic = Traffic::Poisson(1000, 20s, "seq", {10, 20, 30, 40});
  REQUIRE(traffic.ok());
  CHECK(traffic->name() == "poisson");
  CHECK(traffic->body()->declared_span() == Nanos(20s));
  const Reading reading = ReadAll(*traffic, 6);
  REQUIRE(reading.status.ok());
  // Mean 20,000, standard deviation 141.
  CHECK(reading.arrivals.size() > 19'200);
  CHECK(reading.arrivals.size() < 20'800);
  std::vector<std::int64_t> gaps;
  std::int64_t last = 0;
  for (const std::int64_t time : Times(reading.arrivals)) gaps.push_back(time - last), last = time;
  CHECK(last < Nanos(20s).count());
  const auto exponential = [](std::int64_t gap) {
    return 1 - std::exp(-static_cast<double>(gap) / 1e6);
  };
  CHECK(KolmogorovDistance(gaps, exponential) < DkwBound(gaps.size(), kAlpha));
  const auto quarters = [](std::int64_t x) { return static_cast<double>(x) / 40; };
  CHECK(KolmogorovDistance(Lengths(reading.arrivals), quarters) < DkwBound(gaps.size(), kAlpha));
}

TEST_CASE("Poisson traffic follows its seed, and other lengths move no arrival",
          "[traffic][poisson]") {
  const Traffic one = Traffic::Poisson(50, 10s, "seq", {10, 20}).value();
  const Traffic other = Traffic::Poisson(50, 10s, "seq", {10, 20, 30}).value();
  CHECK(ToText(ReadAll(one, 1).arrivals) == ToText(ReadAll(one, 1).arrivals));
  CHECK(ToText(ReadAll(one, 1).arrivals) != ToText(ReadAll(one, 2).arrivals));
  CHECK(Times(ReadAll(one, 1).arrivals) == Times(ReadAll(other, 1).arrivals));
  CHECK(one.digest() != other.digest());
  CHECK(one.digest() != Traffic::Poisson(51, 10s, "seq", {10, 20})->digest());
}

TEST_CASE("Poisson traffic refuses what is not positive", "[traffic][poisson]") {
  const double rate = GENERATE(0.0, -1.0, 2e9, std::numeric_limits<double>::quiet_NaN(),
                               std::numeric_limits<double>::infinity());
  CHECK(Traffic::Poisson(rate, 1s, "seq", {1}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Traffic::Poisson(1, 0s, "seq", {1}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Traffic::Poisson(1, 1s, "", {1}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Traffic::Poisson(1, 1s, "seq", {}).status().code() == StatusCode::kInvalidArgument);
  CHECK(Traffic::Poisson(1, 1s, "seq", {3, 0}).status().ToString() ==
        "INVALID_ARGUMENT: poisson: length 0 is below 1");
}

TEST_CASE("a rate too small for one arrival gives none", "[traffic][poisson]") {
  const double rate = GENERATE(1e-12, 1e-300, std::numeric_limits<double>::denorm_min());
  const Traffic traffic = Traffic::Poisson(rate, 1s, "seq", {1}).value();
  CHECK(ReadAll(traffic).arrivals.empty());
}

}  // namespace
}  // namespace leeway::traffic::testing
