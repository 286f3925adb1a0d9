#include "plan/unknown_fields.h"

#include <string>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

// Wire format by hand: a tag is number × 8 + type, in base 128 with the low digits first.
const std::string kVarint5("\x28\x96\x01", 3);            // field 5
const std::string kFixed6("\x31\1\2\3\4\5\6\7\x08", 9);   // field 6, 64 bits
const std::string kBytes7("\x3a\3abc", 5);                // field 7
const std::string kGroup8("\x43\x28\1\x4b\x4c\x44", 6);   // field 8, holds 5 and 9
const std::string kFixed100("\xa5\x06\1\2\3\4", 6);       // field 100, 32 bits
const std::string kHighest("\xf8\xff\xff\xff\x0f\0", 6);  // field 2^29 - 1

std::vector<std::uint32_t> Numbers(std::string_view wire) {
  std::vector<std::uint32_t> numbers;
  while (const std::uint32_t number = TakeField(wire)) numbers.push_back(number);
  CHECK(wire.empty());
  return numbers;
}

std::string Warning(const UnknownFields& unknown) {
  Findings findings;
  unknown.Report(findings);
  const CheckResult result = findings.Take();
  CHECK(result.ok);
  REQUIRE(result.findings.size() == 1);
  return result.findings[0].message;
}

TEST_CASE("fields of every wire type are told apart", "[plan][compatibility]") {
  CHECK(Numbers(kVarint5 + kFixed6 + kBytes7 + kGroup8 + kFixed100 + kHighest) ==
        std::vector<std::uint32_t>{5, 6, 7, 8, 100, (1u << 29) - 1});
  CHECK(Numbers("").empty());
}

TEST_CASE("bytes that stop short end the fields", "[plan][compatibility][hostile]") {
  const std::string whole = kVarint5 + kFixed6 + kBytes7 + kGroup8 + kFixed100;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CHECK(Numbers(std::string_view(whole).substr(0, size)).size() <= 5);
  }
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::string noise(prng.Below(40), '\0');
  for (char& byte : noise) byte = static_cast<char>(prng.Below(256));
  CHECK(Numbers(noise).size() <= noise.size());
}

TEST_CASE("the warning counts all fields and names the first by message", "[plan][compatibility]") {
  const Path plan("");
  UnknownFields unknown;
  unknown.Note(plan.At("header"), kVarint5 + kBytes7);
  unknown.Note(plan.At("entries", 0), kFixed100);
  // A field that repeats is one name and many fields.
  unknown.Note(plan, kVarint5 + kVarint5 + kVarint5);
  CHECK_THAT(Warning(unknown), Catch::StartsWith("6 fields are of a newer schema") &&
                                   Catch::EndsWith("header: 5, 7; entries[0]: 100; plan: 5"));
}

TEST_CASE("fields beyond the first are counted, not named", "[plan][compatibility][hostile]") {
  const Path plan("");
  UnknownFields unknown;
  for (std::size_t i = 0; i < 100'000; ++i) unknown.Note(plan.At("tensors", i), kVarint5);
  const std::string warning = Warning(unknown);
  CHECK_THAT(warning, Catch::StartsWith("100000 fields are"));
  CHECK(warning.size() < 400);
}

TEST_CASE("a plan without unknown fields gets no warning", "[plan][compatibility]") {
  Findings findings;
  UnknownFields().Report(findings);
  CHECK(findings.total() == 0);
}

TEST_CASE("a kind of work that the reader does not know is an error", "[plan][compatibility]") {
  std::string bytes = Encode(R"(
    header { model: "m" }
    entries { name: "main"
      operators { name: "a" work { host { nanoseconds: 5 } } }
      variants { name: "v" fusion_groups { name: "g" ops: "a" } } })");
  REQUIRE(FindingsOf(bytes) == "");
  // Field 9 of Work, a message of two bytes, becomes field 12.
  const std::size_t at = bytes.find("\x4a\x02\x08\x05");
  REQUIRE(at != std::string::npos);
  bytes[at] = '\x62';
  CHECK_THAT(FindingsOf(bytes),
             Catch::Contains("entries[0].operators[0].work: a kind of work, field "
                             "12, is unknown to this reader"));
}

}  // namespace
}  // namespace leeway::plan
