#include "leeway/plan_view.h"

#include <sstream>
#include <string>
#include <vector>

#include "leeway/compile.h"
#include "leeway/plan_builder.h"
#include "tests/catch.h"

namespace leeway {
namespace {

using Catch::Matchers::Contains;

constexpr std::int64_t kWidth = 256;

struct ChainOptions {
  bool profiled = false;
};

// mm -> act in two groups; the batch is 1 where nothing else is asked.
Plan Chain(const ChainOptions& options) {
  PlanBuilder builder("chain", {"test", "1"});
  const Size seq = builder.Dim("seq", {1, 512}, BatchRule::kMax);
  const Size batch = builder.Dim("batch", {1, 4}, BatchRule::kCount);
  const EntryRef entry = builder.Entry("main");
  const TensorRef x = entry.Input("x", DType::kBf16, {batch, seq, kWidth});
  const TensorRef w = entry.Weight("w", DType::kBf16, {kWidth, kWidth});
  const OpRef mm = entry.Op("mm", Gemm{batch * seq, kWidth, kWidth}, {x, w});
  const OpRef act = entry.Op("act", Vector{batch * seq * kWidth, 4}, {mm});
  const VariantRef padded =
      entry.Variant("padded").Envelope(seq, 1, 100, 128).Dynamic(batch, 1, 1, 4, 1);
  const GroupRef first = padded.Group("a", {mm});
  const GroupRef second = padded.Group("b", {act});
  const VariantRef dynamic =
      entry.Variant("dynamic").Dynamic(seq, 1, 96, 512, 1).Dynamic(batch, 1, 1, 4, 1);
  const GroupRef third = dynamic.Group("a", {mm});
  dynamic.Group("b", {act});
  if (options.profiled) {
    for (const GroupRef& group : {first, second, third}) {
      group.Predict({{"seq", 64}}, Nanos(1000)).Predict({{"seq", 128}}, Nanos(2000));
    }
  }
  return std::move(builder).Build().value();
}

Device Shipped() { return Device::Load("onnxim_tpuv4_c4").value(); }

TEST_CASE("a profiled group takes what its profile says at the dims it runs at", "[api][view]") {
  const Plan plan = Chain({.profiled = true});
  const auto views = ViewPlan(plan).value();
  REQUIRE(views.size() == 2);
  // A padded dim runs at its max: 128, a point of the profile.
  CHECK(views[0].at->at(0).value == 128);
  CHECK(views[0].groups[0].time == Nanos(2000));
  CHECK(views[0].groups[0].origin == TimeOrigin::kProfiled);
  CHECK(views[0].total == Nanos(4000));
  // A dynamic one at its opt: 96 is half way between the points.
  CHECK(views[1].at->at(0).value == 96);
  CHECK(views[1].groups[0].time == Nanos(1500));
  // The other group has no profile, and the variant so no total.
  CHECK_FALSE(views[1].groups[1].time);
  CHECK(views[1].groups[1].origin == TimeOrigin::kUnprofiled);
  CHECK_FALSE(views[1].total);

  const auto beyond = ViewPlan(plan, {.at = {{"seq", 300}}, .variant = "dynamic"}).value();
  CHECK(beyond.at(0).groups[0].time == Nanos(2000));
  CHECK(beyond.at(0).groups[0].origin == TimeOrigin::kExtrapolated);
}

TEST_CASE("bytes are those of the declared tensors at the dims", "[api][view]") {
  const auto views = ViewPlan(Chain({}), {.at = {{"seq", 7}, {"batch", 3}}}).value();
  constexpr std::int64_t kActivation = 3 * 7 * kWidth * 2;
  const std::vector<GroupView>& groups = views.at(1).groups;
  CHECK(groups[0].read_bytes == kActivation + kWidth * kWidth * 2);
  CHECK(groups[0].write_bytes == kActivation);
  CHECK(groups[1].read_bytes == kActivation);
  CHECK(groups[1].write_bytes == kActivation);
}

TEST_CASE("what has no profile is modelled where a device is given, and adds up to the path",
          "[api][view]") {
  const Plan plan = Chain({});
  const Device device = Shipped();
  const auto views = ViewPlan(plan, {.device = &device, .at = {{"seq", 128}}}).value();
  // The groups are a chain, so that the longest path is their sum; both look at a full variant
  // with one request.
  const auto predicted = PredictVariants(plan, device).value();
  REQUIRE(views.at(0).total);
  CHECK(*views[0].total == predicted.at(0).predicted);
  for (const GroupView& group : views[0].groups) {
    CHECK(group.origin == TimeOrigin::kModelled);
    CHECK(group.reason.empty());
    // The model may read what it cannot hold more than once, never less than once.
    CHECK(*group.dram_bytes >= group.read_bytes + group.write_bytes);
    CHECK(*group.sram_bytes > 0);
  }
  // What is profiled stays so.
  const Plan profiled = Chain({.profiled = true});
  CHECK(ViewPlan(profiled, {.device = &device}).value().at(0).total == Nanos(4000));
}

TEST_CASE("a group that the device cannot run has no time and says why", "[api][view]") {
  const auto plan = [](bool profiled) {
    PlanBuilder builder("toy", {"test", "1"});
    const EntryRef entry = builder.Entry("main");
    const OpRef op = entry.Op("op", Vector{64, 1}, {entry.Input("x", DType::kF32, {64})});
    const GroupRef group = entry.Variant("v").Group("g", {op}).Pin("nowhere:0");
    if (profiled) group.Predict({}, Nanos(5));
    return std::move(builder).Build().value();
  };
  const Device device = Shipped();
  const GroupView group = ViewPlan(plan(false), {.device = &device}).value().at(0).groups.at(0);
  CHECK_FALSE(group.time);
  CHECK(group.origin == TimeOrigin::kUnprofiled);
  CHECK_THAT(group.reason, Contains("no core class \"nowhere\""));
  CHECK_FALSE(group.sram_bytes);
  // What the plan says itself needs no device.
  const GroupView profiled = ViewPlan(plan(true), {.device = &device}).value().at(0).groups.at(0);
  CHECK(profiled.time == Nanos(5));
  CHECK(profiled.reason.empty());
}

// main's "v" runs the loop `seq` times, and one operator beside it.
Plan Loop() {
  PlanBuilder builder("loop", {"test", "1"});
  const Size seq = builder.Dim("seq", {1, 64}, BatchRule::kMax);
  const EntryRef main = builder.Entry("main");
  const EntryRef body = builder.InternalEntry("body");
  const TensorRef x = main.Input("x", DType::kF32, {seq});
  const OpRef loop = main.Op("loop", Call{"body", seq}, {x});
  const OpRef end = main.Op("end", Vector{seq, 1}, {loop});
  main.Variant("v")
      .Dynamic(seq, 1, 5, 64, 1)
      .Group("g", {loop})
      .Group("h", {end})
      .Predict({}, Nanos(7));
  const OpRef step = body.Op("step", Vector{seq, 1}, {body.Input("y", DType::kF32, {seq})});
  body.Variant("v").Dynamic(seq, 1, 5, 64, 1).Group("s", {step}).Predict({}, Nanos(100));
  return std::move(builder).Build().value();
}

TEST_CASE("a call takes what it runs, times its repetitions", "[api][view]") {
  const auto views = ViewPlan(Loop(), {.variant = "main/v"}).value();
  CHECK(views.at(0).groups.at(0).time == Nanos(5 * 100));
  CHECK(views.at(0).total == Nanos(5 * 100 + 7));
  const auto longer = ViewPlan(Loop(), {.at = {{"seq", 9}}, .variant = "main/v"}).value();
  CHECK(longer.at(0).groups.at(0).time == Nanos(9 * 100));
  // The profile has one point, and says the same wherever it is asked.
  CHECK(longer.at(0).groups.at(1).time == Nanos(7));
}

TEST_CASE("variants are shown by name, in one entry or all, and a wrong name lists those there are",
          "[api][view]") {
  const Plan plan = Chain({});
  CHECK(ViewPlan(plan, {.variant = "padded"}).value().size() == 1);
  CHECK(ViewPlan(plan, {.variant = "main/dynamic"}).value().at(0).name == "dynamic");
  const auto missing = ViewPlan(plan, {.variant = "other/padded"});
  CHECK(missing.status().code() == StatusCode::kNotFound);
  CHECK_THAT(std::string(missing.status().message()),
             Contains("\"other/padded\"") && Contains("main/padded, main/dynamic"));
  const std::string text = PlanText(plan, {.variant = "padded"}).value();
  CHECK_THAT(text, Contains("  variant padded ") && !Contains("  variant dynamic "));
  const std::string dot = PlanDot(plan, {.variant = "padded"}).value();
  CHECK_THAT(dot, Contains("variant padded") && !Contains("variant dynamic"));
}

TEST_CASE("dims that are unknown, twice given or outside the domain are refused", "[api][view]") {
  const Plan plan = Chain({});
  const auto refusal = [&](const Dims& at) {
    const Status status = ViewPlan(plan, {.at = at}).status();
    CHECK(status.code() == StatusCode::kInvalidArgument);
    return std::string(status.message());
  };
  CHECK_THAT(refusal({{"sec", 1}}), Contains("\"sec\"") && Contains("seq, batch"));
  CHECK_THAT(refusal({{"seq", 513}}), Contains("513") && Contains("[1, 512]"));
  CHECK_THAT(refusal({{"seq", 5}, {"seq", 5}}), Contains("twice"));
}

TEST_CASE("a variant that does not cover the dims has no figures", "[api][view]") {
  const auto views = ViewPlan(Chain({}), {.at = {{"seq", 300}}}).value();
  CHECK_FALSE(views.at(0).at);
  CHECK_FALSE(views.at(0).total);
  CHECK(views.at(0).groups.at(0).ops == std::vector<std::string>{"mm"});
  CHECK(views.at(1).at);
  CHECK_THAT(PlanText(Chain({}), {.at = {{"seq", 300}}}).value(),
             Contains("] dynamic/1 at -\n") && Contains("time - (not covered)\n"));
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST_CASE("figures stand behind what a line said before", "[api][view][property]") {
  const std::string model = GENERATE("bert_base", "llama2_7b_prefill");
  const Plan plan = Plan::Load(model).value();
  const Device device = Shipped();
  const std::vector<std::string> plain = Lines(plan.ToText());
  for (const Device* with : {static_cast<const Device*>(nullptr), &device}) {
    const std::vector<std::string> lines = Lines(PlanText(plan, {.device = with}).value());
    REQUIRE(lines.size() == plain.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CHECK(lines[i].substr(0, plain[i].size()) == plain[i]);
      const bool group = plain[i].rfind("    group ", 0) == 0;
      const bool variant = plain[i].rfind("  variant ", 0) == 0;
      CHECK((lines[i].size() > plain[i].size()) == (group || variant));
      if (group) CHECK_THAT(lines[i], Contains(" B writes "));
    }
  }
}

}  // namespace
}  // namespace leeway
