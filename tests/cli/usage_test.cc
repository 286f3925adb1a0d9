#include "support/inputs.h"
#include "support/program.h"
#include "tests/catch.h"

namespace leeway::testing {
namespace {

using Catch::Matchers::Contains;
using Words = std::vector<std::string>;

struct Wrong {
  Words words;
  std::string said;
};

TEST_CASE("a wrong command line exits 2, says what is wrong on standard error and prints nothing",
          "[cli][usage]") {
  const Wrong wrong = GENERATE(values<Wrong>({
      {{}, "no command given"},
      {{"simulat"}, "did you mean 'simulate'?"},
      {{"frobnicate"}, "no command 'frobnicate'; 'leeway help' lists them"},
      {{"--json", "buckets"}, "the command comes first"},
      {{"plan"}, "plan needs one of: check, show"},
      {{"plan", "chek"}, "did you mean 'plan check'?"},
      {{"plan", "nothing"}, "there is: check, show"},
      {{"help", "bucket"}, "did you mean 'buckets'?"},
      {{"buckets"}, "buckets needs a TRAFFIC"},
      {{"buckets", "a", "b"}, "one argument too many: 'b'"},
      {{"buckets", "a", "--windw", "1h"}, "no option '--windw' in 'leeway buckets'"},
      {{"buckets", "a", "--windw", "1h"}, "did you mean '--window'?"},
      {{"buckets", "a", "--z"}, "no option '--z'"},
      {{"buckets", "a", "-z"}, "no option '-z'"},
      {{"buckets", "a", "--k"}, "option --k needs a value"},
      {{"buckets", "a", "--k", "many"}, "option --k: 'many' is not a whole number from 1 to 4096"},
      {{"buckets", "a", "--k", "0"}, "option --k: '0'"},
      {{"buckets", "a", "--k", "8.5"}, "option --k: '8.5'"},
      {{"buckets", "a", "--phi", "-1"}, "option --phi: '-1' is not a number"},
      {{"buckets", "a", "--phi", "nan"}, "option --phi: 'nan'"},
      {{"buckets", "a", "--tau", "3%"}, "option --tau: '3%'"},
      {{"buckets", "a", "--align", "0"}, "option --align: '0'"},
      {{"buckets", "a", "--window", "10"}, "option --window: '10' is not a duration"},
      {{"buckets", "a", "--window", "9999999d"}, "of at most 104 days"},
      {{"buckets", "a", "--window", "10 parsecs"}, "such as 50ms or 10m"},
      {{"buckets", "a", "--window", "-1h"}, "option --window: '-1h' is not a duration"},
      {{"buckets", "a", "--window", "0"}, "a duration above zero"},
      {{"buckets", "a", "--window", "999999999d"}, "option --window"},
      {{"buckets", "a", "--seed", "-1"}, "option --seed: '-1'"},
      {{"buckets", "a", "--format", "xml"}, "option --format: 'xml' is not one of auto, csv"},
      {{"buckets", "a", "--color", "blue"}, "option --color: 'blue'"},
      {{"buckets", "a", "--json=yes"}, "option --json takes no value"},
      {{"buckets", "a", "--dim", "seq=1:8"}, "option --dim: 'seq=1:8'"},
      {{"simulate"}, "simulate needs a PLAN"},
      {{"simulate", "p"}, "simulate needs --traffic TRAFFIC"},
      {{"simulate", "p", "--traffic", "t", "--bind", "seq"}, "of the form DIM=COLUMN"},
      {{"simulate", "p", "--traffic", "t", "--slo", "p42=1s"}, "option --slo: 'p42=1s'"},
      {{"simulate", "p", "--traffic", "t", "--slo", "fast"}, "option --slo: 'fast'"},
      {{"simulate", "p", "--traffic", "t", "--fallback", "pray"}, "generic, nearest, reject"},
      {{"simulate", "p", "--traffic", "t", "--max-batch-size", "0"}, "option --max-batch-size"},
      {{"loop"}, "loop needs a MODEL"},
      {{"loop", "m"}, "loop needs --traffic TRAFFIC"},
      {{"loop", "m", "--traffic", "t", "--load", "0"}, "option --load: '0' is not a share above 0"},
      {{"loop", "m", "--traffic", "t", "--load", "1.6"}, "option --load: '1.6'"},
      {{"loop", "m", "--traffic", "t", "--load", "0.3,,0.5"}, "or several such as 0.3,0.5,0.7"},
      {{"loop", "m", "--traffic", "t", "--load", "0.3,"}, "option --load: '0.3,'"},
      {{"loop", "m", "--traffic", "t", "--load", "nan"}, "option --load: 'nan'"},
      {{"loop", "m", "--traffic", "t", "--variants", "0"}, "a whole number from 1 to 4096"},
      {{"loop", "m", "--traffic", "t", "--phi", "0.9"}, "option --phi: '0.9'"},
      {{"loop", "m", "--traffic", "t", "--rate", "fast"}, "is not one of flat, recorded"},
      {{"loop", "m", "--traffic", "t", "--window", "0"}, "a duration above zero"},
      {{"loop", "m", "--traffic", "t", "--compile-time", "-1s"}, "option --compile-time: '-1s'"},
      {{"loop", "m", "--traffic", "t", "--reality", "real"}, "is not noise, noise:SEED or exact"},
      {{"loop", "m", "--traffic", "t", "--reality", "noise:"}, "option --reality: 'noise:'"},
      {{"loop", "m", "--traffic", "t", "--reality", "noise:-1"}, "option --reality: 'noise:-1'"},
      {{"loop", "m", "--traffic", "t", "--reality", "exactly"}, "option --reality: 'exactly'"},
      {{"loop", "m", "--traffic", "t", "--slo", "p95=1s"}, "is not a latency such as p99=500ms"},
      {{"loop", "m", "--traffic", "t", "--slo", "p99=0"}, "option --slo: 'p99=0'"},
      {{"loop", "m", "--traffic", "t", "--jobs", "0"}, "option --jobs: '0'"},
      {{"loop", "m", "--traffic", "t", "-o"}, "option --output needs a value"},
      {{"loop", "m", "--traffic", "t", "-o", ""},
       "option --output needs a value that is not empty"},
      {{"loop", "m", "--traffic", "t", "--bind", "seq"}, "of the form DIM=COLUMN"},
      {{"compile"}, "compile needs a PLAN"},
      {{"compile", "p", "--buckets", "8,"},
       "option --buckets: '8,' is not a list of whole numbers"},
      {{"compile", "p", "--buckets", "8,x"}, "option --buckets: '8,x'"},
      {{"compile", "p", "--max-batch", "0"}, "option --max-batch: '0'"},
      {{"plan", "check"}, "plan check needs a PLAN"},
      {{"plan", "show"}, "plan show needs a PLAN"},
      {{"plan", "show", "p", "--at", "seq"}, "such as seq=128,batch=1"},
      {{"plan", "show", "p", "--at", "seq=1,"}, "option --at: 'seq=1,'"},
      {{"plan", "show", "p", "--at", "=1"}, "option --at: '=1'"},
      {{"plan", "diff", "p"}, "plan diff needs two plans: BEFORE and AFTER"},
      {{"plan", "diff", "p", "q", "--threshold", "-1"}, "option --threshold: '-1'"},
      {{"plan", "diff", "p", "q", "--threshold", "5 %"}, "such as 5% or 0.05"},
      {{"plan", "diff", "p", "q", "r"}, "one argument too many: 'r'"},
      {{"plan", "convert"}, "plan convert needs a PLAN"},
      {{"plan", "convert", "p"}, "plan convert needs -o FILE or --to"},
      {{"plan", "convert", "p", "--to", "yaml"}, "is not one of binary, textproto, json"},
  }));
  CAPTURE(wrong.words);
  const Said said = RunLeeway(wrong.words);
  CHECK(said.exit_code == 2);
  CHECK(said.out.empty());
  CHECK_THAT(said.err, Catch::StartsWith("leeway: ") && Contains(wrong.said));
}

TEST_CASE("after -- every word is an argument", "[cli][usage]") {
  const Scratch scratch;
  const std::string plan = scratch.Write("p.textproto", kPlan);
  const std::string expected = RunLeeway({"plan", "show", plan}).out;
  REQUIRE_FALSE(expected.empty());
  CHECK(RunLeeway({"plan", "show", "--", plan}).out == expected);
  CHECK(RunLeeway({"plan", "show", plan, "--"}).out == expected);
  CHECK(RunLeeway({"plan", "show", "--color", "never", "--", plan}).out == expected);

  const Said odd = RunLeeway({"plan", "show", "--", "--json"});
  CHECK(odd.exit_code == 4);
  CHECK_THAT(odd.err, Contains("--json"));
  const Said more = RunLeeway({"plan", "show", "--", plan, "-q"});
  CHECK(more.exit_code == 2);
  CHECK_THAT(more.err, Contains("one argument too many: '-q'"));
  const Said twice = RunLeeway({"plan", "show", plan, "--", "--"});
  CHECK(twice.exit_code == 2);
  CHECK_THAT(twice.err, Contains("one argument too many: '--'"));
  const Said before = RunLeeway({"plan", "show", "--nope", "--", plan});
  CHECK(before.exit_code == 2);
  CHECK_THAT(before.err, Contains("no option '--nope'"));
  const Said none = RunLeeway({"plan", "show", "--"});
  CHECK(none.exit_code == 2);
  CHECK_THAT(none.err, Contains("plan show needs a PLAN"));
}

TEST_CASE("help is data, exits 0 and names every option that the command takes", "[cli][usage]") {
  const Words words =
      GENERATE(values<Words>({{"help", "simulate"}, {"simulate", "--help"}, {"simulate", "-h"}}));
  CAPTURE(words);
  const Said said = RunLeeway(words);
  CHECK(said.exit_code == 0);
  CHECK(said.err.empty());
  for (const char* option : {"--json",
                             "--seed",
                             "--output",
                             "--quiet",
                             "--verbose",
                             "--color",
                             "--device",
                             "--traffic",
                             "--format",
                             "--map",
                             "--limit",
                             "--requests",
                             "--window",
                             "--bind",
                             "--strict",
                             "--max-batch-size",
                             "--max-queue-delay",
                             "--max-queue-size",
                             "--slo",
                             "--fallback",
                             "--phi",
                             "--max-concurrent-runs",
                             "--first-come",
                             "--telemetry"}) {
    CHECK_THAT(said.out, Contains(option));
  }
}

TEST_CASE("help of the loop names its options, what they default to and when it exits 1",
          "[cli][usage]") {
  const Said said = RunLeeway({"help", "loop"});
  CHECK(said.exit_code == 0);
  for (const char* part : {"--device",        "--traffic",  "--load",
                           "--slo",           "--variants", "--window",
                           "--requests",      "--rate",     "--compile-time",
                           "--phi",           "--tau",      "--reality",
                           "--sample",        "--jobs",     "-o, --output DIR",
                           "--force",         "--format",   "--map",
                           "--limit",         "--bind",     "--strict",
                           "--entry",         "--seed",     "--json",
                           "--quiet",         "--verbose",  "--color",
                           "onnxim_tpuv4_c4", "leeway-run", "Exits 1 if a guardrail fails"}) {
    CAPTURE(part);
    CHECK_THAT(said.out, Contains(part));
  }
}

TEST_CASE("the list of commands fits 80 columns and names only commands that exist",
          "[cli][usage]") {
  const Words words = GENERATE(values<Words>({{"help"}, {"--help"}, {"-h"}}));
  const Said said = RunLeeway(words);
  CHECK(said.exit_code == 0);
  CHECK(said.err.empty());
  for (const char* command : {"loop", "buckets", "simulate", "compile", "plan check", "plan show",
                              "plan diff", "plan convert", "help"}) {
    CHECK_THAT(said.out, Contains(command));
  }
  for (const char* missing : {"retune", "drift", "scenario"}) {
    CHECK_THAT(said.out, !Contains(missing));
  }
  for (std::size_t at = 0; at < said.out.size();) {
    const std::size_t end = said.out.find('\n', at);
    CHECK(end - at <= 80);
    at = end + 1;
  }
}

TEST_CASE("option --version prints the version", "[cli][usage]") {
  const Said said = RunLeeway({"--version"});
  CHECK(said.exit_code == 0);
  CHECK(said.out == "leeway " LEEWAY_VERSION "\n");
  CHECK(said.err.empty());
}

}  // namespace
}  // namespace leeway::testing
