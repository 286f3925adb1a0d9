#include <functional>
#include <limits>
#include <string>

#include "base/prng.h"
#include "leeway_internal/telemetry/v1alpha/telemetry.pb.h"
#include "telemetry/message_count.h"
#include "telemetry/snapshot.h"
#include "tests/catch.h"
#include "tests/telemetry/random_snapshot.h"

namespace leeway::telemetry {
namespace {

namespace pb = ::leeway_internal::telemetry::v1alpha;
using testing::RandomSnapshot;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint64_t>::max();

// A valid message with one of everything.
pb::Snapshot Valid() {
  pb::Snapshot s;
  s.set_origin(pb::Snapshot::MEASURED);
  s.add_ranges()->set_replica("a");
  pb::StreamTelemetry& stream = *s.add_streams();
  stream.set_name("chat");
  pb::ExponentialHistogram& h = *stream.mutable_latency_ns();
  h.set_scale(0);
  h.set_offset(1);
  h.add_buckets(2);
  h.set_count(2);
  h.set_sum(7);
  h.set_min(3);
  h.set_max(4);
  s.add_cores()->set_name("core");
  pb::LengthWindow& window = *s.add_lengths();
  window.set_end_ns(1);
  window.set_quantum(2);
  for (int i = 0; i < 2; ++i) {
    window.add_length_delta(2);
    window.add_counts(1);
  }
  s.add_groups()->set_entry("main");
  s.mutable_counters()->add_rejected_by()->set_reason("queue_full");
  return s;
}

std::string ErrorAfter(const std::function<void(pb::Snapshot&)>& change) {
  pb::Snapshot s = Valid();
  change(s);
  const Result<Snapshot> parsed = Snapshot::Parse(s.SerializeAsString());
  return parsed.ok() ? "" : std::string(parsed.status().message());
}

pb::ExponentialHistogram& Latency(pb::Snapshot& s) {
  return *s.mutable_streams(0)->mutable_latency_ns();
}

std::string Mutate(std::string bytes, base::Prng& prng) {
  for (std::uint64_t n = 1 + prng.Below(4); n > 0 && !bytes.empty(); --n) {
    const std::size_t at = prng.Below(bytes.size());
    switch (prng.Below(5)) {
      case 0:
        bytes[at] = static_cast<char>(prng.Next());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << prng.Below(8)));
        break;
      case 2:
        bytes.erase(at, prng.Below(8));
        break;
      case 3: {
        const std::size_t from = prng.Below(bytes.size());
        bytes.insert(at, bytes.substr(from, prng.Below(40)));
      } break;
      default:
        bytes.resize(at);
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("mutated bytes are refused, or parse into a snapshot that round-trips",
          "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 40u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::string valid = RandomSnapshot(prng, "a").Serialize().value();
  int accepted = 0;
  for (int i = 0; i < 500; ++i) {
    CAPTURE(i);
    const std::string mutated = Mutate(valid, prng);
    const Result<Snapshot> parsed = Snapshot::Parse(mutated);
    if (!parsed.ok()) {
      REQUIRE_FALSE(parsed.status().message().empty());
      continue;
    }
    ++accepted;
    const Result<std::string> bytes = parsed->Serialize();
    REQUIRE(bytes.ok());
    REQUIRE(Snapshot::Parse(*bytes).value() == *parsed);
    // Never asks more of the code than the parser let through.
    Snapshot merged = *parsed;
    static_cast<void>(merged.Merge(Snapshot::Parse(valid).value()));
    static_cast<void>(merged.CheckBalance());
    for (const StreamTelemetry& s : merged.streams) static_cast<void>(s.latency_ns.Quantile(0.5));
  }
  CHECK(accepted > 0);
}

TEST_CASE("a valid message is accepted, padded histograms become canonical", "[telemetry][unit]") {
  REQUIRE(ErrorAfter([](pb::Snapshot&) {}) == "");
  pb::Snapshot padded = Valid();
  Latency(padded).set_offset(0);
  Latency(padded).clear_buckets();
  for (std::uint64_t count : {0, 2, 0, 0}) Latency(padded).add_buckets(count);
  REQUIRE(Snapshot::Parse(padded.SerializeAsString()).value() ==
          Snapshot::Parse(Valid().SerializeAsString()).value());
}

TEST_CASE("a histogram that contradicts itself is refused by path", "[telemetry][unit]") {
  const auto error = [](auto change) {
    return ErrorAfter([&](pb::Snapshot& s) { change(Latency(s)); });
  };
  using H = pb::ExponentialHistogram;
  CHECK(error([](H& h) { h.set_scale(9); }) ==
        "streams[0].latency_ns.scale: 9 is not within [0, 8]");
  CHECK(error([](H& h) { h.set_offset(63); }) ==
        "streams[0].latency_ns.buckets: 1 from offset 63 are not within [-1, 63)");
  CHECK(error([](H& h) { h.set_offset(std::numeric_limits<int>::min()); }) != "");
  CHECK(error([](H& h) { h.set_offset(std::numeric_limits<int>::max()); }) != "");
  CHECK(error([](H& h) { h.set_count(3); }) ==
        "streams[0].latency_ns.count: 3 is not the buckets' sum 2");
  CHECK(error([](H& h) { h.set_zero_count(kMaxCount); }) ==
        "streams[0].latency_ns.buckets: their sum exceeds 64 bits");
  CHECK(error([](H& h) { h.set_sum(9); }) ==
        "streams[0].latency_ns.sum: 9 is not within count·[min, max]");
  CHECK(error([](H& h) { h.set_min(1); }) != "");
  CHECK(error([](H& h) { h.set_min(-1); }) != "");
  CHECK(error([](H& h) { h.set_max(5); }) != "");
  CHECK(error([](H& h) { h.clear_buckets(); }) != "");
}

TEST_CASE("a length window that contradicts itself is refused by path", "[telemetry][unit]") {
  const auto error = [](auto change) {
    return ErrorAfter([&](pb::Snapshot& s) { change(*s.mutable_lengths(0)); });
  };
  using W = pb::LengthWindow;
  CHECK(error([](W& w) { w.set_quantum(3); }) == "lengths[0].quantum: 3 is no power of two");
  CHECK(error([](W& w) { w.set_quantum(-1); }) != "");
  CHECK(error([](W& w) { w.set_quantum(4); }) == "lengths[0]: length 2 is no multiple of 4");
  CHECK(error([](W& w) { w.set_length_delta(1, 0); }) == "lengths[0]: length 2 does not ascend");
  CHECK(error([](W& w) { w.set_length_delta(0, -2); }) != "");
  CHECK(error([](W& w) { w.set_length_delta(1, kMax); }) ==
        "lengths[0].length_delta[1]: the sum exceeds 64 bits");
  CHECK(error([](W& w) { w.set_counts(0, 0); }) == "lengths[0]: length 2 has a count of 0");
  CHECK(error([](W& w) { w.set_counts(0, kMaxCount); }) ==
        "lengths[0].counts: their sum exceeds 64 bits");
  CHECK(error([](W& w) { w.add_counts(1); }) ==
        "lengths[0]: 2 lengths and 3 counts differ or exceed 65536");
  CHECK(error([](W& w) { w.set_end_ns(0); }) == "lengths[0]: start_ns 0 is not before end_ns 0");
}

TEST_CASE("other values out of range are refused by path", "[telemetry][unit]") {
  using S = pb::Snapshot;
  CHECK(ErrorAfter([](S& s) { s.clear_ranges(); }) == "ranges: are empty, but the snapshot is not");
  CHECK(ErrorAfter([](S& s) { s.mutable_ranges(0)->set_first_sequence(1); }) ==
        "ranges[0]: first_sequence 1 is past last_sequence 0");
  CHECK(ErrorAfter([](S& s) { *s.add_ranges() = s.ranges(0); }) ==
        "replica \"a\" started at 0: sequences 0 to 0 are covered twice");
  CHECK(ErrorAfter([](S& s) { s.clear_origin(); }) == "origin: is not specified");
  CHECK(ErrorAfter([](S& s) { s.set_origin(static_cast<S::Origin>(7)); }) ==
        "origin: 7 is unknown");
  CHECK(ErrorAfter([](S& s) { s.set_plan_digest("abc"); }) ==
        "plan_digest: 3 bytes are not a digest of 32");
  CHECK(ErrorAfter([](S& s) { s.mutable_cores(0)->set_energy_pj(-1); }) ==
        "cores[0].energy_pj: -1 is negative");
  CHECK(ErrorAfter([](S& s) { s.mutable_cores(0)->set_weight_bytes(-1); }) ==
        "cores[0].weight_bytes: -1 is negative");
  CHECK(ErrorAfter([](S& s) { s.mutable_streams(0)->set_priority_level(64); }) ==
        "streams[0].priority_level: 64 exceeds 63");
  CHECK(ErrorAfter([](S& s) {
          for (std::size_t i = 0; i <= kCauseCount; ++i)
            s.mutable_streams(0)->add_attribution_ns(0);
        }) == "streams[0].attribution_ns: 19 parts exceed 18");
  CHECK(ErrorAfter([](S& s) { s.mutable_groups(0)->set_group(std::string(1025, 'x')); }) ==
        "groups[0].group: 1025 bytes exceed 1024");
  CHECK(ErrorAfter([](S& s) { s.set_min_reader_version(2); }) ==
        "min_reader_version: 2 is newer than this reader's 1");
}

TEST_CASE("a cause that came later is written where it has a part, and read as 0 elsewhere",
          "[telemetry][unit]") {
  const auto written = [](Nanos response_order) {
    Snapshot snapshot;
    snapshot.ranges.push_back({"a", 0, 1, 1});
    snapshot.origin = Origin::kMeasured;
    snapshot.streams.emplace_back().attribution[Cause::kResponseOrder] = response_order;
    const std::string bytes = snapshot.Serialize().value();
    CHECK(Snapshot::Parse(bytes).value() == snapshot);
    pb::Snapshot message;
    REQUIRE(message.ParseFromString(bytes));
    return message.streams(0).attribution_ns_size();
  };
  // What every reader knows.
  CHECK(written(Nanos{0}) == 17);
  CHECK(written(Nanos{5}) == 18);
}

TEST_CASE("names are UTF-8", "[telemetry][unit]") {
  const auto error = [](const std::string& name) {
    return ErrorAfter([&](pb::Snapshot& s) { s.mutable_cores(0)->set_name(name); });
  };
  for (const char* good : {"", "core", "\xC2\xA0", "\xE2\x82\xAC", "\xED\x9F\xBF",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    CHECK(error(good) == "");
  }
  for (const char* bad : {"\x80", "\xC0\x80", "\xC2", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82",
                          "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80", "\xFF", "a\xE2\x82z"}) {
    CHECK(error(bad) == "cores[0].name: is not UTF-8");
  }
}

TEST_CASE("equal keys of another writer are summed", "[telemetry][unit]") {
  pb::Snapshot s = Valid();
  s.mutable_cores(0)->set_steps(2);
  *s.add_cores() = s.cores(0);
  *s.add_streams() = s.streams(0);
  const Snapshot parsed = Snapshot::Parse(s.SerializeAsString()).value();
  REQUIRE(parsed.cores.size() == 1);
  REQUIRE(parsed.cores[0].steps == 4);
  REQUIRE(parsed.streams.size() == 1);
  REQUIRE(parsed.streams[0].latency_ns.count() == 4);
}

TEST_CASE("a flood of tiny messages is refused before it is built", "[telemetry][unit]") {
  std::string bytes = Valid().SerializeAsString();
  REQUIRE(CountSnapshotMessages(bytes) == 9);
  // Field 5, length 0: an empty stream in two bytes.
  for (std::size_t i = 0; i <= Snapshot::kMaxMessages; ++i) bytes.append("\x2A\x00", 2);
  REQUIRE(Snapshot::Parse(bytes).status().code() == StatusCode::kResourceExhausted);

  pb::Snapshot nested = Valid();
  for (std::size_t i = 0; i <= Snapshot::kMaxMessages; ++i) {
    nested.mutable_streams(0)->mutable_counters()->add_fallback_by();
  }
  REQUIRE(Snapshot::Parse(nested.SerializeAsString()).status().code() ==
          StatusCode::kResourceExhausted);
  REQUIRE(Snapshot::Parse(std::string(Snapshot::kMaxBytes + 1, '\0')).status().code() ==
          StatusCode::kResourceExhausted);
}

TEST_CASE("what Parse would refuse is not written", "[telemetry][unit]") {
  Snapshot s;
  s.origin = Origin::kMeasured;
  s.ranges = {{"a", 0, 1, 2}};
  s.cores = {{"\xFF", Nanos(0), 0, 0, 0}};
  REQUIRE(std::string(s.Serialize().status().message()) == "cores[0].name: is not UTF-8");
}

}  // namespace leeway::telemetry
