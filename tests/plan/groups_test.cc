// What loading derives: who waits for whom, what a group reads and writes, orders.
#include <algorithm>
#include <string>
#include <vector>

#include "leeway/plan_builder.h"
#include "plan/body.h"
#include "tests/catch.h"

namespace leeway {
namespace {

using plan::Body;
using plan::Index;

Plan Built(PlanBuilder b) {
  Result<Plan> plan = std::move(b).Build();
  INFO(plan.status().ToString());
  REQUIRE(plan.ok());
  return *plan;
}

std::vector<std::string> TensorNames(const Body& body, const std::vector<Index>& tensors) {
  std::vector<std::string> names;
  for (const Index tensor : tensors) names.push_back(body.tensors[tensor].name);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> GroupNames(const plan::Variant& variant,
                                    const std::vector<Index>& groups) {
  std::vector<std::string> names;
  for (const Index group : groups) names.push_back(variant.groups[group].name);
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

const plan::Group& GroupOf(const plan::Variant& variant, std::string_view name) {
  for (const plan::Group& group : variant.groups) {
    if (group.name == name) return group;
  }
  FAIL("no group " << name);
  return variant.groups[0];
}

TEST_CASE("operators and groups are sorted, whatever order the plan lists them in", "[plan]") {
  PlanBuilder b("order", Producer{"t", "1"});
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kF32, {4});
  const OpRef first = e.Op("first", Vector{4}, {x});
  const OpRef last = e.Op("last", Vector{4}, {first});
  const OpRef middle = e.Op("middle", Vector{4}, {first});
  last.After({middle});
  e.Variant("v").Group("c", {last}).Group("b", {middle}).Group("a", {first});
  const Plan plan = Built(std::move(b));
  const plan::Entry& entry = plan.body()->entries[0];
  CHECK(entry.operators[0].name == "first");
  CHECK(entry.operators[1].name == "middle");
  CHECK(entry.operators[2].name == "last");
  CHECK(entry.operators[2].predecessors == std::vector<Index>{0, 1});
  const plan::Variant& variant = entry.variants[0];
  CHECK(variant.groups[0].name == "a");
  CHECK(variant.groups[2].name == "c");
  CHECK(variant.groups[2].ops == std::vector<Index>{2});
  CHECK(GroupNames(variant, variant.groups[2].predecessors) == Names{"a", "b"});
}

TEST_CASE("a group reads and writes what crosses its border", "[plan]") {
  PlanBuilder b("border", Producer{"t", "1"});
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kF32, {4});
  const TensorRef w = e.Weight("w", DType::kF32, {4});
  const OpRef inner = e.Op("inner", Vector{4}, {x, w});
  const OpRef shared = e.Op("shared", Vector{4}, {inner});
  const OpRef user = e.Op("user", Vector{4}, {shared, x});
  e.Variant("v").Group("g", {inner, shared}).Group("h", {user});
  const Plan plan = Built(std::move(b));
  const plan::Variant& variant = plan.body()->entries[0].variants[0];
  CHECK(TensorNames(*plan.body(), GroupOf(variant, "g").reads) == Names{"w", "x"});
  CHECK(TensorNames(*plan.body(), GroupOf(variant, "g").writes) == Names{"shared"});
  CHECK(TensorNames(*plan.body(), GroupOf(variant, "h").reads) == Names{"shared", "x"});
  CHECK(TensorNames(*plan.body(), GroupOf(variant, "h").writes) == Names{"user"});
}

TEST_CASE("a recomputed operator has no edge to its owner and writes nothing again", "[plan]") {
  PlanBuilder b("again", Producer{"t", "1"});
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kF32, {4});
  const OpRef cheap = e.Op("cheap", Vector{4}, {x});
  const OpRef left = e.Op("left", Vector{4}, {cheap});
  const OpRef right = e.Op("right", Vector{4}, {cheap});
  e.Variant("v").Group("l", {cheap, left}).Group("r", {cheap, right}).Recompute({cheap});
  const Plan plan = Built(std::move(b));
  const plan::Variant& variant = plan.body()->entries[0].variants[0];
  CHECK(GroupOf(variant, "r").predecessors.empty());
  CHECK(TensorNames(*plan.body(), GroupOf(variant, "r").reads) == Names{"x"});
  CHECK(TensorNames(*plan.body(), GroupOf(variant, "l").writes) == Names{"left"});
}

TEST_CASE("what waits for an elided operator waits for what that would wait for", "[plan]") {
  PlanBuilder b("elided", Producer{"t", "1"});
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kF32, {4});
  const OpRef make = e.Op("make", Vector{4}, {x});
  const OpRef view = e.Op("view", Move{0}, {make});
  const OpRef twice = e.Op("twice", Move{0}, {view});
  const OpRef use = e.Op("use", Vector{4}, {twice});
  e.Variant("apart").Elide(view, "view").Elide(twice, "view").Group("m", {make}).Group("u", {use});
  e.Variant("fused").Elide(view, "view").Elide(twice, "view").Group("mu", {make, use});
  const Plan plan = Built(std::move(b));
  const plan::Variant& apart = plan.body()->entries[0].variants[0];
  CHECK(GroupNames(apart, GroupOf(apart, "u").predecessors) == Names{"m"});
  CHECK(TensorNames(*plan.body(), GroupOf(apart, "m").writes) == Names{"make"});
  CHECK(TensorNames(*plan.body(), GroupOf(apart, "u").reads) == Names{"twice"});
  const plan::Variant& fused = plan.body()->entries[0].variants[1];
  CHECK(fused.groups[0].predecessors.empty());
  CHECK(TensorNames(*plan.body(), fused.groups[0].reads) == Names{"x"});
  CHECK(TensorNames(*plan.body(), fused.groups[0].writes) == Names{"use"});
}

TEST_CASE("uses of a state are ordered as they are listed", "[plan]") {
  PlanBuilder b("state", Producer{"t", "1"});
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kF32, {4});
  const TensorRef state = e.State("state", DType::kF32, {4});
  const OpRef before = e.Op("before", Vector{4}, {state});
  const OpRef update = e.Op("update", Vector{4}, {x}).Updates(state);
  const OpRef after = e.Op("after", Vector{4}, {state});
  e.Variant("v").Group("b", {before}).Group("u", {update}).Group("a", {after});
  const Plan plan = Built(std::move(b));
  const plan::Variant& variant = plan.body()->entries[0].variants[0];
  CHECK(GroupNames(variant, GroupOf(variant, "u").predecessors) == Names{"b"});
  CHECK(GroupNames(variant, GroupOf(variant, "a").predecessors) == Names{"u"});
  CHECK(TensorNames(*plan.body(), GroupOf(variant, "u").reads) == Names{"state", "x"});
  CHECK(TensorNames(*plan.body(), GroupOf(variant, "u").writes) == Names{"state", "update"});
}

TEST_CASE("an envelope pads to its max, or to a granule", "[plan]") {
  const plan::Range padded{1, 384, 512, plan::ShapeMode::kPadded, 1};
  CHECK(plan::PaddedValue(padded, 7) == 512);
  const plan::Range dynamic{1, 384, 500, plan::ShapeMode::kDynamic, 64};
  CHECK(plan::PaddedValue(dynamic, 64) == 64);
  CHECK(plan::PaddedValue(dynamic, 65) == 128);
  CHECK(plan::PaddedValue(dynamic, 499) == 500);
}

TEST_CASE("a variant covers dims within its envelope that meet its constraints", "[plan]") {
  PlanBuilder b("cover", Producer{"t", "1"});
  const Size seq = b.Dim("seq", {1, 100}, BatchRule::kMax);
  EntryRef e = b.Entry("main");
  const OpRef y = e.Op("y", Vector{seq}, {e.Input("x", DType::kF32, {seq})});
  e.Variant("v").Envelope(seq, 8, 8, 64).Require(Mod(seq, 8), 0, 0).Group("g", {y});
  const Plan plan = Built(std::move(b));
  const plan::Variant& variant = plan.body()->entries[0].variants[0];
  const auto covers = [&](std::int64_t value) {
    return plan::Covers(variant, std::vector<std::int64_t>{value});
  };
  CHECK(covers(8));
  CHECK(covers(64));
  CHECK_FALSE(covers(7));
  CHECK_FALSE(covers(9));
  CHECK_FALSE(covers(72));
}

TEST_CASE("an input is converted by the first group that reads it, an output by its writer",
          "[plan][layout]") {
  PlanBuilder b("layouts", Producer{"t", "1"});
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kF32, {4, 8});
  const TensorRef plain = e.Input("plain", DType::kF32, {4, 8});
  const OpRef first = e.Op("first", Vector{32}, {x, plain}).As(DType::kF32, {4, 8});
  const OpRef second = e.Op("second", Vector{32}, {x, first}).As(DType::kF32, {4, 8});
  e.Variant("v")
      .Group("late", {second})
      .Group("early", {first})
      .Layout(x, {.minor_to_major = {0, 1}})
      .Layout(plain, {.minor_to_major = {1, 0}})
      .Layout(first, {.minor_to_major = {0, 1}})
      .Layout(second, {.minor_to_major = {1, 0}, .tiles = {{8, 128}}});
  const Plan plan = Built(std::move(b));
  const Body& body = *plan.body();
  const plan::Variant& variant = body.entries[0].variants[0];
  const auto converted = [&](std::string_view group) {
    std::vector<Index> tensors;
    for (const plan::Layout& layout : GroupOf(variant, group).converts) {
      tensors.push_back(layout.tensor);
    }
    return TensorNames(body, tensors);
  };
  CHECK(converted("early") == Names{"x"});
  CHECK(converted("late") == Names{"second"});
  CHECK(GroupOf(variant, "late").converts[0].tiles ==
        std::vector<std::vector<std::int64_t>>{{8, 128}});
}

TEST_CASE("a tensor has one layout", "[plan][layout]") {
  PlanBuilder b("layouts", Producer{"t", "1"});
  EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kF32, {4, 8});
  const OpRef op = e.Op("op", Vector{32}, {x});
  e.Variant("v").Group("g", {op}).Layout(x, {.minor_to_major = {0, 1}}).Layout(x, {});
  CHECK_THAT(std::string(std::move(b).Build().status().message()),
             Catch::Contains("entries[0].variants[0].layouts[1].tensor: tensor \"x\" has a layout "
                             "already: layouts[0]"));
}

}  // namespace
}  // namespace leeway
