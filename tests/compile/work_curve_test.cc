#include "compile/work_curve.h"

#include <vector>

#include "tests/catch.h"
#include "tests/compile/support/models.h"
#include "tests/plan/text_plan.h"

namespace leeway::compile {
namespace {

Compiler RandomCompiler(std::uint64_t seed, std::int64_t max_seq) {
  const auto model = testing::RandomModel(seed, {.operators = 8, .max_seq = max_seq});
  return Compiler::Create(model, testing::ShippedDevice(), {}).value();
}

TEST_CASE("the work curve is the least core time over the aligned edges that cover a length",
          "[compile][property]") {
  const auto seed = GENERATE(range(0u, 12u));
  const auto align = GENERATE(1, 7, 64, 1000);
  CAPTURE(seed, align);
  Compiler compiler = RandomCompiler(seed, 300 + static_cast<std::int64_t>(seed));
  const plan::Dim domain = compiler.domain();
  const WorkCurve curve = WorkCurve::Make(compiler, align).value();
  CHECK(curve.min() == domain.min);
  CHECK(curve.max() == domain.max);
  Nanos last{0};
  for (std::int64_t length = domain.min; length <= domain.max; ++length) {
    Nanos least = compiler.CoreTime(domain.max).value();
    std::int64_t edge = domain.max;
    for (std::int64_t b = domain.max; b >= length; --b) {
      if (b % align != 0) continue;
      const Nanos time = compiler.CoreTime(b).value();
      if (time > least) continue;
      least = time;
      edge = b;
    }
    CAPTURE(length);
    CHECK(curve(length) == least);
    CHECK(curve.EdgeFor(length) == edge);
    CHECK(compiler.CoreTime(edge).value() == curve(length));
    CHECK(curve(length) >= last);
    last = curve(length);
  }
}

TEST_CASE("a domain that does not start at a multiple has its edges all the same", "[compile]") {
  const auto model = plan::Load(R"(
    header { model: "m" min_reader_version: 1 }
    dims { name: "seq" min: 0 max: 50 batch_rule: MAX }
    tensors { name: "x" kind: INPUT dtype: BF16 shape: ["seq", "256"] }
    tensors { name: "y" kind: OUTPUT dtype: BF16 shape: ["seq", "256"] }
    entries { name: "main" operators { name: "f" inputs: "x" outputs: "y"
      work { vector { elements: "seq * 256" ops_per_element: 1 } } } })");
  Compiler compiler = Compiler::Create(model, testing::ShippedDevice(), {}).value();
  const WorkCurve curve = WorkCurve::Make(compiler, 16).value();
  CHECK(curve(0) == compiler.CoreTime(0).value());
  CHECK(curve.EdgeFor(0) == 0);
  CHECK(curve.EdgeFor(1) == 16);
  CHECK(curve.EdgeFor(48) == 48);
  CHECK(curve.EdgeFor(49) == 50);
  CHECK(compiler.Compile(std::vector<std::int64_t>{0, 16}).ok());
}

TEST_CASE("a curve is refused for what cannot be aligned and ends when it is told to",
          "[compile]") {
  Compiler compiler = RandomCompiler(3, 4096);
  CHECK(WorkCurve::Make(compiler, 0).status().code() == StatusCode::kInvalidArgument);
  int polls = 0;
  const auto stopped = WorkCurve::Make(compiler, 1, [&] { return ++polls < 3; });
  CHECK(stopped.status().code() == StatusCode::kCancelled);
  CHECK(polls == 3);
  Compiler wide = RandomCompiler(3, (std::int64_t{1} << 20) + 1);
  const Status refused = WorkCurve::Make(wide, 1).status();
  CHECK(refused == Status(StatusCode::kResourceExhausted,
                          "dim \"seq\" has 1048577 edges in [1, 1048577] at multiples of 1; at "
                          "most 1048576"));
  CHECK(WorkCurve::Make(wide, 2, [] { return false; }).status().code() == StatusCode::kCancelled);
}

}  // namespace
}  // namespace leeway::compile
