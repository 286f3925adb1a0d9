#include <nlohmann/json.hpp>

#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

Words Serve(const Scratch& scratch, const Words& more, int requests = 2000) {
  Words words = {"simulate",  scratch.Write("plan.textproto", kPlan),
                 "--device",  scratch.Write("device.textproto", DeviceText()),
                 "--traffic", scratch.Write("t.csv", TrafficCsv(requests, 250)),
                 "--map",     "arrival=t:us,seq=seq"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The document without what differs from run to run, as bytes.
std::string Repeatable(const Words& words, const Words& environment = {}) {
  const Said said = RunLeeway(words, environment);
  CAPTURE(said.err);
  REQUIRE(said.exit_code == 0);
  Json json = Json::parse(said.out);
  REQUIRE(json.contains("host"));
  json.erase("host");
  return json.dump(2);
}

TEST_CASE("simulate serves under the policy that is named, with streams as they are given",
          "[cli][simulate]") {
  const Scratch scratch;
  std::string rows = "t,seq,who\n";
  for (int i = 0; i < 200; ++i) {
    rows += std::to_string(i * 10) + ",64," + (i % 2 == 0 ? "chat" : "batch") + "\n";
  }
  const Words words = {"simulate",  scratch.Write("plan.textproto", kPlan),
                       "--device",  scratch.Write("device.textproto", DeviceText()),
                       "--traffic", scratch.Write("t.csv", rows),
                       "--map",     "arrival=t:us,seq=seq,stream=who",
                       "--json"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return RunLeeway(all);
  };
  const Said said = with(
      {"--policy", "wfq", "--stream", "batch:priority=4,weight=10", "--stream", "chat:weight=90"});
  CAPTURE(said.err);
  REQUIRE(said.exit_code == 0);
  const Json json = Json::parse(said.out);
  CHECK(json["options"]["policy"] == "wfq");
  CHECK(json["options"]["streams"][0] ==
        Json{{"name", "batch"}, {"priority_level", 4}, {"weight", 10}});
  CHECK(json["streams"][0]["priority_level"] == 1);
  CHECK(json["streams"][1]["priority_level"] == 4);
  CHECK(json["counters"]["submitted"] == 200);
  CHECK(Json::parse(with({}).out)["options"]["policy"] == "leeway");

  for (const char* wrong :
       {"chat", ":priority=1", "chat:", "chat:priority=0", "chat:priority=64", "chat:weight=0",
        "chat:weight=1000001", "chat:colour=2", "chat:priority=1,", "chat:preserve_ordering=1",
        "chat:max_queue_size=-1", "chat:default_timeout=soon", "chat:timeout_action=drop",
        "chat:allow_timeout_override=", "chat:priority=1,priority=2"}) {
    CAPTURE(wrong);
    const Said refused = with({"--stream", wrong});
    CHECK(refused.exit_code == 2);
    CHECK_THAT(refused.err, Contains("option --stream: '" + std::string(wrong) + "' is not"));
  }
  const Said twice = with({"--stream", "chat:priority=1", "--stream", "chat:priority=2"});
  CHECK(twice.exit_code == 2);
  CHECK_THAT(twice.err, Contains("option --stream: stream 'chat' is given twice"));
  const Said unknown = with({"--policy", "best"});
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.err, Contains("one of leeway, fifo, lifo-steal, wfq"));
  const Said absent = with({"--stream", "night:priority=2"});
  CHECK(absent.exit_code == 2);
  CHECK_THAT(
      absent.err,
      Contains("option --stream: the traffic has no stream 'night'; it has 'chat', 'batch'"));
}

TEST_CASE("simulate keeps the order of a stream's responses where it is asked to, by its words",
          "[cli][simulate]") {
  const Scratch scratch;
  // Long and short ones in turn, of which two run at a time: the short ones are done first.
  std::string rows = "t,seq,who\n";
  for (int i = 0; i < 200; ++i) {
    rows += std::to_string(i) + "," + (i % 4 < 2 ? "190" : "1") + "," +
            (i % 2 == 0 ? "chat" : "batch") + "\n";
  }
  Words words = {"simulate",
                 scratch.Write("plan.textproto", kPlan),
                 "--device",
                 scratch.Write("device.textproto", DeviceText()),
                 "--traffic",
                 scratch.Write("t.csv", rows),
                 "--map",
                 "arrival=t:us,seq=seq,stream=who",
                 "--json",
                 "--default-priority-level",
                 "2",
                 "--priority-levels",
                 "4",
                 "--max-batch-size",
                 "2",
                 "--stream",
                 "chat:preserve_ordering=true,max_queue_size=500,default_timeout=90s,"
                 "timeout_action=delay,allow_timeout_override=false"};
  const Said said = RunLeeway(words);
  CAPTURE(said.err);
  REQUIRE(said.exit_code == 0);
  const Json json = Json::parse(said.out);
  CHECK(json["options"]["streams"][0] == Json{{"name", "chat"},
                                              {"preserve_ordering", true},
                                              {"max_queue_size", 500},
                                              {"default_timeout_ns", 90'000'000'000},
                                              {"timeout_action", "delay"},
                                              {"allow_timeout_override", false}});
  CHECK(json["options"]["preserve_ordering"] == false);
  CHECK(json["options"]["priority_levels"] == 4);
  CHECK(json["options"]["default_priority_level"] == 2);
  CHECK(json["streams"][0]["priority_level"] == 2);
  CHECK(json["streams"][0]["attribution"]["response_order"]["family"] == "queueing");
  CHECK(json["streams"][0]["attribution"]["response_order"]["mean_ns"] > 0);
  CHECK(json["streams"][1]["attribution"]["response_order"]["mean_ns"] == 0);

  words.back() = "chat:priority=5";
  const Said beyond = RunLeeway(words);
  CHECK(beyond.exit_code != 0);
  CHECK_THAT(beyond.err, Contains("stream \"chat\": priority_level 5 exceeds priority_levels 4"));
  words.insert(words.end(), {"--default-priority-level", "6"});
  const Said contrary = RunLeeway(words);
  CHECK(contrary.exit_code == 2);
  CHECK_THAT(contrary.err, Contains("--default-priority-level 6 exceeds --priority-levels 4"));
}

TEST_CASE("simulate prints the contract's keys for the total and every stream", "[cli][simulate]") {
  const Scratch scratch;
  const Said said = RunLeeway(Serve(scratch, {"--json", "--slo", "p99=50ms"}));
  CAPTURE(said.err);
  REQUIRE(said.exit_code == 0);
  const Json json = Json::parse(said.out);
  CHECK(json["schema"] == "leeway.simulate.v1");
  REQUIRE(json["streams"].size() == 1);
  for (const Json& part : {json["total"], json["streams"][0]}) {
    for (const char* key :
         {"work_ns", "p50_ns", "p95_ns", "p99_ns", "mean_ns", "goodput_rps", "capacity_rps",
          "slo_attainment", "mapping_accuracy", "fallback_rate", "padding_waste", "energy_j"}) {
      CAPTURE(key);
      REQUIRE(part.contains(key));
      CHECK(part[key].is_null() == part.contains(std::string(key) + "_reason"));
    }
  }
  for (const char* key : {"queue_wait", "attribution", "fairness", "steps", "counters",
                          "telemetry_digest", "digests", "options", "cores"}) {
    CHECK(json.contains(key));
  }
  CHECK(json["host"].contains("steps_per_second"));
  CHECK(json["fairness"].contains("streams"));
  CHECK(json["fairness"].contains("cores"));
  CHECK(json["counters"]["submitted"] == 2000);
  CHECK(json["slo"]["met"].is_boolean());
}

TEST_CASE("what is kept of an SLO is absent, with the reason, where none was given",
          "[cli][simulate]") {
  const Scratch scratch;
  const Json json = Json::parse(RunLeeway(Serve(scratch, {"--json"})).out);
  for (const Json& part : {json["total"], json["streams"][0]}) {
    CHECK(part["slo_attainment"].is_null());
    CHECK(part["slo_attainment_reason"] == "no --slo was given");
  }
}

TEST_CASE("the classes of an attribution add up to the mean latency", "[cli][simulate]") {
  const Scratch scratch;
  const Json json = Json::parse(RunLeeway(Serve(scratch, {"--json"})).out);
  std::int64_t sum = 0;
  for (const Json& part : json["attribution"]) sum += part["mean_ns"].get<std::int64_t>();
  const auto mean = json["total"]["mean_ns"].get<std::int64_t>();
  // Each part is rounded down by itself.
  CHECK(sum <= mean + 1);
  CHECK(sum >= mean - static_cast<std::int64_t>(json["attribution"].size()) - 1);
}

TEST_CASE("two simulations of the same inputs differ in `host` alone", "[cli][simulate]") {
  const Scratch scratch;
  const Words words = Serve(scratch, {"--json", "--seed", "7"});
  CHECK(Repeatable(words) == Repeatable(words));
}

TEST_CASE("a processor without vector units gives the same bytes", "[cli][simulate]") {
  const Scratch scratch;
  const Words words = Serve(scratch, {"--json"});
  const std::string expected = Repeatable(words);
  CHECK(Repeatable(words, {"GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-FMA,-AVX512F"}) == expected);
  CHECK(Repeatable(words, {"GLIBC_TUNABLES=glibc.cpu.hwcaps="
                           "-AVX2_Usable,-FMA_Usable,-AVX512F_Usable"}) == expected);
}

TEST_CASE("simulate's screen shows streams, causes, cores and what to do next in 80 columns",
          "[cli][simulate]") {
  const Scratch scratch;
  const Said said = RunLeeway(Serve(scratch, {"--slo", "p99=50ms"}));
  CAPTURE(said.err);
  REQUIRE(said.exit_code == 0);
  CHECK_THAT(said.out, Catch::StartsWith("toy on pair: 2,000 requests of "));
  for (const char* part :
       {"simulated", "(uncalibrated)", "stream", "SLO met", "p99 and above", "execution",
        "matrix:0", "matrix:1", "Fallback", "Padding waste", "Energy", "Next"}) {
    CHECK_THAT(said.out, Contains(part));
  }
  CHECK_THAT(said.err, Contains("steps in"));
}

TEST_CASE("option --telemetry writes the snapshot whose digest the document gives",
          "[cli][simulate]") {
  const Scratch scratch;
  const std::string file = scratch.Path("t.pb");
  const Said said = RunLeeway(Serve(scratch, {"--json", "--telemetry", file}));
  REQUIRE(said.exit_code == 0);
  CHECK(!ReadAll(file).empty());
  CHECK(Json::parse(said.out)["telemetry_digest"].get<std::string>().size() == 64);
}

TEST_CASE("option --limit and --window serve the beginning of a traffic", "[cli][simulate]") {
  const Scratch scratch;
  const Json limited = Json::parse(RunLeeway(Serve(scratch, {"--json", "--limit", "100"})).out);
  CHECK(limited["counters"]["submitted"] == 100);
  const Json window = Json::parse(RunLeeway(Serve(scratch, {"--json", "--window", "50ms"})).out);
  CHECK(window["counters"]["submitted"] == 500);
}

TEST_CASE("what serving options change, the document says", "[cli][simulate]") {
  const Scratch scratch;
  const Words words = Serve(scratch, {"--json", "--max-batch-size", "4", "--max-queue-delay", "2ms",
                                      "--max-queue-size", "64", "--max-concurrent-runs", "2",
                                      "--first-come", "--fallback", "reject", "--phi", "3"});
  const Json json = Json::parse(RunLeeway(words).out);
  const Json& options = json["options"];
  CHECK(options["max_batch_size"] == 4);
  CHECK(options["max_queue_delay_ns"] == 2'000'000);
  CHECK(options["max_queue_size"] == 64);
  CHECK(options["max_concurrent_runs"] == 2);
  CHECK(options["first_come"] == true);
  CHECK(options["fallback"] == "reject");
  CHECK(options["phi"] == 3.0);
  // Lengths from 193 to 250 are in no variant.
  CHECK(json["counters"]["rejected"] > 0);
}

TEST_CASE("an interrupt ends a simulation with 130, a word and no output", "[cli][simulate]") {
  const Scratch scratch;
  const std::string traffic =
      scratch.Write("h.csv", "window_start_s,seq,count\n0,10,1\n0,100,1\n3600,50,1\n");
  const std::string out = scratch.Path("out.json");
  Words words = Serve(scratch, {"--format", "length-histogram", "--requests", "2000000", "--json",
                                "-v", "-o", out});
  words[5] = traffic;
  words.erase(words.begin() + 6, words.begin() + 8);  // a histogram needs no map
  const Said said = InterruptLeeway(words);
  CAPTURE(said.err);
  CHECK(said.exit_code == 130);
  CHECK_THAT(said.err, Contains("interrupted: ") && Contains("complete so far"));
  CHECK(said.out.empty());
  CHECK(ReadAll(out).empty());
}

}  // namespace
}  // namespace leeway::testing
