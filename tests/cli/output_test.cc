#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Words = std::vector<std::string>;

Words Show(const Scratch& scratch, const Words& more = {}) {
  Words words = {"plan", "show", scratch.Write("p.textproto", kPlan)};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST_CASE("option -o writes what standard output would get, and nothing beside it",
          "[cli][output]") {
  const Scratch scratch;
  const std::string expected = RunLeeway(Show(scratch)).out;
  const Said said = RunLeeway(Show(scratch, {"-o", scratch.Path("shown.txt")}));
  CHECK(said.exit_code == 0);
  CHECK(said.out.empty());
  CHECK(ReadAll(scratch.Path("shown.txt")) == expected);
  CHECK(scratch.Files() == Words{"p.textproto", "shown.txt"});
}

TEST_CASE("option -o replaces a file, and follows a link to it", "[cli][output]") {
  const Scratch scratch;
  const std::string expected = RunLeeway(Show(scratch)).out;
  const std::string file = scratch.Write("old.txt", std::string(100000, 'x'));
  const std::string link = scratch.Path("link.txt");
  REQUIRE(::symlink(file.c_str(), link.c_str()) == 0);
  CHECK(RunLeeway(Show(scratch, {"-o", link})).exit_code == 0);
  CHECK(ReadAll(file) == expected);
  struct stat info = {};
  REQUIRE(::lstat(link.c_str(), &info) == 0);
  CHECK(S_ISLNK(info.st_mode));
}

TEST_CASE("option -o - is standard output, and a device stays a device", "[cli][output]") {
  const Scratch scratch;
  CHECK(RunLeeway(Show(scratch, {"-o", "-"})).out == RunLeeway(Show(scratch)).out);
  CHECK(RunLeeway(Show(scratch, {"-o", "/dev/null"})).exit_code == 0);
  struct stat info = {};
  REQUIRE(::stat("/dev/null", &info) == 0);
  CHECK(S_ISCHR(info.st_mode));
}

TEST_CASE("a full device is told with exit 4", "[cli][output]") {
  const Scratch scratch;
  struct stat info = {};
  if (::stat("/dev/full", &info) != 0) return;
  const Said said = RunLeeway(Show(scratch, {"-o", "/dev/full"}));
  CHECK(said.exit_code == 4);
  CHECK_THAT(said.err, Contains("/dev/full"));
}

TEST_CASE("a failed command leaves the file at -o as it was", "[cli][output]") {
  const Scratch scratch;
  const std::string file = scratch.Write("kept.txt", "kept");
  const std::string bad = scratch.Write("bad.textproto", "nonsense {");
  CHECK(RunLeeway({"plan", "show", bad, "-o", file}).exit_code == 3);
  CHECK(ReadAll(file) == "kept");
}

TEST_CASE("escape sequences come only where they are asked for", "[cli][output]") {
  const Scratch scratch;
  const std::string traffic = scratch.Write("t.csv", TrafficCsv(3000, 64));
  const Words words = {"buckets", traffic, "--map", "arrival=t:us,seq=seq", "--window", "10ms"};
  CHECK_THAT(RunLeeway(words).out, !Contains("\x1b["));
  Words colored = words;
  colored.insert(colored.end(), {"--color", "always"});
  CHECK_THAT(RunLeeway(colored).out, Contains("\x1b["));
  CHECK_THAT(RunLeeway(words, {"NO_COLOR=1"}).out, !Contains("\x1b["));
}

// True for what a terminal obeys: C0 but line ends, DEL, and C1 in UTF-8.
bool HasControl(const std::string& text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte < 0x20 && byte != '\n') || byte == 0x7f) return true;
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
    if (byte == 0xc2 && next >= 0x80 && next < 0xa0) return true;
  }
  return false;
}

// Sets a terminal's title, deletes, clears the screen (CSI as one C1 character).
constexpr const char* kHostile =
    "a\x1b]0;b\x07\x7f\xc2\x9b"
    "2Jc";
constexpr const char* kShown = R"(a\x1b]0;b\x07\x7f\xc2\x9b2Jc)";

TEST_CASE("control characters of names reach neither standard error nor the screen",
          "[cli][output][hostile]") {
  const Scratch scratch;
  const std::string device = scratch.Write("d.textproto", DeviceText());
  const std::string csv = scratch.Write("t.csv", TrafficCsv(3000, 64));
  const std::string odd = scratch.Write(std::string(kHostile) + ".csv", TrafficCsv(3000, 64));
  const std::string columns = scratch.Write("c.csv", "t," + std::string(kHostile) + "\n0,1\n5,2\n");
  std::string text(kPlan);
  text.replace(text.find("\"toy\""), 5, R"("a\033]0;b\007\177\302\2332Jc")");
  const std::string plan = scratch.Write("p.textproto", text);
  const std::string map = "arrival=t:us,seq=seq";
  const std::string odd_map = "arrival=t:us," + std::string(kHostile) + "=seq";
  struct Case {
    Words words;
    int code;
  };
  const std::vector<Case> cases = {
      {{"plan", "check", scratch.Path(kHostile)}, 4},           // a file's name
      {{"plan", kHostile}, 2},                                  // a word
      {{"plan", "show", plan, "--color", kHostile}, 2},         // a value
      {{"buckets", columns, "--map", map}, 3},                  // a column's name
      {{"buckets", odd, "--map", map, "--window", "10ms"}, 0},  // a traffic's
      {{"simulate", plan, "--device", device, "--traffic", csv, "--map", map}, 0},      // a plan's
      {{"simulate", plan, "--device", device, "--traffic", csv, "--map", odd_map}, 0},  // a dim's
  };
  for (const Case& c : cases) {
    CAPTURE(c.words);
    const Said said = RunLeeway(c.words);
    CHECK(said.exit_code == c.code);
    CHECK_FALSE(HasControl(said.err));
    CHECK_FALSE(HasControl(said.out));
    CHECK_THAT(said.err + said.out, Contains(kShown));
  }
}

TEST_CASE("with colours on, a name brings no other escape sequence than theirs",
          "[cli][output][hostile]") {
  const Scratch scratch;
  const std::string odd = scratch.Write(std::string(kHostile) + ".csv", TrafficCsv(3000, 64));
  const Said said = RunLeeway(
      {"buckets", odd, "--map", "arrival=t:us,seq=seq", "--window", "10ms", "--color", "always"});
  REQUIRE(said.exit_code == 0);
  CHECK_THAT(said.out, Contains("\x1b[1m") && !Contains("\x1b]") && !Contains("\xc2\x9b"));
}

TEST_CASE("a message that quotes too much is cut", "[cli][output][hostile]") {
  const std::string word(100'000, 'x');
  const Said said = RunLeeway({"plan", "check", word});
  CHECK(said.exit_code == 4);
  CHECK(said.err.size() > 60'000);
  CHECK(said.err.size() < 66'000);
  CHECK_THAT(said.err, Catch::EndsWith("…\n"));
}

TEST_CASE("two outputs of one name are refused before anything is read", "[cli][output]") {
  const Scratch scratch;
  const std::string file = scratch.Write("old", "kept");
  const std::string link = scratch.Path("link");
  REQUIRE(::symlink(file.c_str(), link.c_str()) == 0);
  const auto names = GENERATE(values<std::pair<const char*, const char*>>({
      {"old", "old"},
      {"old", "link"},
      {"link", "old"},
      {"new", "new"},
      {"new", "./new"},
  }));
  const std::string output = scratch.Path(names.first), telemetry = scratch.Path(names.second);
  CAPTURE(output, telemetry);
  const Said said =
      RunLeeway({"simulate", "none", "--traffic", "none", "-o", output, "--telemetry", telemetry});
  CHECK(said.exit_code == 2);
  CHECK(said.out.empty());
  CHECK_THAT(said.err, Contains("-o") && Contains("--telemetry") && Contains(telemetry));
  CHECK(ReadAll(file) == "kept");
  CHECK(scratch.Files() == Words{"link", "old"});
}

TEST_CASE("option --quiet says nothing on standard error but errors", "[cli][output]") {
  const Scratch scratch;
  const Words words = {"simulate",  scratch.Write("plan.textproto", kPlan),
                       "--device",  scratch.Write("device.textproto", DeviceText()),
                       "--traffic", scratch.Write("t.csv", TrafficCsv(100, 64)),
                       "--map",     "arrival=t:us,seq=seq",
                       "--quiet"};
  const Said said = RunLeeway(words);
  CHECK(said.exit_code == 0);
  CHECK(said.err.empty());
  CHECK(!said.out.empty());
}

}  // namespace
}  // namespace leeway::testing
