#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Words = std::vector<std::string>;

constexpr const char* kMap = "arrival=t:us,seq=seq";

// The words that serve `traffic` with the plan and the device in `scratch`.
Words Serve(const Scratch& scratch, const std::string& traffic, Words more = {}) {
  Words words = {"simulate",  scratch.Write("plan.textproto", kPlan),
                 "--device",  scratch.Write("device.textproto", DeviceText()),
                 "--traffic", traffic,
                 "--map",     kMap};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Exits with `code`, and says on standard error alone where and what.
void CheckRefused(const Words& words, int code, const std::vector<std::string>& said) {
  CAPTURE(words);
  const Said result = RunLeeway(words);
  CHECK(result.exit_code == code);
  CHECK(result.out.empty());
  CHECK_THAT(result.err, Catch::StartsWith("leeway: "));
  for (const std::string& part : said) CHECK_THAT(result.err, Contains(part));
}

TEST_CASE("a missing file exits 4 and is named", "[cli][input]") {
  const Scratch scratch;
  const std::string none = scratch.Path("none.pb");
  CheckRefused({"buckets", none}, 4, {none});
  CheckRefused({"plan", "check", none}, 4, {none});
  CheckRefused({"plan", "show", scratch.Path("none.textproto")}, 4, {"none.textproto"});
  CheckRefused(Serve(scratch, none), 4, {none});
  CheckRefused({"simulate", none, "--traffic", none}, 4, {none});
  CheckRefused(
      {"simulate", scratch.Write("p.textproto", kPlan), "--device", none, "--traffic", none}, 4,
      {none});
}

TEST_CASE("a folder or a place that cannot be written exits 4", "[cli][input]") {
  const Scratch scratch;
  const std::string traffic = scratch.Write("t.csv", TrafficCsv(100, 64));
  CheckRefused({"plan", "check", scratch.Path("")}, 4, {scratch.Path("")});
  CheckRefused(Serve(scratch, scratch.Path("")), 4, {scratch.Path("")});
  CheckRefused({"buckets", scratch.Path("")}, 4, {scratch.Path("")});
  CheckRefused({"buckets", traffic, "--map", kMap, "-o", scratch.Path("no/where.txt")}, 4,
               {"no/where.txt"});
  CheckRefused({"buckets", traffic, "--map", kMap, "-o", scratch.Path("")}, 4, {});
  CheckRefused(Serve(scratch, traffic, {"--telemetry", scratch.Path("no/where.pb")}), 4,
               {"no/where.pb"});
}

TEST_CASE("a plan whose memory the device lacks is refused with both named", "[cli][input]") {
  const Scratch scratch;
  Words words = Serve(scratch, scratch.Write("t.csv", TrafficCsv(10, 64)));
  std::string device = DeviceText();
  const std::string capacity = "capacity_bytes: 8589934592";
  device.replace(device.find(capacity), capacity.size(), "capacity_bytes: 1000");
  words[3] = scratch.Write("small.textproto", device);
  CheckRefused(words, 3, {"plan.textproto on ", "small.textproto: ", "bytes of DRAM"});
}

TEST_CASE("a traffic without a request is refused as that", "[cli][input]") {
  const Scratch scratch;
  CheckRefused(Serve(scratch, scratch.Write("t.csv", "t,seq\n")), 3, {"holds no request"});
}

struct BadRow {
  std::string rows;
  std::string line;
};

TEST_CASE("a bad row exits 3 and is named by file and line", "[cli][input]") {
  const Scratch scratch;
  const BadRow bad = GENERATE(values<BadRow>({
      {"t,seq\n0,10\n500,10\n100,10\n", ":4"},          // times go back
      {"t,seq\n0,10\n10,0\n", ":3"},                    // a dim below 1
      {"t,seq\n0,10\n10,-5\n", ":3"},                   // a dim below 1
      {"t,seq\n0,10\n10,2.5\n", ":3"},                  // a dim that is no whole number
      {"t,seq\n0,10\n10,long\n", ":3"},                 // a dim that is no number
      {"t,seq\n0,10\nnoon,10\n", ":3"},                 // a time that is none
      {"t,seq\n0,10\n10\n", ":3"},                      // a row too short
      {"t,seq\n0,10\n10,99999999999999999999\n", ":3"}  // a number too large
  }));
  CAPTURE(bad.rows);
  const std::string traffic = scratch.Write("t.csv", bad.rows);
  CheckRefused(Serve(scratch, traffic), 3, {"t.csv" + bad.line});
}

TEST_CASE("times before the first arrival are refused with the line", "[cli][input]") {
  const Scratch scratch;
  const std::string traffic = scratch.Write("t.csv", "t,seq\n10,5\n-500,5\n");
  CheckRefused(Serve(scratch, traffic), 3, {"t.csv:3"});
}

TEST_CASE("a column that is not there exits 3, whichever command reads it", "[cli][input]") {
  const Scratch scratch;
  const std::string traffic = scratch.Write("t.csv", TrafficCsv(10, 64));
  CheckRefused({"buckets", traffic, "--map", "arrival=t:us,seq=tokens"}, 3, {"t.csv", "tokens"});
  CheckRefused({"buckets", traffic, "--map", "arrival=when,seq=seq"}, 3, {"t.csv", "when"});
  CheckRefused({"buckets", traffic, "--map", "nonsense"}, 3, {"nonsense"});
}

TEST_CASE("a truncated .gz exits 3 and is named", "[cli][input]") {
  const Scratch scratch;
  const std::string traffic = scratch.Write("t.csv.gz", Gzip(TrafficCsv(5000, 64), 100));
  CheckRefused(Serve(scratch, traffic), 3, {"t.csv.gz"});
}

TEST_CASE("a truncated plan exits 3 and is named", "[cli][input]") {
  const Scratch scratch;
  // A field of 100 bytes that ends after two.
  const std::string plan = scratch.Write("cut.pb", std::string_view("\x0a\x64xy", 4));
  CheckRefused({"plan", "check", plan}, 3, {"cut.pb"});
  CheckRefused({"plan", "show", plan}, 3, {"cut.pb"});
  CheckRefused({"simulate", plan, "--traffic", "chat_1h"}, 3, {"cut.pb"});
}

TEST_CASE("text that does not parse exits 3 and is named by file and line", "[cli][input]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("bad.textproto", "header {\n  modell: \"x\"\n}\n");
  CheckRefused({"plan", "check", plan}, 3, {"bad.textproto:2"});
  const std::string json = scratch.Write("bad.json", "{\"header\": {\"model\": 1}}");
  CheckRefused({"plan", "show", json}, 3, {"bad.json"});
  const std::string device = scratch.Write("d.textproto", "name: 7\n");
  CheckRefused({"simulate", scratch.Write("p.textproto", kPlan), "--device", device, "--traffic",
                scratch.Write("t.csv", TrafficCsv(10, 10))},
               3, {"d.textproto:1"});
}

TEST_CASE("a device without cores of the plan's class exits 3 and the class is named",
          "[cli][input]") {
  const Scratch scratch;
  Words words = Serve(scratch, scratch.Write("t.csv", TrafficCsv(10, 64)));
  words[3] = scratch.Write("other.textproto", DeviceText("tensor"));
  CheckRefused(words, 3,
               {"plan.textproto on ", "other.textproto: entries[0].variants[0].fusion_groups[0]",
                "\"matrix\""});
}

TEST_CASE("a dim above the domain is refused under --strict, and clamped without", "[cli][input]") {
  const Scratch scratch;
  const std::string traffic = scratch.Write("t.csv", "t,seq\n0,10\n50,300\n");
  CheckRefused(Serve(scratch, traffic, {"--strict"}), 3, {"300"});
  const Said clamped = RunLeeway(Serve(scratch, traffic));
  CHECK(clamped.exit_code == 0);
  CHECK_THAT(clamped.out, Catch::StartsWith("50.00 % of the requests had a dimension above"));
}

TEST_CASE("an entry that the plan does not have exits 3 and is named", "[cli][input]") {
  const Scratch scratch;
  const std::string traffic = scratch.Write("t.csv", TrafficCsv(10, 64));
  CheckRefused(Serve(scratch, traffic, {"--entry", "decode"}), 3, {"decode"});
}

TEST_CASE("a dim of the plan that nothing binds exits 3 and is named", "[cli][input]") {
  const Scratch scratch;
  const std::string traffic = scratch.Write("t.csv", "t,a,b\n0,1,1\n5,2,2\n");
  Words words = Serve(scratch, traffic);
  words[7] = "arrival=t:us,a=a,b=b";
  CheckRefused(words, 3, {"seq"});
  words.insert(words.end(), {"--bind", "seq=a"});
  CHECK(RunLeeway(words).exit_code == 0);
}

}  // namespace
}  // namespace leeway::testing
