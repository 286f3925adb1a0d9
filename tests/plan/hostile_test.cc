// Files that are made to cost take time and memory in proportion, and are refused. They have 4 MiB,
// or as many as LEEWAY_HOSTILE_MIB says: ./run test --full takes 100.
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "leeway/text.h"
#include "plan/load.h"
#include "plan/wire.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"
#include "tests/support/child_cost.h"

namespace leeway::plan {
namespace {

using testing::ChildCost;

std::size_t FullSize() {
  const char* const mebibytes = std::getenv("LEEWAY_HOSTILE_MIB");
  if (mebibytes != nullptr) return std::strtoul(mebibytes, nullptr, 10) << 20;
  return std::size_t{testing::IsSanitized() ? 1u : 4u} << 20;
}

// Bytes of memory a byte of input: a field of two bytes can be an operator, which takes 350.
constexpr std::size_t kBytesPerByte = 192;
constexpr std::size_t kFixedBytes = std::size_t{64} << 20;

// `make` gives a file of about so many bytes, `read` refuses it.
void CheckLinear(const std::function<std::string(std::size_t)>& make,
                 const std::function<bool(std::string_view)>& read) {
  const std::size_t size = FullSize();
  const auto cost = [&](std::size_t bytes) {
    const std::string file = make(bytes);
    CHECK(file.size() < bytes + bytes / 4 + 4096);
    return testing::CostOf([&] { return read(file); }, kBytesPerByte * bytes + kFixedBytes);
  };
  const ChildCost half = cost(size / 2), full = cost(size);
  CAPTURE(half.cpu_seconds, full.cpu_seconds, full.peak_bytes);
  CHECK(full.ok);
  // Twice as long, with room for what a busy machine adds.
  CHECK(full.cpu_seconds < 3.5 * half.cpu_seconds + 0.5);
  if (!testing::IsSanitized()) CHECK(full.peak_bytes < kBytesPerByte * size + kFixedBytes);
}

bool IsRefused(std::string_view bytes) {
  const Result<Loaded> loaded = LoadPlan(bytes, "hostile");
  return !loaded.ok() || loaded->body == nullptr;
}

std::string Repeat(std::string_view part, std::size_t size) {
  std::string out;
  out.reserve(size + part.size());
  while (out.size() < size) out += part;
  return out;
}

// A field of the only entry, and of its only variant.
std::string InEntry(const std::string& fields) {
  std::string entry, plan;
  AppendDelimited(1, "main", entry);
  entry += fields;
  AppendDelimited(5, entry, plan);
  return plan;
}
std::string InVariant(const std::string& fields) {
  std::string variant, entry;
  AppendDelimited(1, "v", variant);
  variant += fields;
  AppendDelimited(3, variant, entry);
  return InEntry(entry);
}
std::string In(std::uint32_t field, const std::string& fields) {
  std::string out;
  AppendDelimited(field, fields, out);
  return out;
}

TEST_CASE("groups within groups are refused in linear time", "[plan][hostile][linear]") {
  CheckLinear([](std::size_t size) { return std::string(size, '\x1b'); }, IsRefused);
  CheckLinear([](std::size_t size) { return InEntry(In(2, std::string(size, '\x1b'))); },
              IsRefused);
  // Many that are as deep as is allowed.
  const std::string deep = std::string(90, '\x1b') + std::string(90, '\x1c');
  CheckLinear([&](std::size_t size) { return Repeat(deep, size); }, IsRefused);
}

TEST_CASE("a field that repeats without end is refused in linear time and memory",
          "[plan][hostile][linear]") {
  struct Place {
    const char* what;
    std::function<std::string(std::size_t)> make;
  };
  const auto empty = [](std::uint32_t field, std::size_t size) {
    return Repeat(In(field, ""), size);
  };
  const Place places[] = {
      {"dims", [&](std::size_t n) { return empty(2, n); }},
      {"points of the shape profile", [&](std::size_t n) { return In(3, empty(1, n)); }},
      {"tensors", [&](std::size_t n) { return empty(4, n); }},
      {"entries", [&](std::size_t n) { return empty(5, n); }},
      {"annotations", [&](std::size_t n) { return empty(15, n); }},
      {"sizes of a shape", [&](std::size_t n) { return In(4, empty(4, n)); }},
      {"scales", [&](std::size_t n) { return In(4, In(5, Repeat(In(1, std::string(8, 1)), n))); }},
      {"operators", [&](std::size_t n) { return InEntry(empty(2, n)); }},
      {"variants", [&](std::size_t n) { return InEntry(empty(3, n)); }},
      {"inputs", [&](std::size_t n) { return InEntry(In(2, empty(3, n))); }},
      {"envelopes", [&](std::size_t n) { return InVariant(empty(2, n)); }},
      {"constraints", [&](std::size_t n) { return InVariant(empty(3, n)); }},
      {"groups", [&](std::size_t n) { return InVariant(empty(4, n)); }},
      {"elided", [&](std::size_t n) { return InVariant(empty(5, n)); }},
      {"layouts", [&](std::size_t n) { return InVariant(empty(6, n)); }},
      {"waits", [&](std::size_t n) { return InVariant(In(8, empty(2, n))); }},
      {"points of a profile", [&](std::size_t n) { return InVariant(In(4, In(9, empty(1, n)))); }},
      {"unknown fields", [&](std::size_t n) { return empty(1000, n); }},
  };
  for (const Place& place : places) {
    CAPTURE(place.what);
    CheckLinear(place.make, IsRefused);
  }
}

// Fields as large as a message may be, one after the other.
TEST_CASE("large messages do not add up", "[plan][hostile][linear]") {
  const auto operators = [](std::size_t size) {
    const std::size_t part = std::min<std::size_t>(size / 4, std::size_t{16} << 20);
    return InEntry(Repeat(In(2, Repeat(In(3, ""), part)), size));
  };
  CheckLinear(operators, IsRefused);
}

// 100 bytes an element, so that there are 10^6.
std::string Elements(std::uint32_t field, std::size_t size,
                     const std::function<std::string(std::size_t)>& fields) {
  std::string out;
  for (std::size_t i = 0; out.size() < size; ++i) {
    std::string element = fields(i);
    element += In(
        15, In(1, "pad") + In(2, std::string(80 - std::min<std::size_t>(80, element.size()), 'x')));
    AppendDelimited(field, element, out);
  }
  return out;
}

TEST_CASE("a million duplicate names are found in linear time", "[plan][hostile][linear]") {
  const auto same = [](std::size_t) { return In(1, "the same name"); };
  CheckLinear([&](std::size_t n) { return Elements(4, n, same); }, IsRefused);
  CheckLinear([&](std::size_t n) { return InEntry(Elements(2, n, same)); }, IsRefused);
  CheckLinear([&](std::size_t n) { return InVariant(Elements(4, n, same)); }, IsRefused);
}

TEST_CASE("a cycle of a million operators is found in linear time", "[plan][hostile][linear]") {
  const auto cycle = [](std::size_t size) {
    const std::size_t operators = size / 100;
    return InEntry(Elements(2, size, [&](std::size_t i) {
      return In(1, "o" + std::to_string(i)) +
             In(5, "o" + std::to_string(i + 1 < operators ? i + 1 : 0));
    }));
  };
  CHECK_THAT(FindingsOf(cycle(1000)), Catch::Contains("operators wait for each other: \"o0\" -> "));
  CheckLinear(cycle, IsRefused);
}

// Two chains of operators, a group each, beside each other. `mapping` is what the variant has
// besides.
std::string TwoChains(std::size_t operators,
                      const std::function<std::string(std::size_t)>& mapping) {
  const auto name = [](char of, std::size_t i) { return std::string(1, of) + std::to_string(i); };
  std::string plan = In(4, In(1, "x") + "\x10\x01\x18\x0b" + In(4, "1"));
  std::string entry = In(1, "main"), variant = In(1, "v");
  for (std::size_t i = 0; i < operators; ++i) {
    plan += In(4, In(1, name('t', i)) + "\x10\x04\x18\x0b" + In(4, "1"));
    const std::string reads = i < 2 ? "x" : name('t', i - 2);
    entry += In(2, In(1, name('o', i)) + In(3, reads) + In(4, name('t', i)));
    variant += In(4, In(1, name('g', i)) + In(2, name('o', i)));
  }
  AppendDelimited(3, variant + mapping(operators), entry);
  AppendDelimited(5, entry, plan);
  return In(1, In(1, "m")) + plan;
}

TEST_CASE("a schedule that a million groups cannot keep is found in linear time",
          "[plan][hostile][linear]") {
  const auto reversed = [](std::size_t size) {
    return TwoChains(size / 80, [](std::size_t groups) {
      std::string list = In(1, "");
      for (std::size_t i = groups; i > 0; --i) list += In(2, "g" + std::to_string(i - 1));
      return In(8, In(1, list));
    });
  };
  CHECK_THAT(FindingsOf(reversed(8000)), Catch::Contains("the schedule cannot be kept: \"g"));
  CheckLinear(reversed, IsRefused);
}

TEST_CASE("a million slots on one byte are compared in linear time", "[plan][hostile][linear]") {
  const auto stacked = [](std::size_t size) {
    return TwoChains(size / 80, [](std::size_t groups) {
      std::string arena = In(1, "a") + In(2, "1");
      for (std::size_t i = 0; i < groups; ++i) arena += In(4, In(1, "t" + std::to_string(i)));
      return In(10, arena);
    });
  };
  CHECK_THAT(FindingsOf(stacked(8000)), Catch::Contains("both can be needed at once"));
  CheckLinear(stacked, IsRefused);
}

TEST_CASE("a string without end is refused in linear time", "[plan][hostile][linear]") {
  const auto text = [](std::size_t size) { return std::string(size, 'a'); };
  CheckLinear([&](std::size_t n) { return In(1, In(1, text(n))); }, IsRefused);
  CheckLinear([&](std::size_t n) { return In(15, In(1, "k") + In(2, text(n))); }, IsRefused);
  CheckLinear([&](std::size_t n) { return In(4, In(1, text(n))); }, IsRefused);
  CheckLinear([&](std::size_t n) { return In(4, In(4, text(n))); }, IsRefused);
  CheckLinear([&](std::size_t n) { return InEntry(In(1, text(n))); }, IsRefused);
}

TEST_CASE("expressions that are made to cost are read in linear time", "[plan][hostile][linear]") {
  const std::string dim = In(2, In(1, "n") + std::string("\x10\x01\x18\x64\x20\x01\x30\x01", 8));
  const auto tensors = [&](std::size_t size, const std::function<std::string(std::size_t)>& text) {
    std::string out = dim;
    for (std::size_t i = 0; out.size() < size; ++i) {
      out += In(4, In(1, "t" + std::to_string(i)) + In(4, text(i)));
    }
    return out;
  };
  // All different, as long as they may be.
  const auto sums = [](std::size_t i) { return Repeat("n - 1 + ", 4000) + std::to_string(i); };
  const auto products = [](std::size_t i) {
    std::string text = std::to_string(i);
    for (int k = 0; text.size() < 4000; ++k) text += " * (n - " + std::to_string(k) + ")";
    return text;
  };
  const auto minima = [](std::size_t i) {
    std::string text = std::to_string(i);
    for (int k = 0; k < 60; ++k) text = "min(" + text + ", n * " + std::to_string(k) + ")";
    return text;
  };
  CheckLinear([&](std::size_t n) { return tensors(n, sums); }, IsRefused);
  CheckLinear([&](std::size_t n) { return tensors(n / 8, products); }, IsRefused);
  CheckLinear([&](std::size_t n) { return tensors(n / 8, minima); }, IsRefused);
  CheckLinear(
      [&](std::size_t n) { return tensors(n, [&](std::size_t) { return std::string(n, '('); }); },
      IsRefused);
}

// --- text forms
// -----------------------------------------------------------------------------------

bool TextIsRefused(std::string_view text) {
  const Result<std::string> bytes = TextToBinary(Schema::kPlan, text, "hostile");
  return !bytes.ok() || IsRefused(*bytes);
}
bool JsonIsRefused(std::string_view json) {
  const Result<std::string> bytes = JsonToBinary(Schema::kPlan, json, "hostile");
  return !bytes.ok() || IsRefused(*bytes);
}

TEST_CASE("deep nesting in text and JSON is refused in linear time", "[plan][hostile][linear]") {
  CheckLinear([](std::size_t n) { return Repeat("header { ", n); }, TextIsRefused);
  CheckLinear([](std::size_t n) { return Repeat("header { [a.b/c] < ", n); }, TextIsRefused);
  CheckLinear([](std::size_t n) { return std::string(n, '['); }, JsonIsRefused);
  CheckLinear([](std::size_t n) { return Repeat("{\"header\":", n); }, JsonIsRefused);
}

TEST_CASE("exponents that overflow in text and JSON are refused in linear time",
          "[plan][hostile][linear]") {
  // One exponent without end, and many.
  const std::string point = "shape_profile { points { weight: 1e999999999 } }\n";
  CheckLinear(
      [&](std::size_t n) {
        return "shape_profile { points { weight: 1e" + std::string(n, '9') + " } }";
      },
      TextIsRefused);
  CheckLinear([&](std::size_t n) { return Repeat(point, n / 4); }, TextIsRefused);
  CheckLinear(
      [](std::size_t n) {
        return "{\"shape_profile\": {\"points\": [{\"weight\": 1e" + std::string(n, '9') + "}]}}";
      },
      JsonIsRefused);
  CheckLinear(
      [](std::size_t n) {
        return "{\"shape_profile\": {\"points\": [" + Repeat("{\"weight\": 1e999999999},", n) +
               "{}]}}";
      },
      JsonIsRefused);
  CheckLinear([](std::size_t n) { return "{\"dims\": [{\"max\": " + std::string(n, '9') + "}]}"; },
              JsonIsRefused);
}

TEST_CASE("a field that repeats without end is refused in text and JSON, too",
          "[plan][hostile][linear]") {
  CheckLinear([](std::size_t n) { return Repeat("tensors{}\n", n / 4); }, TextIsRefused);
  CheckLinear([](std::size_t n) { return "{\"tensors\": [" + Repeat("{},", n / 8) + "{}]}"; },
              JsonIsRefused);
  CheckLinear(
      [](std::size_t n) { return "{\"header\": {\"model\": \"" + std::string(n, 'a') + "\"}}"; },
      JsonIsRefused);
}

}  // namespace
}  // namespace leeway::plan
