#include "plan/body.h"

#include <optional>
#include <string>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

struct Made {
  std::string name;
  std::int64_t min = 1, max = 64;
  bool constrained = false;
};

Variant VariantOf(const Made& made) {
  Variant variant;
  variant.name = made.name;
  variant.envelope = {{made.min, made.max, made.max, ShapeMode::kPadded, 1}};
  if (made.constrained) variant.constraints.push_back({Expr::Symbol(0), 1, 1 << 20, 1});
  return variant;
}

// Entry 0 calls entry 1, which has these variants.
Body Callee(const std::vector<Made>& variants) {
  Body body;
  body.dims.push_back({"seq", 1, 1024, Bind::kSubmit, BatchRule::kMax});
  body.entries.resize(2);
  for (const Made& made : variants) body.entries[1].variants.push_back(VariantOf(made));
  return body;
}

}  // namespace

TEST_CASE("a call runs the variant of its caller's name, wherever it is listed", "[plan][call]") {
  const Variant caller = VariantOf({"b", 1, 64});
  CHECK(Callee({{"a"}, {"b"}, {"c"}}).CalledVariant(caller, 1) == 1u);
  // Also where one before it would cover the caller, too, and where it has constraints.
  CHECK(Callee({{"a", 1, 512}, {"b", 1, 64, true}}).CalledVariant(caller, 1) == 1u);
  // And where it does not cover: the loader refuses such a plan instead of running another.
  CHECK(Callee({{"a", 1, 512}, {"b", 1, 8}}).CalledVariant(caller, 1) == 1u);
}

TEST_CASE("without its caller's name a call runs the first variant that covers all of its caller",
          "[plan][call]") {
  const Variant caller = VariantOf({"x", 8, 64});
  CHECK(Callee({{"a", 8, 64}, {"b", 1, 512}}).CalledVariant(caller, 1) == 0u);
  // What covers only one end, or only under constraints, is passed over.
  CHECK(Callee({{"a", 9, 64}, {"b", 8, 63}, {"c", 1, 512, true}, {"d", 1, 64}, {"e", 8, 64}})
            .CalledVariant(caller, 1) == 3u);
}

TEST_CASE("a call runs nothing where no variant is named so and none covers its caller",
          "[plan][call]") {
  const Variant caller = VariantOf({"x", 8, 64});
  CHECK(Callee({}).CalledVariant(caller, 1) == std::nullopt);
  CHECK(Callee({{"a", 9, 64}, {"b", 8, 63}, {"c", 1, 512, true}}).CalledVariant(caller, 1) ==
        std::nullopt);
}

TEST_CASE("of any variants a call runs what the rule says", "[plan][call][property]") {
  const auto seed = GENERATE(range(0u, 500u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const auto made = [&](std::string name) {
    const auto min = 1 + static_cast<std::int64_t>(prng.Below(4));
    return Made{std::move(name), min, min + static_cast<std::int64_t>(prng.Below(6)),
                prng.Below(3) == 0};
  };
  std::vector<Made> variants(prng.Below(6));
  for (Made& variant : variants)
    variant = made(std::string(1, static_cast<char>('a' + prng.Below(8))));
  const Made caller = made("a");
  std::optional<Index> expected;
  for (Index i = static_cast<Index>(variants.size()); i-- > 0;) {
    const Made& v = variants[i];
    if (!v.constrained && v.min <= caller.min && caller.max <= v.max) expected = i;
  }
  for (Index i = static_cast<Index>(variants.size()); i-- > 0;) {
    if (variants[i].name == caller.name) expected = i;
  }
  CHECK(Callee(variants).CalledVariant(VariantOf(caller), 1) == expected);
}

namespace {

// Entries e0 … e<depth − 1>, each of which calls the next.
std::string Nested(std::size_t depth) {
  std::string text = "header { model: \"m\" min_reader_version: 1 }\n";
  for (std::size_t i = 0; i < depth; ++i) {
    const std::string n = std::to_string(i);
    text += "tensors { name: \"a" + n + "\" kind: INPUT dtype: F32 shape: \"4\" }\n";
    text += "tensors { name: \"b" + n + "\" kind: OUTPUT dtype: F32 shape: \"4\" }\n";
    const std::string work = i + 1 < depth
                                 ? "call { entry: \"e" + std::to_string(i + 1) + "\" times: \"1\" }"
                                 : std::string("vector { elements: \"4\" ops_per_element: 1 }");
    text += "entries { name: \"e" + n + "\"" + (i > 0 ? " internal: true" : "") +
            " operators { name: \"o\" inputs: \"a" + n + "\" outputs: \"b" + n + "\" work { " +
            work + " } } variants { name: \"v\" fusion_groups { name: \"g\" ops: \"o\" } } }\n";
  }
  return text;
}

}  // namespace

TEST_CASE("calls nest sixteen deep and no deeper", "[plan][call][bound]") {
  STATIC_REQUIRE(kMaxCallDepth == 16);
  CHECK(FindingsOf(Encode(Nested(16))).empty());
  CHECK_THAT(FindingsOf(Encode(Nested(17))),
             Catch::Contains("calls of entry \"e0\" nest 17 deep; at most 16"));
}

}  // namespace leeway::plan
