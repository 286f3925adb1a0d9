#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "leeway/digest.h"
#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr int kWindows = 7;
constexpr int kPerWindow = 1200;

// Windows of ten seconds, whose lengths move from short to long.
std::string Drifting() {
  std::string text = "t,seq\n";
  for (int i = 0; i < kWindows * kPerWindow; ++i) {
    const int longest = 60 + 30 * (i / kPerWindow);
    text += std::to_string(i * (10'000'000LL / kPerWindow)) + "," +
            std::to_string(1 + i * 37 % longest) + "\n";
  }
  return text;
}

std::string Steady() {
  std::string text = "t,seq\n";
  for (int i = 0; i < kWindows * kPerWindow; ++i) {
    text += std::to_string(i * (10'000'000LL / kPerWindow)) + "," +
            std::to_string(1 + i * 37 % 100) + "\n";
  }
  return text;
}

class Loop {
 public:
  explicit Loop(const std::string& traffic = Drifting()) {
    words_ = {"loop",       scratch_.Write("plan.textproto", kPlan),
              "--device",   scratch_.Write("device.textproto", DeviceText()),
              "--traffic",  scratch_.Write("t.csv", traffic),
              "--map",      "arrival=t:us,seq=seq",
              "--window",   "10s",
              "--sample",   "600",
              "--variants", "2"};
  }

  // Runs it with the run's folder called `folder`.
  Said Run(const std::string& folder, const Words& more = {}, const Words& environment = {}) const {
    Words words = words_;
    words.insert(words.end(), {"-o", Path(folder)});
    words.insert(words.end(), more.begin(), more.end());
    return RunLeeway(words, environment);
  }
  std::string Path(const std::string& name) const { return scratch_.Path(name); }
  const Scratch& scratch() const { return scratch_; }
  const Words& words() const { return words_; }

 private:
  Scratch scratch_;
  Words words_;
};

const Words kRunFiles = {"adapted.pb",         "frozen.pb", "manifest.json",
                         "report.json",        "report.md", "telemetry-adapted.pb",
                         "telemetry-frozen.pb"};

Words FilesIn(const std::string& folder) {
  Words names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool SameFiles(const std::string& one, const std::string& other) {
  for (const std::string& name : kRunFiles) {
    CAPTURE(name);
    CHECK(ReadAll(one + "/" + name) == ReadAll(other + "/" + name));
  }
  return true;
}

TEST_CASE("the loop prints the contract's keys", "[cli][loop]") {
  const Loop loop;
  const Said said = loop.Run("run", {"--json", "--load", "0.3,0.7"});
  CAPTURE(said.err);
  REQUIRE(said.exit_code == 0);
  const Json json = Json::parse(said.out);
  CHECK(json["schema"] == "leeway.loop.v1");
  for (const char* key : {"requests",
                          "device",
                          "dims",
                          "clamped_rate",
                          "time_compression",
                          "overloaded_windows",
                          "headroom",
                          "frozen",
                          "adapted",
                          "clairvoyant",
                          "gain",
                          "compiles",
                          "switches",
                          "worst_window",
                          "actions",
                          "bottleneck",
                          "contradictions",
                          "replay_error",
                          "digests",
                          "guardrails",
                          "windows",
                          "sweep",
                          "formation",
                          "version",
                          "run",
                          "host"}) {
    CAPTURE(key);
    CHECK(json.contains(key));
  }
  CHECK(json["requests"] == kWindows * kPerWindow);
  CHECK(json["dims"] == Json({"seq"}));
  CHECK(json["load"] == 0.7);
  CHECK(json["sweep"].size() == 2);
  CHECK(json["run"]["folder"] == loop.Path("run"));
  // What is told of the gain, the tail, the capacity and the mapping comes with its interval.
  for (const char* key : {"work", "p50", "p95", "p99", "capacity", "captured", "captured_cf"}) {
    CAPTURE(key);
    const Json& interval = json["gain"][std::string(key) + "_interval"];
    REQUIRE(interval.is_array());
    CHECK(interval[0] <= json["gain"][key]);
    CHECK(json["gain"][key] <= interval[1]);
  }
  for (const char* arm : {"frozen", "adapted"}) {
    for (const char* key : {"capacity_rps", "mapping_accuracy"}) {
      CAPTURE(arm, key);
      const Json& interval = json[arm][std::string(key) + "_interval"];
      REQUIRE(interval.is_array());
      CHECK(interval[0] <= json[arm][key]);
      CHECK(json[arm][key] <= interval[1]);
    }
  }
  // The device's plan space is the same for all, so that none needs less than the clairvoyant's.
  for (const Json& window : json["windows"]) {
    CHECK(window["clairvoyant_work_ns"] <= window["adapted_work_ns"]);
    CHECK(window["clairvoyant_work_ns"] <= window["frozen_work_ns"]);
  }
}

TEST_CASE("a run's folder holds its files, and a manifest whose digests fit", "[cli][loop]") {
  const Loop loop;
  REQUIRE(loop.Run("run").exit_code == 0);
  CHECK(FilesIn(loop.Path("run")) == kRunFiles);
  CHECK(loop.scratch().Files() == Words{"device.textproto", "plan.textproto", "run", "t.csv"});
  const Json manifest = Json::parse(ReadAll(loop.Path("run/manifest.json")));
  CHECK(manifest["schema"] == "leeway.run.v1");
  CHECK(manifest["version"] == LEEWAY_VERSION);
  CHECK(manifest["options"]["variants"] == 2);
  CHECK(manifest["inputs"]["traffic"]["digest"].get<std::string>().size() == 64);
  REQUIRE(manifest["files"].size() == kRunFiles.size() - 1);
  for (const Json& file : manifest["files"]) {
    const std::string bytes = ReadAll(loop.Path("run/" + file["name"].get<std::string>()));
    CHECK(file["sha256"] == Sha256Of(bytes));
    CHECK(file["bytes"] == bytes.size());
  }
  const Json report = Json::parse(ReadAll(loop.Path("run/report.json")));
  CHECK(report["digests"]["adapted_plan"].get<std::string>().size() == 64);
  CHECK_THAT(ReadAll(loop.Path("run/report.md")), Contains("# Closed-loop mapping report: toy"));
}

TEST_CASE("the plans that a run leaves are plans", "[cli][loop]") {
  const Loop loop;
  REQUIRE(loop.Run("run").exit_code == 0);
  for (const char* plan : {"run/frozen.pb", "run/adapted.pb"}) {
    const Said said =
        RunLeeway({"plan", "check", loop.Path(plan), "--device", loop.Path("device.textproto")});
    CAPTURE(said.out);
    CHECK(said.exit_code == 0);
  }
}

TEST_CASE("equal loops leave equal bytes, on however many threads", "[cli][loop]") {
  const Loop loop;
  REQUIRE(loop.Run("one", {"--jobs", "1"}).exit_code == 0);
  REQUIRE(loop.Run("two", {"--jobs", "2"}).exit_code == 0);
  REQUIRE(loop.Run("again", {"--jobs", "1"}).exit_code == 0);
  CHECK(SameFiles(loop.Path("one"), loop.Path("two")));
  CHECK(SameFiles(loop.Path("one"), loop.Path("again")));
}

// glibc picks variants of exp, log and their like by what the processor can do.
TEST_CASE("a processor without fused multiply-add leaves the same bytes", "[cli][loop]") {
  const Loop loop;
  REQUIRE(loop.Run("all").exit_code == 0);
  const Said masked =
      loop.Run("masked", {}, {"GLIBC_TUNABLES=glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2,-AVX512F"});
  REQUIRE(masked.exit_code == 0);
  CHECK(SameFiles(loop.Path("all"), loop.Path("masked")));
}

TEST_CASE("the document printed is the file's but for version, place and host", "[cli][loop]") {
  const Loop loop;
  Json printed = Json::parse(loop.Run("run", {"--json"}).out);
  for (const char* key : {"version", "run", "host"}) printed.erase(key);
  CHECK(printed == Json::parse(ReadAll(loop.Path("run/report.json"))));
}

TEST_CASE("the loop's screen says what moved in 80 columns and names files that exist",
          "[cli][loop]") {
  const Loop loop;
  const Said said = loop.Run("run");
  CAPTURE(said.err);
  REQUIRE(said.exit_code == 0);
  for (const char* part : {"toy on pair: 8,400 requests of ", "simulated (uncalibrated)", "frozen",
                           "adapted", "clairvoyant", "95 % CI", "Why p99 moved", "Mapping accuracy",
                           "Adaptation", "Report", "Next"}) {
    CHECK_THAT(said.out, Contains(part));
  }
  CHECK_THAT(said.out, Contains(loop.Path("run/report.md")) &&
                           Contains("leeway plan show " + loop.Path("run/adapted.pb")));
  CHECK(said.err.find('\x1b') == std::string::npos);
}

TEST_CASE("where nothing can be gained the screen and the report begin with it", "[cli][loop]") {
  const Loop loop(Steady());
  const Said said = loop.Run("run");
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.out, Catch::StartsWith("No headroom: a clairvoyant would gain "));
  CHECK_THAT(said.out, !Contains("captured"));
  CHECK_THAT(ReadAll(loop.Path("run/report.md")), Catch::StartsWith("**No headroom: "));
  const Json json = Json::parse(ReadAll(loop.Path("run/report.json")));
  CHECK(json["headroom"]["verdict"] == "none");
  CHECK(json["gain"]["captured"].is_null());
  CHECK(json["gain"]["captured_reason"].is_string());
}

TEST_CASE("what is at the place of a run stays as it is: exit 4", "[cli][loop]") {
  const Loop loop;
  std::filesystem::create_directory(loop.Path("run"));
  loop.scratch().Write("run/mine.txt", "kept");
  loop.scratch().Write("file", "kept");
  REQUIRE(::symlink("nowhere", loop.Path("link").c_str()) == 0);
  for (const char* name : {"run", "run/", "file", "link"}) {
    const Said said = loop.Run(name);
    CAPTURE(name, said.err);
    CHECK(said.exit_code == 4);
    CHECK(said.out.empty());
    CHECK_THAT(said.err, Contains(loop.Path(std::string(name).substr(0, 3))));
  }
  CHECK(FilesIn(loop.Path("run")) == Words{"mine.txt"});
  CHECK(ReadAll(loop.Path("file")) == "kept");
}

TEST_CASE("option --force replaces the files of a run and no other", "[cli][loop]") {
  const Loop loop;
  REQUIRE(loop.Run("run", {"--seed", "1"}).exit_code == 0);
  REQUIRE(loop.Run("fresh", {"--seed", "2"}).exit_code == 0);
  loop.scratch().Write("run/mine.txt", "kept");
  const Said said = loop.Run("run", {"--seed", "2", "--force"});
  CAPTURE(said.err);
  CHECK(said.exit_code == 0);
  CHECK(ReadAll(loop.Path("run/mine.txt")) == "kept");
  CHECK(FilesIn(loop.Path("run")).size() == kRunFiles.size() + 1);
  CHECK(SameFiles(loop.Path("run"), loop.Path("fresh")));
}

TEST_CASE("option --force spares a file that no run left", "[cli][loop]") {
  const Loop loop;
  std::filesystem::create_directory(loop.Path("run"));
  const std::string manifest = GENERATE(values<std::string>(
      {"", "not json", "[]", R"({"schema": "other", "files": [{"name": "report.md"}]})",
       R"({"schema": "leeway.run.v1", "files": 7})",
       R"({"schema": "leeway.run.v1", "files": [7, {"name": 7}, {}]})"}));
  CAPTURE(manifest);
  loop.scratch().Write("run/report.md", "kept");
  if (!manifest.empty()) loop.scratch().Write("run/manifest.json", manifest);
  const Said said = loop.Run("run", {"--force"});
  CHECK(said.exit_code == 4);
  CHECK(ReadAll(loop.Path("run/report.md")) == "kept");
  loop.scratch().Write("file", "kept");
  CHECK(loop.Run("file", {"--force"}).exit_code == 4);
  CHECK(ReadAll(loop.Path("file")) == "kept");
}

TEST_CASE("a folder that cannot be made is told before anything runs", "[cli][loop]") {
  const Loop loop;
  loop.scratch().Write("file", "");
  for (const char* folder : {"no/where", "file/in"}) {
    const Said said = loop.Run(folder);
    CHECK(said.exit_code == 4);
    CHECK_THAT(said.err, Contains(loop.Path(folder) + ": "));
    CHECK(said.out.empty());
  }
}

TEST_CASE("what the loop cannot run on exits 3, is named, and leaves nothing", "[cli][loop]") {
  const Loop loop;
  const Said few = loop.Run("run", {"--limit", "500"});
  CHECK(few.exit_code == 3);
  CHECK_THAT(few.err, Contains(loop.Path("t.csv") + ": 1 window of "));
  const Said entry = loop.Run("run", {"--entry", "decode"});
  CHECK(entry.exit_code == 3);
  CHECK_THAT(entry.err, Contains("plan.textproto") && Contains("decode"));
  const Loop longer("t,seq\n0,5\n1,300\n2,7\n");
  const Said strict = longer.Run("run", {"--strict"});
  CHECK(strict.exit_code == 3);
  CHECK(!std::filesystem::exists(loop.Path("run")));
}

TEST_CASE("an interrupt ends the loop with 130, a word and no folder", "[cli][loop]") {
  const Loop loop;
  Words words = loop.words();
  words[5] = "chat_14d";
  words[1] = "llama2_7b_prefill";
  words[3] = "onnxim_tpuv4_c4";
  words.erase(words.begin() + 6, words.begin() + 10);  // map and window
  words.insert(words.end(), {"-v", "-o", loop.Path("run")});
  const Said said = InterruptLeeway(words);
  CAPTURE(said.err);
  CHECK(said.exit_code == 130);
  CHECK_THAT(said.err, Contains("interrupted ") && Contains("nothing is written"));
  CHECK(said.out.empty());
  CHECK(loop.scratch().Files() == Words{"device.textproto", "plan.textproto", "t.csv"});
}

}  // namespace
}  // namespace leeway::testing
