// The loader reads a plan piece by piece; protobuf's own parse of the whole message is the oracle.
#include <string>

#include "base/prng.h"
#include "plan/load.h"
#include "plan/plan_text.h"
#include "tests/catch.h"

#include "tests/plan/scramble.h"
#include "tests/plan/text_plan.h"
#include "text/schema_pool.h"

namespace leeway::plan {
namespace {

// What protobuf writes for what it reads as one message.
std::string Rewritten(const std::string& bytes) {
  text::SchemaPool pool(text::SchemaPool::Strings::kBytes);
  const auto message = pool.New(Schema::kPlan);
  REQUIRE(message->ParseFromString(bytes));
  return text::Encode(*message);
}

std::string Scrambled(const std::string& bytes, UnknownFields unknown, std::uint64_t seed) {
  text::SchemaPool pool(text::SchemaPool::Strings::kBytes);
  base::Prng prng(seed);
  return Scramble(bytes, *pool.New(Schema::kPlan)->GetDescriptor(), unknown, prng);
}

TEST_CASE("a plan is the same in whatever order and parts its fields are written",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  const std::string bytes = RandomBytes(seed);
  const std::string other = Scrambled(bytes, UnknownFields::kNone, seed);
  const auto body = LoadValidPlan(other, "scrambled");
  INFO(body.status().ToString());
  REQUIRE(body.ok());
  CHECK(((*body)->serialized == bytes));  // bytes are not for the terminal
  CHECK((*body)->digest == LoadValidPlan(bytes, "plain").value()->digest);
}

TEST_CASE("a plan is kept as protobuf writes it, with what the schema does not know",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 300u));
  CAPTURE(seed);
  const std::string bytes = RandomBytes(seed);
  const std::string other = Scrambled(bytes, UnknownFields::kSome, seed);
  const auto body = LoadValidPlan(other, "scrambled");
  INFO(body.status().ToString());
  REQUIRE(body.ok());
  CHECK(((*body)->serialized == Rewritten(other)));
  CHECK(LoadValidPlan((*body)->serialized, "again").value()->digest == (*body)->digest);
}

TEST_CASE("bytes are a plan exactly where they are a message", "[plan][property][hostile]") {
  const auto seed = GENERATE(range(0u, 400u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::string bytes = Scrambled(RandomBytes(seed % 20), UnknownFields::kSome, seed);
  for (std::uint64_t i = 0; i <= prng.Below(3); ++i) {
    bytes[prng.Below(bytes.size())] = static_cast<char>(prng.Below(256));
  }
  if (prng.Below(4) == 0) bytes.resize(prng.Below(bytes.size()));
  text::SchemaPool pool(text::SchemaPool::Strings::kBytes);
  const auto message = pool.New(Schema::kPlan);
  const bool whole = message->ParseFromString(bytes);
  const Result<Loaded> loaded = LoadPlan(bytes, "spoilt");
  // A newer plan is refused before the rest of it is read.
  if (loaded.status().code() == StatusCode::kFailedPrecondition) return;
  CHECK(loaded.ok() == whole);
  if (loaded.ok() && loaded->body != nullptr) CHECK((loaded->body->serialized == Rewritten(bytes)));
}

}  // namespace
}  // namespace leeway::plan
