#include "plan/wire.h"

#include <string>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::plan {
namespace {

// "ok 1 2d" for fields 1 and a delimited 2.
std::string Walk(std::string_view bytes) {
  std::string seen, covered;
  WireReader reader(bytes);
  for (WireField field; reader.Next(field);) {
    seen += " " + std::to_string(field.number) + (field.delimited ? "d" : "");
    covered += field.whole;
  }
  if (reader.ok()) CHECK(covered == bytes);
  return (reader.ok() ? "ok" : "bad") + seen;
}

TEST_CASE("fields of every wire type are walked", "[plan][wire]") {
  CHECK(Walk("") == "ok");
  CHECK(Walk("\x08\x96\x01") == "ok 1");
  CHECK(Walk("\x12\x07testing") == "ok 2d");
  CHECK(Walk(std::string("\x09\0\0\0\0\0\0\0\0\x15\0\0\0\0", 14)) == "ok 1 2");
  // A group that holds a field and another group.
  CHECK(Walk("\x1b\x08\x01\x23\x24\x1c\x08\x01") == "ok 3 1");
  // More bytes than a varint needs are legal.
  CHECK(Walk(std::string("\x88\x80\x00\x81\x00", 5)) == "ok 1");
}

TEST_CASE("what is no field is refused where it begins", "[plan][wire][hostile]") {
  CHECK(Walk(std::string("\x00\x01", 2)) == "bad");  // field number 0
  CHECK(Walk("\x0f") == "bad");                      // wire type 7
  CHECK(Walk("\x08\x01\x0c") == "bad 1");            // the end of no group
  CHECK(Walk("\x1b\x08\x01") == "bad");              // a group without end
  CHECK(Walk("\x1b\x24") == "bad");                  // the end of another
  CHECK(Walk("\x12\x05tes") == "bad");               // cut short
  CHECK(Walk("\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") == "bad");
  CHECK(Walk("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") == "bad");  // 11 bytes
  CHECK(Walk(std::string(1'000'000, '\x1b')) == "bad");                      // groups in groups
}

TEST_CASE("random bytes are walked or refused", "[plan][wire][property]") {
  const auto seed = GENERATE(range(0u, 2000u));
  CAPTURE(seed);
  base::Prng prng(seed);
  std::string bytes(prng.Below(40), '\0');
  for (char& byte : bytes) byte = static_cast<char>(prng.Below(prng.Below(4) == 0 ? 256 : 32));
  CHECK_FALSE(Walk(bytes).empty());
}

TEST_CASE("what is appended is read back, and of a repeated string the last counts",
          "[plan][wire]") {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 16'383u, 16'384u}) {
    std::string bytes;
    AppendDelimited(15, std::string(size, 'a'), bytes);
    AppendDelimited(16, "b", bytes);
    AppendDelimited(15, std::string(size, 'c'), bytes);
    CHECK(Walk(bytes) == "ok 15d 16d 15d");
    CHECK(FindDelimited(bytes, 15) == std::string(size, 'c'));
    CHECK(FindDelimited(bytes, 16) == "b");
    CHECK(FindDelimited(bytes, 17) == std::nullopt);
  }
}

}  // namespace
}  // namespace leeway::plan
