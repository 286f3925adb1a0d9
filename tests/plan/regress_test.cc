#include <filesystem>
#include <string>
#include <vector>

#include "leeway/text.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

std::vector<std::string> Expectations(const std::string& text) {
  constexpr std::string_view kMark = "# expect: ";
  std::vector<std::string> expected;
  for (std::size_t at = text.find(kMark); at != std::string::npos; at = text.find(kMark, at)) {
    at += kMark.size();
    expected.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return expected;
}

TEST_CASE("every bad plan in plans/regress gives the findings that it names", "[plan][regress]") {
  std::size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(LEEWAY_SOURCE_DIR "/plans/regress")) {
    if (file.path().extension() != ".textproto") continue;
    ++files;
    const std::string name = file.path().filename().string();
    CAPTURE(name);
    const std::string text = ReadSource("plans/regress/" + name);
    const std::vector<std::string> expected = Expectations(text);
    CHECK_FALSE(expected.empty());
    const std::string findings = FindingsOf(Encode(text, name));
    for (const std::string& finding : expected) {
      CHECK_THAT(findings, Catch::Contains(finding));
    }
  }
  CHECK(files >= 70);
}

}  // namespace
}  // namespace leeway::plan
