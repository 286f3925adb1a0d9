// Small inputs of the program: a plan of one product, a device of two cores, traffic as text.

#ifndef LEEWAY_TESTS_CLI_SUPPORT_INPUTS_H_
#define LEEWAY_TESTS_CLI_SUPPORT_INPUTS_H_

#include <string>
#include <string_view>

namespace leeway::testing {

inline constexpr std::string_view kPlan = R"(
header { model: "toy" producer: "test" min_reader_version: 1 }
dims { name: "seq" min: 1 max: 256 bind: SUBMIT batch_rule: MAX }
dims { name: "batch" min: 1 max: 8 bind: SUBMIT batch_rule: COUNT }
tensors { name: "x" kind: INPUT dtype: BF16 shape: ["batch", "seq", "256"] }
tensors { name: "w" kind: WEIGHT dtype: BF16 shape: ["256", "256"] }
tensors { name: "y" kind: OUTPUT dtype: BF16 shape: ["batch", "seq", "256"] }
entries {
  name: "main"
  operators {
    name: "mm" kind: "matmul" inputs: ["x", "w"] outputs: ["y"]
    work { gemm { m: "batch * seq" n: "256" k: "256" } }
  }
  variants {
    name: "s64"
    envelope { dim: "seq" min: 1 opt: 64 max: 64 }
    envelope { dim: "batch" min: 1 opt: 1 max: 8 }
    fusion_groups {
      name: "mm" ops: ["mm"]
      kernel { key: "mm_s64" }
      placement { mode: ANY cores { class: "matrix" } }
    }
  }
  variants {
    name: "s192"
    envelope { dim: "seq" min: 1 opt: 192 max: 192 }
    envelope { dim: "batch" min: 1 opt: 1 max: 8 }
    fusion_groups {
      name: "mm" ops: ["mm"]
      kernel { key: "mm_s192" }
      placement { mode: ANY cores { class: "matrix" } }
    }
  }
}
)";

// The device's only class of cores is called `core_class`.
std::string DeviceText(std::string_view core_class = "matrix");

// `requests` rows t,seq, a tenth of a millisecond apart, whose lengths run through [1, longest].
std::string TrafficCsv(int requests, int longest);

// The bytes as gzip packs them, without the `dropped` last ones.
std::string Gzip(std::string_view bytes, std::size_t dropped = 0);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_CLI_SUPPORT_INPUTS_H_
