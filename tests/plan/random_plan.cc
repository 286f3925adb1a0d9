#include "tests/plan/random_plan.h"

#include <iterator>
#include <string_view>
#include <vector>

#include "base/prng.h"

namespace leeway::plan {
namespace {

class Writer {
 public:
  explicit Writer(std::uint64_t seed) : prng_(seed) {}

  std::string Write() {
    Header();
    Dims();
    const std::size_t operators = 1 + prng_.Below(12);
    out_ += R"(tensors { name: "in" kind: INPUT dtype: BF16 shape: "batch" shape: "seq" })";
    out_ += R"(tensors { name: "kv" kind: STATE dtype: F16 shape: "1024" })";
    for (std::size_t i = 0; i < operators; ++i) Tensors(i, i + 1 == operators);
    calls_ = Maybe();
    if (calls_) Called();
    out_ += "entries { ";
    const bool variants_first = Maybe();
    // A name may be used before the place where it is declared.
    if (variants_first) Variants(operators);
    for (std::size_t i = 0; i < operators; ++i) Operator(i);
    if (calls_) {
      out_ +=
          "operators { name: \"call\" inputs: \"in\" outputs: \"called\" work { call { entry: "
          "\"loop\" " +
          SizeField("times") + "} } } ";
    }
    if (!variants_first) Variants(operators);
    out_ += "name: \"main\" ";
    Annotations();
    out_ += "}\n";
    Annotations();
    return std::move(out_);
  }

 private:
  bool Maybe() { return prng_.Below(2) == 0; }
  std::string Number(std::uint64_t bound) { return std::to_string(prng_.Below(bound)); }

  template <std::size_t kCount>
  std::string_view OneOf(const std::string_view (&choices)[kCount]) {
    return choices[prng_.Below(kCount)];
  }

  // A size that is at least 1. Some are spelt in ways that mean the same.
  std::string Size() {
    static constexpr std::string_view kSizes[] = {"batch",
                                                  "seq",
                                                  "64",
                                                  "seq * 64",
                                                  "(seq) *64",
                                                  "batch * seq",
                                                  "batch*(seq)",
                                                  "(seq ceildiv 128) * 128",
                                                  "seq ceildiv 128 * 128",
                                                  "min(seq, 512) + 1",
                                                  "max(seq - 100, 1)",
                                                  "seq mod 8 + 1",
                                                  "(seq + 7) floordiv 8 * 8 + 1",
                                                  "-(-seq)"};
    return std::string(OneOf(kSizes));
  }
  std::string Quoted(std::string_view field, const std::string& value) {
    return std::string(field) + ": \"" + value + "\" ";
  }
  std::string SizeField(std::string_view field) { return Quoted(field, Size()); }

  void Annotations() {
    while (prng_.Below(3) == 0) {
      out_ += "annotations { key: \"k" + Number(9) + "\" value: \"grüße\\n" + Number(9) + "\" } ";
    }
  }

  void Header() {
    const std::string digest(32, static_cast<char>('a' + prng_.Below(26)));
    out_ += "header { model: \"m" + Number(100) + "\" ";
    if (Maybe()) out_ += "producer: \"cc\" producer_version: \"1." + Number(9) + "\" ";
    if (Maybe()) out_ += Quoted("target_device", digest);
    if (Maybe()) out_ += Quoted("parent", digest);
    if (Maybe()) out_ += "created_unix_ns: " + Number(1'000'000) + " ";
    if (Maybe()) out_ += "min_reader_version: 1 ";
    out_ += "}\n";
  }

  void Dims() {
    out_ += "dims { name: \"batch\" min: 1 max: 32 bind: SUBMIT batch_rule: COUNT }\n";
    out_ += "dims { name: \"seq\" min: 1 max: 4096 bind: SUBMIT batch_rule: MAX }\n";
    if (Maybe()) return;
    out_ += "shape_profile { source: \"logs\" ";
    for (std::uint64_t i = 0; i <= prng_.Below(4); ++i) {
      out_ += "points { dims { dim: \"seq\" value: " + std::to_string(1 + prng_.Below(4096)) +
              " } dims { dim: \"batch\" value: 3 } weight: 0." + std::to_string(i + 1) + " } ";
    }
    out_ += "}\n";
  }

  std::string Name(std::string_view what, std::size_t i) {
    return std::string(what) + std::to_string(i);
  }

  void Tensors(std::size_t i, bool last) {
    out_ += "tensors { " + Quoted("name", Name("t", i)) +
            "kind: " + (last ? "OUTPUT" : "ACTIVATION") + " dtype: " + std::string(OneOf(kTypes)) +
            " ";
    for (std::uint64_t rank = prng_.Below(4); rank > 0; --rank) out_ += SizeField("shape");
    if (Maybe()) out_ += "memory_space: DRAM ";
    Annotations();
    out_ += "}\n";
    out_ += "tensors { " + Quoted("name", Name("w", i)) + "kind: WEIGHT dtype: I4 shape: \"64\" ";
    if (Maybe())
      out_ += "quant { scale: 0.5 scale: 1e-30 zero_point: -3 zero_point: 7 block: 32 } ";
    if (Maybe()) out_ += "sparsity { n: 2 m: 4 } ";
    if (Maybe()) out_ += Quoted("content_digest", std::string(32, static_cast<char>('A' + i)));
    out_ += "}\n";
    if (!Maybe()) return;
    // Before what it views, as well as after.
    out_ += "tensors { alias_of { " + Quoted("tensor", Name("w", i));
    if (Maybe()) out_ += Quoted("offset_bytes", "8 + (8)");
    out_ += "} kind: WEIGHT dtype: I4 shape: \"32\" " + Quoted("name", Name("v", i)) + "}\n";
  }

  // An entry that the other one calls, and what the call makes.
  void Called() {
    for (const std::string_view name : {"called", "looped"}) {
      out_ += "tensors { " + Quoted("name", std::string(name)) +
              "kind: OUTPUT dtype: BF16 shape: \"batch\" }\n";
    }
    out_ +=
        "entries { name: \"loop\" internal: true operators { name: \"body\" inputs: \"in\" "
        "outputs: \"looped\" } variants { name: \"any\" fusion_groups { name: \"g\" ops: "
        "\"body\" } } }\n";
  }

  std::string Work() {
    switch (prng_.Below(11)) {
      case 0:
        return "gemm { " + SizeField("m") + SizeField("n") + SizeField("k") +
               (Maybe() ? SizeField("count") : "") + (Maybe() ? "density: 0.25 " : "") + "}";
      case 1:
        return "conv { " + SizeField("n") + "h: \"32\" w: \"30 + 2\" c: \"3\" filters: \"64\" " +
               "kernel_h: \"3\" kernel_w: \"3\" stride_h: 2 pad_left: 1 groups: 1 }";
      case 2:
        return "vector { " + SizeField("elements") + "ops_per_element: 1.5 }";
      case 3:
        return "reduce { " + SizeField("elements") + SizeField("outputs") + "}";
      case 4:
        return "move { " + SizeField("bytes") + (Maybe() ? SizeField("contiguous_bytes") : "") +
               "}";
      case 5:
        return "collective { kind: ALL_REDUCE " + SizeField("bytes") + "participants: \"4\" }";
      case 6:
        return "send { " + SizeField("bytes") + "peer: \"p\" channel: \"c\" }";
      case 7:
        return "receive { " + SizeField("bytes") + "}";
      case 8:
        return "host { nanoseconds: " + Number(1000) + " }";
      case 9:
        return "custom { " + SizeField("flops") + SizeField("bytes") + "}";
      default:
        return "";
    }
  }

  void Operator(std::size_t i) {
    out_ += "operators { " + Quoted("name", Name("op", i)) + "kind: \"k" + Number(4) + "\" ";
    out_ += Quoted("inputs", i == 0 ? "in" : Name("t", prng_.Below(i)));
    if (Maybe()) out_ += Quoted("inputs", Name("w", i));
    if (prng_.Below(4) == 0) out_ += Quoted(Maybe() ? "inputs" : "outputs", "kv");
    out_ += Quoted("outputs", Name("t", i));
    if (i > 0 && Maybe()) out_ += Quoted("after", Name("op", prng_.Below(i)));
    if (const std::string work = Work(); !work.empty()) out_ += "work { " + work + " } ";
    Annotations();
    out_ += "}\n";
  }

  void Variants(std::size_t operators) {
    for (std::uint64_t v = 0; v <= prng_.Below(3); ++v) {
      out_ += "variants { " + Quoted("name", Name("v", v));
      if (Maybe()) {
        out_ += "envelope { dim: \"seq\" min: 1 opt: 64 max: " + Name("1", v) + "00 ";
        out_ += Maybe() ? "shape_mode: DYNAMIC granule: 16 } " : "} ";
      }
      if (Maybe()) out_ += "constraints { " + SizeField("expr") + "min: 0 max: 9999999 } ";
      // Runs of operators as they are listed: convex, whatever the edges are.
      for (std::size_t i = 0; i < operators;) {
        const std::size_t end = i + 1 + prng_.Below(operators - i);
        Group(i, end);
        i = end;
      }
      if (calls_) out_ += "fusion_groups { name: \"calling\" ops: \"call\" } ";
      VariantMemory();
      if (Maybe()) {
        out_ +=
            "schedule { cores { core { class: \"c\" index: 0 } groups: \"g0\" } waits { group: "
            "\"g0\" after: \"g0\" } } ";
      }
      if (Maybe()) {
        out_ +=
            "numerics { compute: BF16 accumulation: F32 uses_sparsity: true notes { key: \"a\" "
            "value: \"b\" } } ";
      }
      Annotations();
      out_ += "}\n";
    }
  }

  void VariantMemory() {
    if (Maybe())
      out_ += "layouts { tensor: \"w0\" minor_to_major: 0 tiles { dims: 8 dims: 128 } } ";
    if (Maybe()) out_ += "residency { tensor: \"w0\" cores { class: \"c\" } cores { index: 0 } } ";
  }

  void Group(std::size_t begin, std::size_t end) {
    out_ += "fusion_groups { " + Quoted("name", Name("g", begin));
    for (std::size_t i = begin; i < end; ++i) out_ += Quoted("ops", Name("op", i));
    if (Maybe()) out_ += "tiling { m: 128 n: 0 k: 64 } ";
    if (Maybe()) out_ += "shards: \"(1 + 1)\" ";
    if (Maybe()) out_ += "kernel { key: \"k\" " + SizeField("workspace_bytes") + "} ";
    if (Maybe()) out_ += "placement { mode: PREFERRED cores { device: 0 class: \"c\" index: 3 } } ";
    if (Maybe()) {
      out_ += "work { " + SizeField("flops") + SizeField("read_bytes") + SizeField("write_bytes") +
              SizeField("scratch_bytes") + "} ";
    }
    if (prng_.Below(3) == 0) {
      out_ += "profile { " + SizeField("cost_ns") + "} ";
    } else if (Maybe()) {
      out_ +=
          "profile { points { dims { dim: \"seq\" value: 8 } p50_ns: 10 p90_ns: 20 dram_bytes: "
          "5 source: \"s\" samples: 18446744073709551615 } points { p50_ns: 3 } } ";
    }
    Annotations();
    out_ += "}\n";
  }

  static constexpr std::string_view kTypes[] = {"F32", "BF16", "I8", "F4E2M1"};

  base::Prng prng_;
  bool calls_ = false;
  std::string out_;
};

}  // namespace

std::string RandomPlan(std::uint64_t seed) { return Writer(seed).Write(); }

}  // namespace leeway::plan
