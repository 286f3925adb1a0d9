#include <algorithm>
#include <sstream>

#include "report/loop_report.h"
#include "support/sample_loop.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;
using report::LoopMarkdown;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Bars that end a cell.
std::ptrdiff_t Bars(const std::string& line) {
  std::ptrdiff_t bars = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '|' && (i == 0 || line[i - 1] != '\\')) ++bars;
  }
  return bars;
}

// What gives a page its structure, line by line: how a line begins, and its marks.
std::vector<std::string> Structure(const std::string& text) {
  std::vector<std::string> structure;
  for (const std::string& line : Lines(text)) {
    std::string marks = line.substr(0, std::min<std::size_t>(line.size(), 2));
    for (const char c : line) {
      if (std::string_view("|`<>*[]~\\").find(c) != std::string_view::npos) marks += c;
    }
    structure.push_back(marks);
  }
  return structure;
}

TEST_CASE("the report tells what happened, why, and what it does not prove", "[report][markdown]") {
  const std::string text = LoopMarkdown(SampleLoop());
  CHECK_THAT(text, StartsWith("# Closed-loop mapping report: toy_prefill on pair\n"));
  for (const char* part : {"simulated (uncalibrated)",
                           "**Workload intent**",
                           "**Mapping**",
                           "**Hardware behaviour**",
                           "**Product impact**",
                           "## The three arms",
                           "## Why p99 moved",
                           "## Mapping accuracy",
                           "### Accuracy against adaptation gain over time",
                           "## What adapting gained",
                           "## Shapes, planned and observed",
                           "## Actions",
                           "## Batch formation by itself",
                           "## Load sweep",
                           "## Contradictions",
                           "## Overloaded windows",
                           "## What was run",
                           "## What the figures do not prove",
                           "work fell but energy rose",
                           "captured 50.00 %",
                           "by the reference policy, with 3 compiles: 45.00 %",
                           "3.500 times a fused run"}) {
    CHECK_THAT(text, Contains(part));
  }
}

TEST_CASE("where nothing can be gained the first line says so", "[report][markdown]") {
  const std::string text = LoopMarkdown(LoopWithoutHeadroom());
  CHECK_THAT(Lines(text)[0],
             Contains("No headroom: a clairvoyant would gain 1.20 % (95 % CI [−0.30 %, +2.50 %]). "
                      "0 retunes."));
  CHECK_THAT(text, !Contains("captured of the clairvoyant"));
}

TEST_CASE("where too little was seen the first line says so", "[report][markdown]") {
  LoopSummary summary = SampleLoop(2);
  summary.headroom.verdict = LoopHeadroom::Verdict::kInsufficient;
  CHECK_THAT(Lines(LoopMarkdown(summary))[0],
             Contains("Too few windows to judge: 2 windows were scored") &&
                 Contains("2 retunes (1 compile, 1 switch)"));
}

TEST_CASE("many clamped requests are on the first line", "[report][markdown]") {
  LoopSummary summary = SampleLoop();
  summary.clamped_rate = 0.0501;
  CHECK_THAT(Lines(LoopMarkdown(summary))[0], Contains("5.01 % of the requests were outside"));
}

TEST_CASE("the shares of mapping accuracy add up as printed", "[report][markdown]") {
  const std::string text = LoopMarkdown(SampleLoop());
  double sum = 0;
  for (const std::string& line : Lines(text)) {
    const bool share =
        line.rfind("| **mapping accuracy**", 0) == 0 || line.rfind("| lost to", 0) == 0;
    if (share) sum += std::stod(line.substr(line.find('|', 2) + 1));
  }
  CHECK(sum == Approx(100).margin(1e-9));
}

TEST_CASE("causes stand in the order of their change", "[report][markdown]") {
  const std::string text = LoopMarkdown(SampleLoop());
  const std::size_t section = text.find("## Why p99 moved");
  const std::size_t capacity = text.find("| capacity |", section);
  const std::size_t padding = text.find("| padding |", section);
  const std::size_t planned = text.find("| planned |", section);
  CHECK(capacity < padding);
  CHECK(padding < planned);
}

TEST_CASE("no name can break the page's structure", "[report][markdown]") {
  const std::string hostile = GENERATE(values<std::string>(
      {"a|b", "a\n\n# b", "`c`", "<script>alert(1)</script>", "a\r|\t|", "[x](javascript:alert(1))",
       "![x](http://e.com/i.png)", "\\|", "-->", "**b**", "\x1b[31mred", "\xE2\x80\xAEgnp.exe",
       "|---|\n| x |", "&lt;b&gt;", "", "\xFF|\xC0"}));
  CAPTURE(hostile);
  const std::string text = LoopMarkdown(LoopOfNames(hostile));
  CHECK(Structure(text) == Structure(LoopMarkdown(LoopOfNames("abc"))));
  for (const char c : text) {
    CHECK((static_cast<unsigned char>(c) >= 0x20 || c == '\n'));
  }
  CHECK_THAT(text, !Contains("<") && !Contains("\xE2\x80\xAE"));
}

TEST_CASE("every row of a table has as many cells as its heading", "[report][markdown]") {
  const std::vector<std::string> lines = Lines(LoopMarkdown(SampleLoop(335)));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (lines[i].rfind("|", 0) != 0 || lines[i - 1].rfind("|", 0) != 0) continue;
    CAPTURE(lines[i]);
    CHECK(Bars(lines[i]) == Bars(lines[i - 1]));
  }
}

TEST_CASE("two weeks of hours are told in at most forty rows, and the page says so",
          "[report][markdown]") {
  const std::string text = LoopMarkdown(SampleLoop(335));
  CHECK_THAT(text, Contains("Rows hold 9 neighbouring windows each"));
  CHECK(Lines(text).size() < 350);
}

TEST_CASE("a loop of nothing is a page, too", "[report][markdown]") {
  const std::string text = LoopMarkdown(LoopSummary());
  CHECK_THAT(text, StartsWith("**Too few windows to judge: 0 windows were scored"));
  CHECK_THAT(text, !Contains("nan") && !Contains("inf %"));
}

TEST_CASE("equal figures give equal pages", "[report][markdown]") {
  CHECK(LoopMarkdown(SampleLoop()) == LoopMarkdown(SampleLoop()));
}

}  // namespace
}  // namespace leeway::testing
