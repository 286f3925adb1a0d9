#include "plan/weight_key.h"

#include <string>

#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

// A plan whose one variant keeps w, with what differs filled in.
std::uint64_t KeyOf(const std::string& model, const std::string& name, const std::string& more,
                    const std::string& layout = "", int group_ns = 100) {
  const auto body = Load("header { model: \"" + model + "\" }\n" + R"(
dims { name: "n" min: 1 max: 64 batch_rule: COUNT }
tensors { name: "x" kind: INPUT dtype: BF16 shape: ["n", "64"] }
tensors { name: ")" + name +
                         R"(" kind: WEIGHT dtype: BF16 shape: ["64", "64"] )" + more + R"( }
tensors { name: "y" kind: OUTPUT dtype: BF16 shape: ["n", "64"] }
entries {
  name: "main"
  operators { name: "dot" inputs: ["x", ")" +
                         name + R"("] outputs: "y"
              work { gemm { m: "n" n: "64" k: "64" } } }
  variants {
    name: "v"
    fusion_groups { name: "dot" ops: "dot"
                    profile { cost_ns: ")" +
                         std::to_string(group_ns) + R"(" } }
)" + layout + R"(
    residency { tensor: ")" +
                         name + R"(" }
  }
})");
  return WeightKey(*body, body->entries[0].variants[0].residency[0]);
}

std::string Content(char byte) {
  std::string digest = "content_digest: \"";
  for (int i = 0; i < 32; ++i) digest += byte;
  return digest + "\"";
}

std::string LayoutOf(const std::string& name, const std::string& order) {
  return "layouts { tensor: \"" + name + "\" minor_to_major: [" + order + "] }";
}

}  // namespace

TEST_CASE("a weight is known by its content where the plan has its digest", "[plan][unit]") {
  const std::uint64_t key = KeyOf("m", "w", Content('a'));
  CHECK(KeyOf("other", "renamed", Content('a')) == key);
  CHECK(KeyOf("m", "w", Content('b')) != key);
}

TEST_CASE("and by its name in its model where it has not", "[plan][unit]") {
  const std::uint64_t key = KeyOf("m", "w", "");
  // Another plan of the model.
  CHECK(KeyOf("m", "w", "", "", 7) == key);
  CHECK(KeyOf("other", "w", "") != key);
  CHECK(KeyOf("m", "v", "") != key);
  CHECK(KeyOf("m", "w", Content('a')) != key);
}

TEST_CASE("another layout is another copy", "[plan][unit]") {
  const std::uint64_t rows = KeyOf("m", "w", Content('a'), LayoutOf("w", "1, 0"));
  const std::uint64_t columns = KeyOf("m", "w", Content('a'), LayoutOf("w", "0, 1"));
  CHECK(rows != columns);
  // Row-major order is the same copy, said or not.
  CHECK(rows == KeyOf("m", "w", Content('a')));
  CHECK(KeyOf("m", "u", Content('a'), LayoutOf("u", "0, 1")) == columns);
  // Layouts of other tensors do not matter.
  CHECK(KeyOf("m", "w", Content('a'), LayoutOf("x", "0, 1")) == KeyOf("m", "w", Content('a')));
}

}  // namespace leeway::plan
