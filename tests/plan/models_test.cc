// Totals of the shipped models against what their papers publish.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

using Bindings = std::vector<std::int64_t>;

// Pixels of a convolution's result along one side.
double Pixels(std::int64_t side, std::uint32_t padding, std::int64_t kernel, std::uint32_t stride) {
  return static_cast<double>((side + padding - kernel) / stride + 1);
}

double ConvMacs(const Conv& conv, const Bindings& dims) {
  const std::int64_t rows = conv.kernel_h(dims), cols = conv.kernel_w(dims);
  const double out = Pixels(conv.h(dims), conv.pad_top + conv.pad_bottom, rows, conv.stride_h) *
                     Pixels(conv.w(dims), conv.pad_left + conv.pad_right, cols, conv.stride_w);
  return static_cast<double>(conv.n(dims)) * out * static_cast<double>(conv.filters(dims)) *
         static_cast<double>(rows * cols * conv.c(dims));
}

// Multiply-adds of an entry, calls included, without the density of masks.
double Macs(const Body& body, const Entry& entry, const Bindings& dims) {
  double total = 0;
  for (const Operator& op : entry.operators) {
    if (const auto* gemm = std::get_if<Gemm>(&op.work)) {
      total += static_cast<double>(gemm->m(dims)) * static_cast<double>(gemm->n(dims)) *
               static_cast<double>(gemm->k(dims)) * static_cast<double>(gemm->count(dims));
    } else if (const auto* conv = std::get_if<Conv>(&op.work)) {
      total += ConvMacs(*conv, dims);
    } else if (const auto* call = std::get_if<Call>(&op.work)) {
      total += static_cast<double>(call->times(dims)) * Macs(body, body.entries[call->entry], dims);
    }
  }
  return total;
}

Bindings At(const Body& body, const std::map<std::string, std::int64_t>& values) {
  Bindings dims;
  for (const Dim& dim : body.dims) dims.push_back(values.at(dim.name));
  return dims;
}

TEST_CASE("bert_base has the parameters and the work that are published", "[plan][models]") {
  const auto body = LoadModel("bert_base");
  // 109,482,240 parameters: embeddings (30522 + 512 + 2) · 768 + 2 · 768, each of 12 layers
  // 4 · (768² + 768) + 2 · 768 · 3072 + 3072 + 768 + 4 · 768, pooler 768² + 768; two bytes each.
  CHECK(body->WeightBytes() == 2 * 109'482'240);
  // A layer at 128 tokens: 4 · 128 · 768² projections, 2 · 12 · 128² · 64 attention,
  // 2 · 128 · 768 · 3072 feed-forward: 931 M multiply-adds; 12 layers and the pooler 11.17 G.
  const double macs = Macs(*body, body->entries[0], At(*body, {{"seq", 128}, {"batch", 1}}));
  CHECK(macs == Approx(11.174e9).epsilon(1e-3));
}

TEST_CASE("llama2_7b_prefill has the parameters and the work that are published",
          "[plan][models]") {
  const auto body = LoadModel("llama2_7b_prefill");
  CHECK(body->WeightBytes() == std::int64_t{2} * 6'738'415'616);
  // Per token two floating-point operations a parameter that multiplies: without the embedding,
  // and with the head for one position only. Attention adds 2 · seq · 4096 per layer and token.
  const std::int64_t seq = 1000;
  const double macs = Macs(*body, body->entries[0], At(*body, {{"seq", seq}, {"batch", 1}}));
  const double layers = 32 * (4.0 * 4096 * 4096 + 3.0 * 4096 * 11008);
  const double attention = 32 * 2.0 * 4096 * static_cast<double>(seq);
  CHECK(macs == Approx(static_cast<double>(seq) * (layers + attention) + 4096.0 * 32000));
}

TEST_CASE("resnet50 has the parameters and the work that are published", "[plan][models]") {
  const auto body = LoadModel("resnet50");
  // torchvision's resnet50 has 25,557,032 parameters, of them two a channel for 26,560 channels of
  // batch norm; folded, one a channel is left.
  const double parameters = static_cast<double>(body->WeightBytes()) / 2;
  CHECK(parameters == 25'557'032 - 26'560);
  CHECK(parameters == Approx(25.5e6).epsilon(0.01));
  // v1.5: 4.09 to 4.11 G an image are published.
  const double macs = Macs(*body, body->entries[0], At(*body, {{"batch", 1}}));
  CHECK(macs >= 0.99 * 4.09e9);
  CHECK(macs <= 1.01 * 4.11e9);
  CHECK(Macs(*body, body->entries[0], At(*body, {{"batch", 32}})) == 32 * macs);
  // The paper's own version takes the stride two convolutions earlier, so that three convolutions
  // have a quarter of the pixels: 3.8 G (He et al., table 1, cut to one decimal).
  double moved = 0;
  for (const char* name : {"conv3_1_a", "conv4_1_a", "conv5_1_a"}) {
    for (const Operator& op : body->entries[0].operators) {
      if (op.name != name) continue;
      moved += ConvMacs(std::get<Conv>(op.work), At(*body, {{"batch", 1}}));
    }
  }
  const double paper = macs - 0.75 * moved;
  CHECK(paper >= 3.8e9);
  CHECK(paper < 3.9e9);
}

TEST_CASE("every convolution of resnet50 makes as many values as its output holds",
          "[plan][models]") {
  const auto body = LoadModel("resnet50");
  const Bindings dims = At(*body, {{"batch", 3}});
  std::size_t convolutions = 0;
  for (const Operator& op : body->entries[0].operators) {
    const auto* conv = std::get_if<Conv>(&op.work);
    if (conv == nullptr) continue;
    ++convolutions;
    CAPTURE(op.name);
    const double depth =
        static_cast<double>(conv->kernel_h(dims) * conv->kernel_w(dims) * conv->c(dims));
    CHECK(static_cast<double>(body->tensors[op.outputs[0]].elements(dims)) * depth ==
          ConvMacs(*conv, dims));
    // Image, filters, bias.
    REQUIRE(op.inputs.size() == 3);
    CHECK(body->tensors[op.inputs[0]].elements(dims) ==
          conv->n(dims) * conv->h(dims) * conv->w(dims) * conv->c(dims));
    CHECK(static_cast<double>(body->tensors[op.inputs[1]].elements(dims)) ==
          depth * static_cast<double>(conv->filters(dims)));
  }
  // 1 + 3 · 16 + 4 shortcuts that change shape; the 50th layer multiplies a matrix.
  CHECK(convolutions == 53);
}

TEST_CASE("the scores of a long prompt stay within a block of rows", "[plan][models]") {
  const auto body = LoadModel("llama2_7b_prefill");
  for (const Tensor& tensor : body->tensors) {
    if (tensor.name != "scores") continue;
    CHECK(tensor.Bytes(At(*body, {{"seq", 30712}, {"batch", 1}})) == 32LL * 512 * 30712 * 2);
    CHECK(tensor.Bytes(At(*body, {{"seq", 100}, {"batch", 2}})) == 2LL * 32 * 100 * 100 * 2);
  }
}

TEST_CASE("a shipped model's layer reads the weights of one layer", "[plan][models]") {
  const auto body = LoadModel("llama2_7b_prefill");
  const Variant& variant = body->entries[1].variants[0];
  REQUIRE(variant.groups.size() == 5);
  std::int64_t bytes = 0;
  for (const Group& group : variant.groups) {
    for (const Index tensor : group.reads) {
      if (body->tensors[tensor].kind != TensorKind::kWeight) continue;
      bytes += body->tensors[tensor].Bytes({});
    }
  }
  CHECK(bytes == 2LL * (4 * 4096 * 4096 + 3 * 4096 * 11008 + 2 * 4096));
}

TEST_CASE("every variant of a shipped model finds the variant that it calls", "[plan][models]") {
  const std::string name = GENERATE("bert_base", "llama2_7b_prefill");
  const auto body = LoadModel(name);
  for (const Variant& variant : body->entries[0].variants) {
    const auto called = body->CalledVariant(variant, 1);
    REQUIRE(called.has_value());
    CHECK(body->entries[1].variants[*called].name == variant.name);
  }
}

TEST_CASE("the shipped models are in the library under their names", "[plan][models]") {
  const std::string name = GENERATE("bert_base", "llama2_7b_prefill", "resnet50");
  const auto shipped = base::FindShipped(base::ShippedKind::kPlan, name);
  REQUIRE(shipped.has_value());
  const auto body = LoadValidPlan(shipped->bytes, name);
  REQUIRE(body.ok());
  CHECK((*body)->digest == LoadModel(name)->digest);
}

}  // namespace
}  // namespace leeway::plan
