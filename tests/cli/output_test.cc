#include <sys/stat.h>

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
