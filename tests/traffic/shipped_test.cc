#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/traffic/support/distance.h"
#include "tests/traffic/support/files.h"
#include "traffic/draw.h"
#include "traffic/traffic_proto.h"

namespace leeway::traffic::testing {
namespace {

// Each test compares at most 672 samples: the chance that any fails is below one in 10^4 seeds, and
// the seed is fixed.
constexpr double kAlpha = 1e-7;

// Share of lengths at or below x where they are rounded to the nearest.
double Declared(const std::vector<double>& positions, const std::vector<std::int64_t>& quantiles,
                std::int64_t x) {
  const double y = static_cast<double>(x) + 0.5;
  std::size_t i = quantiles.size() - 1;
  while (static_cast<double>(quantiles[i]) > y) {
    if (i == 0) return 0;
    --i;
  }
  if (i + 1 == quantiles.size()) return 1;
  const double low = static_cast<double>(quantiles[i]);
  const double high = static_cast<double>(quantiles[i + 1]);
  return positions[i] + (y - low) / (high - low) * (positions[i + 1] - positions[i]);
}

GeneratedTraffic Declaration(const std::string& name) {
  const auto shipped = base::FindShipped(base::ShippedKind::kTraffic, name);
  REQUIRE(shipped);
  const auto message = ParseTrafficMessage(shipped->bytes, name);
  REQUIRE(message.ok());
  return std::get<GeneratedTraffic>(message->arrivals);
}

struct Expectation {
  std::string name;
  std::size_t requests;
  Nanos span;
  std::int64_t longest;
};

TEST_CASE("shipped traffic holds what it declares", "[traffic][shipped]") {
  const Expectation expected = GENERATE(values<Expectation>({
      {"chat_14d", 100'000, 336h, 30'712},
      {"chat_1h", 12'000, 1h, 14'050},
  }));
  CAPTURE(expected.name);
  const Traffic traffic = Traffic::Open(expected.name).value();
  CHECK(traffic.name() == expected.name);
  CHECK(traffic.dims() == std::vector<std::string>{"seq"});
  CHECK(traffic.streams() == std::vector<std::string>{"urgent", "bulk"});
  CHECK(traffic.body()->streams()[0].priority_level == 1);
  CHECK(traffic.body()->streams()[1].priority_level == 2);
  CHECK(traffic.body()->declared_span() == expected.span);
  const GeneratedTraffic declared = Declaration(expected.name);
  std::int64_t longest = 0;
  for (const DrawnCell& cell : declared.cells) {
    longest = std::max(longest, cell.quantiles.back());
  }
  CHECK(longest == expected.longest);
  CHECK(ReadAll(traffic).arrivals.size() == expected.requests);
}

TEST_CASE("draws of shipped traffic match its rates exactly and its quantiles closely",
          "[traffic][shipped]") {
  const std::string name = GENERATE(as<std::string>(), "chat_14d", "chat_1h");
  const Traffic traffic = Traffic::Open(name).value();
  const GeneratedTraffic declared = Declaration(name);
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> lengths;
  const std::int64_t window = declared.window.count();
  for (const Arrival& arrival : ReadAll(traffic, 1).arrivals) {
    const auto number = static_cast<std::uint32_t>(arrival.at.count() / window);
    lengths[{number, arrival.stream}].push_back(arrival.dims[0]);
  }
  std::vector<double> rates;
  double sum = 0;
  for (const DrawnCell& cell : declared.cells) rates.push_back(cell.rate), sum += cell.rate;
  CHECK(sum == Approx(1).epsilon(1e-3));
  const auto shares = Apportion(declared.requests, IntegerWeights(rates));
  for (std::size_t i = 0; i < declared.cells.size(); ++i) {
    const DrawnCell& cell = declared.cells[i];
    CAPTURE(name, cell.window, cell.stream);
    const std::vector<std::int64_t>& drawn = lengths[{cell.window, cell.stream}];
    REQUIRE(drawn.size() == shares[i]);
    const double quota = static_cast<double>(declared.requests) * cell.rate / sum;
    CHECK(std::abs(static_cast<double>(drawn.size()) - quota) < 1);
    const auto f = [&](std::int64_t x) { return Declared(declared.positions, cell.quantiles, x); };
    CHECK(KolmogorovDistance(drawn, f) < DkwBound(drawn.size(), kAlpha));
  }
}

TEST_CASE("the mix of chat_14d drifts and that of chat_1h does not", "[traffic][shipped]") {
  const GeneratedTraffic days = Declaration("chat_14d");
  REQUIRE(days.cells.size() == 672);
  double least = 1;
  double most = 0;
  for (std::size_t i = 0; i < days.cells.size(); i += 2) {
    const double bulk = days.cells[i + 1].rate / (days.cells[i].rate + days.cells[i + 1].rate);
    least = std::min(least, bulk);
    most = std::max(most, bulk);
  }
  CHECK(least < 0.05);
  CHECK(most > 0.7);
  const GeneratedTraffic hour = Declaration("chat_1h");
  REQUIRE(hour.cells.size() == 24);
  std::set<std::vector<std::int64_t>> mixes;
  for (const DrawnCell& cell : hour.cells) mixes.insert(cell.quantiles);
  CHECK(mixes.size() == 2);
  for (std::size_t i = 0; i < hour.cells.size(); i += 2) {
    CHECK(hour.cells[i + 1].rate / hour.cells[i].rate == Approx(9528.0 / 9838).epsilon(1e-4));
  }
}

TEST_CASE("the draws of chat_14d are these on every machine", "[traffic][golden]") {
  const Traffic traffic = Traffic::Open("chat_14d").value();
  const std::vector<Arrival> arrivals = ReadAll(traffic, 1).arrivals;
  CHECK(base::DigestOf(ToText(arrivals)).ToHex() ==
        "a7ef7dfd965a2aec52464da40a23c9df9329c485a634e5dc034b37597f3640d8");
}

}  // namespace
}  // namespace leeway::traffic::testing
