#include <limits>
#include <string>

#include "leeway_internal/traffic/v1alpha/traffic.pb.h"
#include "tests/catch.h"
#include "tests/traffic/support/files.h"

namespace leeway::traffic::testing {
namespace {

namespace pb = leeway_internal::traffic::v1alpha;

pb::Traffic GoodRecording() {
  pb::Traffic message;
  message.add_streams()->set_name("urgent");
  message.add_streams()->set_name("bulk");
  message.mutable_streams(1)->set_priority_level(2);
  pb::Recorded& recorded = *message.mutable_recorded();
  recorded.add_dim_names("seq");
  recorded.add_dim_names("batch");
  for (const int delta : {1000, 5, 0}) recorded.add_arrival_delta_ns(delta);
  for (const std::uint32_t stream : {1u, 0u, 1u}) recorded.add_stream(stream);
  for (const int value : {7, 1, 8, 2, 9, 3}) recorded.add_dims(value);
  for (const int deadline : {0, 50, 60}) recorded.add_deadline_ns(deadline);
  for (const int cancel : {0, 0, 4}) recorded.add_cancel_after_ns(cancel);
  return message;
}

pb::Traffic GoodGenerator() {
  pb::Traffic message;
  message.add_streams()->set_name("only");
  pb::Generated& generated = *message.mutable_generated();
  generated.set_requests(100);
  generated.set_window_ns(1'000'000'000);
  generated.set_dim("seq");
  for (const double position : {0.0, 0.5, 1.0}) generated.add_quantile_positions(position);
  pb::StreamShare& share = *generated.add_windows()->add_streams();
  share.set_rate(1);
  for (const int quantile : {1, 10, 100}) share.add_quantiles(quantile);
  return message;
}

std::string ParseError(const pb::Traffic& message) {
  return Traffic::Parse(message.SerializeAsString(), "m.pb").status().ToString();
}

TEST_CASE("a recording gives its columns back, counted from the first arrival",
          "[traffic][message]") {
  const auto traffic = Traffic::Parse(GoodRecording().SerializeAsString(), "m.pb");
  REQUIRE(traffic.ok());
  CHECK(traffic->name() == "m.pb");
  CHECK(traffic->dims() == std::vector<std::string>{"seq", "batch"});
  REQUIRE(traffic->body()->streams().size() == 2);
  CHECK(traffic->body()->streams()[0].priority_level == std::nullopt);
  CHECK(traffic->body()->streams()[1].priority_level == 2);
  const Reading reading = ReadAll(*traffic);
  REQUIRE(reading.status.ok());
  CHECK(Times(reading.arrivals) == std::vector<std::int64_t>{0, 5, 5});
  CHECK(reading.arrivals[0].stream == 1);
  CHECK(reading.arrivals[1].stream == 0);
  CHECK(reading.arrivals[2].dims[0] == 9);
  CHECK(reading.arrivals[2].dims[1] == 3);
  CHECK(reading.arrivals[0].deadline == Nanos::max());
  CHECK(reading.arrivals[1].deadline == Nanos(50));
  CHECK(reading.arrivals[0].cancel_after == Nanos::max());
  CHECK(reading.arrivals[2].cancel_after == Nanos(4));
}

TEST_CASE("columns that a recording leaves out have their defaults", "[traffic][message]") {
  pb::Traffic message;
  message.mutable_recorded()->add_arrival_delta_ns(3);
  const auto traffic = Traffic::Parse(message.SerializeAsString(), "m.pb");
  REQUIRE(traffic.ok());
  CHECK(traffic->streams() == std::vector<std::string>{"default"});
  const Reading reading = ReadAll(*traffic);
  REQUIRE(reading.arrivals.size() == 1);
  CHECK(reading.arrivals[0].stream == 0);
  CHECK(reading.arrivals[0].deadline == Nanos::max());
}

TEST_CASE("a message reads the same from memory and from a file", "[traffic][message]") {
  const TempFolder folder;
  const std::string bytes = GoodGenerator().SerializeAsString();
  const auto parsed = Traffic::Parse(bytes, "g.pb");
  REQUIRE(parsed.ok());
  const std::string name = GENERATE(as<std::string>(), "g.pb", "g.binpb", "g");
  const auto plain = Traffic::Open(folder.Write(name, bytes));
  const auto packed = Traffic::Open(folder.Write(name + ".gz", Gzip(bytes)));
  REQUIRE(plain.ok());
  REQUIRE(packed.ok());
  CHECK(plain->digest() == parsed->digest());
  CHECK(packed->digest() == parsed->digest());
  CHECK(ToText(ReadAll(*plain).arrivals) == ToText(ReadAll(*parsed).arrivals));
}

TEST_CASE("every wrong field of a recording is named", "[traffic][message]") {
  struct Case {
    void (*damage)(pb::Traffic&);
    const char* error;
  };
  const Case c = GENERATE(values<Case>({
      {[](pb::Traffic& m) { m.mutable_recorded()->set_arrival_delta_ns(1, -5); },
       "recorded.arrival_delta_ns[1]: -5 is negative"},
      {[](pb::Traffic& m) {
         m.mutable_recorded()->set_arrival_delta_ns(1, std::numeric_limits<std::int64_t>::max());
         m.mutable_recorded()->set_arrival_delta_ns(2, 1);
       },
       "recorded.arrival_delta_ns[2]: the arrival is beyond 2^63 ns"},
      {[](pb::Traffic& m) { m.mutable_recorded()->set_stream(2, 2); },
       "recorded.stream[2]: 2 of 2 streams"},
      {[](pb::Traffic& m) { m.mutable_recorded()->add_stream(0); },
       "recorded.stream: 4 values for 3 requests"},
      {[](pb::Traffic& m) { m.mutable_recorded()->add_dims(1); },
       "recorded.dims: 7 values for 3 requests of 2 dims"},
      {[](pb::Traffic& m) { m.mutable_recorded()->set_dims(3, 0); },
       "recorded.dims[3]: 0 is below 1"},
      {[](pb::Traffic& m) { m.mutable_recorded()->set_dim_names(1, "seq"); },
       "recorded.dim_names: a second dim \"seq\""},
      {[](pb::Traffic& m) { m.mutable_recorded()->set_dim_names(1, ""); },
       "recorded.dim_names: no name"},
      {[](pb::Traffic& m) {
         for (int i = 0; i < 7; ++i) m.mutable_recorded()->add_dim_names(std::to_string(i));
       },
       "recorded.dim_names: 9 dims; at most 8 are supported"},
      {[](pb::Traffic& m) { m.mutable_recorded()->set_deadline_ns(0, -1); },
       "recorded.deadline_ns[0]: -1 is negative"},
      {[](pb::Traffic& m) { m.mutable_recorded()->add_cancel_after_ns(1); },
       "recorded.cancel_after_ns: 4 values for 3 requests"},
      {[](pb::Traffic& m) { m.mutable_recorded()->add_outcome(1); },
       "recorded.outcome: 1 values for 3 requests"},
      {[](pb::Traffic& m) { m.mutable_recorded()->add_latency_ns(1); },
       "recorded.latency_ns: 1 values for 3 requests"},
      {[](pb::Traffic& m) {
         for (int i = 0; i < 3; ++i) m.mutable_recorded()->add_entry(5);
       },
       "recorded.entry[0]: 5 of 0 entries"},
      {[](pb::Traffic& m) { m.mutable_streams(1)->set_name("urgent"); },
       "streams[1]: a second stream \"urgent\""},
      {[](pb::Traffic& m) { m.mutable_streams(0)->clear_name(); }, "streams[0]: no name"},
      {[](pb::Traffic& m) { m.mutable_streams(0)->set_priority_level(64); },
       "streams[0]: priority_level 64 is outside [1, 63]"},
      {[](pb::Traffic& m) { m.clear_recorded(); }, "arrivals: neither recorded nor generated"},
  }));
  pb::Traffic message = GoodRecording();
  c.damage(message);
  CHECK(ParseError(message) == std::string("INVALID_ARGUMENT: m.pb: ") + c.error);
}

TEST_CASE("every wrong field of a generator is named", "[traffic][message]") {
  struct Case {
    void (*damage)(pb::Generated&);
    const char* error;
  };
  const Case c = GENERATE(values<Case>({
      {[](pb::Generated& g) { g.set_requests(0); },
       "generated.requests: 0 is outside [1, 100000000]"},
      {[](pb::Generated& g) { g.set_requests(~std::uint64_t{0}); },
       "generated.requests: 18446744073709551615 is outside [1, 100000000]"},
      {[](pb::Generated& g) { g.set_window_ns(0); },
       "generated.window_ns: 0 is not positive, or all windows together last longer than 2^63 ns"},
      {[](pb::Generated& g) {
         g.set_window_ns(std::numeric_limits<std::int64_t>::max());
         g.add_windows();
       },
       "generated.window_ns: 9223372036854775807 is not positive, or all windows together last "
       "longer than 2^63 ns"},
      {[](pb::Generated& g) { g.clear_dim(); }, "generated.dim: no name"},
      {[](pb::Generated& g) { g.set_quantile_positions(0, 0.1); },
       "generated.quantile_positions: must run from 0 to 1"},
      {[](pb::Generated& g) { g.clear_quantile_positions(); },
       "generated.quantile_positions: must run from 0 to 1"},
      {[](pb::Generated& g) { g.set_quantile_positions(1, 0); },
       "generated.quantile_positions[1]: does not rise"},
      {[](pb::Generated& g) {
         g.set_quantile_positions(1, std::numeric_limits<double>::quiet_NaN());
       },
       "generated.quantile_positions[1]: does not rise"},
      {[](pb::Generated& g) { g.mutable_windows(0)->mutable_streams(0)->set_stream(1); },
       "generated.windows[0].streams[0]: stream 1 of 1"},
      {[](pb::Generated& g) { g.mutable_windows(0)->mutable_streams(0)->set_rate(-1); },
       "generated.windows[0].streams[0]: rate is not a finite number of at least 0"},
      {[](pb::Generated& g) {
         g.mutable_windows(0)->mutable_streams(0)->set_rate(
             std::numeric_limits<double>::infinity());
       },
       "generated.windows[0].streams[0]: rate is not a finite number of at least 0"},
      {[](pb::Generated& g) { g.mutable_windows(0)->mutable_streams(0)->set_rate(0); },
       "generated.windows: no rate is above 0"},
      {[](pb::Generated& g) { g.clear_windows(); }, "generated.windows: no rate is above 0"},
      {[](pb::Generated& g) { g.mutable_windows(0)->mutable_streams(0)->add_quantiles(100); },
       "generated.windows[0].streams[0]: 4 quantiles for 3 positions"},
      {[](pb::Generated& g) { g.mutable_windows(0)->mutable_streams(0)->set_quantiles(0, 0); },
       "generated.windows[0].streams[0]: quantiles must rise from at least 1 to at most 2^52"},
      {[](pb::Generated& g) { g.mutable_windows(0)->mutable_streams(0)->set_quantiles(2, 9); },
       "generated.windows[0].streams[0]: quantiles must rise from at least 1 to at most 2^52"},
      {[](pb::Generated& g) {
         g.mutable_windows(0)->mutable_streams(0)->set_quantiles(
             2, std::numeric_limits<std::int64_t>::max());
       },
       "generated.windows[0].streams[0]: quantiles must rise from at least 1 to at most 2^52"},
      {[](pb::Generated& g) { *g.mutable_windows(0)->add_streams() = g.windows(0).streams(0); },
       "generated.windows[0].streams[1]: a second share of stream 0"},
  }));
  pb::Traffic message = GoodGenerator();
  c.damage(*message.mutable_generated());
  CHECK(ParseError(message) == std::string("INVALID_ARGUMENT: m.pb: ") + c.error);
}

TEST_CASE("a message from the future and one of several entries are refused",
          "[traffic][message]") {
  pb::Traffic newer = GoodRecording();
  newer.set_min_reader_version(2);
  CHECK(ParseError(newer) == "UNIMPLEMENTED: m.pb: needs a reader of version 2; this one is 1");
  pb::Traffic several = GoodRecording();
  several.mutable_recorded()->add_entry_names("prefill");
  several.mutable_recorded()->add_entry_names("decode");
  for (const std::uint32_t entry : {0u, 1u, 0u}) several.mutable_recorded()->add_entry(entry);
  CHECK(ParseError(several) ==
        "UNIMPLEMENTED: m.pb: recorded.entry[1]: traffic that calls several entries");
}

TEST_CASE("a message cut anywhere is refused or reads with whole columns", "[traffic][message]") {
  const std::string bytes = GoodRecording().SerializeAsString();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    CAPTURE(size);
    const auto traffic = Traffic::Parse(std::string_view(bytes).substr(0, size), "m.pb");
    // What is cut between two fields of the outermost message is one of its own.
    if (traffic.ok()) CHECK(ReadAll(*traffic).status.ok());
  }
  CHECK(Traffic::Parse("\xff\xff\xff", "m.pb").status().ToString() ==
        "DATA_LOSS: m.pb: not a leeway.traffic message, or cut short");
}

}  // namespace
}  // namespace leeway::traffic::testing
