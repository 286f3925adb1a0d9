// The checks of the cost model, each with its source in lib/api/model_checks_*.cc.

#include "leeway/validate.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/file.h"
#include "tests/catch.h"

namespace leeway {
namespace {

using Catch::Matchers::Contains;

std::vector<ModelCheck> Checks(const ValidateOptions& options = {}) {
  auto checks = ValidateModel(options);
  INFO(checks.status().ToString());
  REQUIRE(checks.ok());
  return *checks;
}

std::vector<ModelCheck> Of(const std::string& name) {
  std::vector<ModelCheck> of;
  for (const ModelCheck& check : Checks()) {
    if (check.name == name) of.push_back(check);
  }
  return of;
}

void CheckAll(const std::string& name, std::size_t count) {
  const std::vector<ModelCheck> checks = Of(name);
  CHECK(checks.size() == count);
  for (const ModelCheck& check : checks) {
    CAPTURE(check.name, check.what, check.ours, check.reference, check.error());
    CHECK(check.ok());
  }
}

TEST_CASE("V1: ResNet-50 takes the cycles that SCALE-Sim takes, to the cycle",
          "[api][prediction]") {
  CheckAll("V1", 6);
}

TEST_CASE("V2: arrays read and write as often as SCALE-Sim counts", "[api][prediction]") {
  CheckAll("V2", 8);
}

TEST_CASE("V3: transfers take what the lines of TPU v4 say", "[api][plumbing]") {
  CheckAll("V3", 6);
}

TEST_CASE("V4: two transfers at once are within 10 % of TPU v4, their sums 3 %, but for hbm-cmem",
          "[api][prediction]") {
  const std::vector<ModelCheck> checks = Of("V4");
  CHECK(checks.size() == 19);
  std::size_t missed = 0;
  for (const ModelCheck& check : checks) {
    CAPTURE(check.what, check.ours, check.reference, check.error());
    CHECK(check.kind == CheckKind::kPrediction);
    CHECK(check.tolerance <= 0.10);
    if (check.what.find("sum") != std::string::npos) CHECK(check.tolerance == 0.03);
    // Unfair pairs whose sum no sharing gives: not met, and the table says so.
    if (check.what.find("hbm-cmem") != std::string::npos) {
      ++missed;
      CHECK_FALSE(check.ok());
      CHECK(check.error() < 0.25);
      CHECK_FALSE(check.note.empty());
    } else {
      CHECK(check.ok());
    }
  }
  CHECK(missed == 2);
}

TEST_CASE("V6: a queue of launches hides the host behind long kernels as TPU v4 does",
          "[api][plumbing]") {
  CheckAll("V6", 4);
}

TEST_CASE(
    "V9: voltages are the firmware's, and twice the power limit settles at it within a second",
    "[api][plumbing]") {
  CheckAll("V9", 6);
}

TEST_CASE("V10: a thermal step is its exponential, energy the integral of power",
          "[api][plumbing]") {
  CheckAll("V10", 2);
}

TEST_CASE("V11: a TPU v4 draws 90 W idle and at most 300 W with everything on", "[api][plumbing]") {
  CheckAll("V11", 3);
}

TEST_CASE("V12: links share as the definition of fairness says", "[api][plumbing]") {
  CheckAll("V12", 4);
}

TEST_CASE("V5: products on a TPU v4 are within 10 % where operands are resident, else 15 %",
          "[api][prediction]") {
  CheckAll("V5", 4);
}

TEST_CASE("V7: ONNXim's convolution by taps is within 3 %", "[api][prediction]") {
  CheckAll("V7", 1);
}

TEST_CASE(
    "V8: products on an A100 are within 15 % of LLMCompass's measurements, but for the smallest",
    "[api][prediction]") {
  const std::vector<ModelCheck> checks = Of("V8");
  REQUIRE(checks.size() == 4);
  for (const ModelCheck& check : checks) {
    CAPTURE(check.what, check.ours, check.error());
    CHECK(check.tolerance == 0.15);
    const bool smallest = check.what == "A100, 8192 × 64² fp16";
    // 21 of its 29.6 µs are a launch that is an input; the model misses most of the rest, and says
    // so in the table.
    if (smallest) {
      CHECK_FALSE(check.ok());
      CHECK(check.error() > -0.25);
      CHECK_FALSE(check.note.empty());
    } else {
      CHECK(check.ok());
    }
  }
}

TEST_CASE("every check has a source, a unit, a kind and a tolerance, in the order of their names",
          "[api][unit]") {
  const std::vector<ModelCheck> checks = Checks();
  std::set<std::string> whats;
  std::size_t plumbing = 0;
  for (const ModelCheck& check : checks) {
    CHECK_FALSE(check.source.empty());
    CHECK_FALSE(check.unit.empty());
    CHECK(check.reference > 0);
    CHECK(check.tolerance >= 0);
    CHECK(whats.insert(check.name + check.what).second);
    plumbing += check.kind == CheckKind::kPlumbing ? 1 : 0;
  }
  CHECK(std::is_sorted(checks.begin(), checks.end(), [](const auto& a, const auto& b) {
    return std::stoi(a.name.substr(1)) < std::stoi(b.name.substr(1));
  }));
  // What the fill of the TPU v4 was fitted to.
  CHECK(plumbing >= 1);
}

TEST_CASE("a bound accepts what stays below it, and its tolerance", "[api][unit]") {
  ModelCheck check{.name = "V11", .what = "x", .ours = 10, .reference = 300};
  check.rule = CheckRule::kAtMost;
  CHECK(check.ok());
  check.ours = 300;
  CHECK(check.ok());
  check.ours = 301;
  CHECK_FALSE(check.ok());
  check.tolerance = 0.01;
  CHECK(check.ok());
}

TEST_CASE("an exact check accepts no difference", "[api][unit]") {
  ModelCheck check{.name = "V1", .what = "x", .ours = 100, .reference = 100};
  CHECK(check.ok());
  check.ours = 101;
  CHECK_FALSE(check.ok());
  CHECK(check.error() == Approx(0.01));
  check.tolerance = 0.01001;
  CHECK(check.ok());
  check.ours = 98;
  CHECK_FALSE(check.ok());
}

constexpr char kHeading[] =
    "dataflow,R,C,M,N,K,scalesim_compute_cycles,ifmap_sram_reads,filter_sram_reads,"
    "ofmap_sram_writes\n";

TEST_CASE("rows of SCALE-Sim are counted, and the first that differs is named", "[api][unit]") {
  ValidateOptions options;
  options.scalesim_name = "rows.csv";
  // 2 · 1 folds of 4 + 4 + 8 - 2 cycles; the second row is one off.
  options.scalesim_rows =
      std::string(kHeading) + "os,4,4,8,4,8,27,64,64,32\nos,4,4,8,4,8,28,64,64,1\n";
  for (const ModelCheck& check : Checks(options)) {
    if (check.what != "rows of rows.csv") continue;
    CHECK(check.reference == 2);
    CHECK(check.ours == (check.name == "V1" ? 1 : 2));
    if (check.name == "V1") CHECK_THAT(check.note, Contains("line 3"));
  }
}

TEST_CASE("rows that cannot be read are refused with their line", "[api][unit]") {
  const auto message = [](const std::string& rows) {
    return std::string(ValidateModel({rows, "rows.csv"}).status().message());
  };
  CHECK_THAT(message("dataflow,R\nos,4\n"), Contains("rows.csv:1: no column \"C\""));
  CHECK_THAT(message(kHeading), Contains("rows.csv: no rows"));
  CHECK_THAT(message(std::string(kHeading) + "rs,4,4,8,4,8,27,64,64,32\n"),
             Contains("rows.csv:2: dataflow is none of os, ws, is"));
  CHECK_THAT(message(std::string(kHeading) + "os,4,4,-8,4,8,27,64,64,32\n"),
             Contains("rows.csv:2: M is not a whole number"));
  CHECK_THAT(message(std::string(kHeading) + "os,4,4,8,4\n"), Contains("rows.csv:2: K is not"));
}

#ifdef LEEWAY_SHARED_DATA_DIR

TEST_CASE("V1 and V2 hold for every row of the recorded SCALE-Sim results",
          "[api][prediction][data]") {
  const std::string path = LEEWAY_SHARED_DATA_DIR "/reference/scalesim_resnet50.csv";
  const auto rows = base::ReadFile(path, 1 << 24);
  REQUIRE(rows.ok());
  std::size_t found = 0;
  for (const ModelCheck& check : Checks({*rows, "resnet50"})) {
    if (check.what != "rows of resnet50") continue;
    ++found;
    CAPTURE(check.name, check.ours, check.note);
    CHECK(check.reference == 324);
    CHECK(check.ok());
  }
  CHECK(found == 2);
}

#endif

}  // namespace
}  // namespace leeway
