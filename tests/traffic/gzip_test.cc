#include <string>

#include "base/prng.h"
#include "tests/catch.h"
#include "tests/traffic/support/files.h"

namespace leeway::traffic::testing {
namespace {

const TrafficOptions kPlain{.format = "csv", .map = "arrival=t:us,seq=len"};

// Rows that do not compress well.
std::string RandomRows(int rows) {
  base::Prng prng(7);
  std::string bytes = "t,len,note\n";
  std::uint64_t time = 0;
  for (int i = 0; i < rows; ++i) {
    time += prng.Below(1'000'000'000);
    bytes += std::to_string(time) + "," + std::to_string(1 + prng.Below(30'000)) + "," +
             std::to_string(prng.Next()) + "\n";
  }
  return bytes;
}

TEST_CASE("a compressed file reads as the plain one, in any number of members", "[traffic][gzip]") {
  const TempFolder folder;
  const std::string bytes = RandomRows(20'000);
  const auto plain = Traffic::Open(folder.Write("a.csv", bytes), kPlain);
  const auto packed = Traffic::Open(folder.Write("a.csv.gz", Gzip(bytes)), kPlain);
  const auto members =
      Traffic::Open(folder.Write("b.csv.gz", Gzip(bytes.substr(0, 12'345)) + Gzip("") +
                                                 Gzip(bytes.substr(12'345))),
                    kPlain);
  // Recognised by its first bytes, not by its name.
  const auto nameless = Traffic::Open(folder.Write("c", Gzip(bytes)), kPlain);
  REQUIRE(plain.ok());
  const std::string expected = ToText(ReadAll(*plain).arrivals);
  for (const auto* traffic : {&packed, &members, &nameless}) {
    REQUIRE(traffic->ok());
    CHECK(ToText(ReadAll(**traffic).arrivals) == expected);
  }
}

TEST_CASE("a compressed file cut anywhere is a data loss and never an end", "[traffic][gzip]") {
  const TempFolder folder;
  const std::string packed = Gzip(RandomRows(3'000));
  REQUIRE(packed.size() > 40'000);
  for (std::size_t size = 0; size < packed.size(); size += size < 30 ? 1 : 1000) {
    CAPTURE(size);
    const std::string path = folder.Write("a.csv.gz", packed.substr(0, size));
    const std::string error = ErrorOf(folder, path, kPlain);
    CHECK(error.substr(0, 19) == "DATA_LOSS: a.csv.gz");
  }
  const std::string path = folder.Write("a.csv.gz", packed.substr(0, packed.size() - 9));
  CHECK(ErrorOf(folder, path, kPlain) ==
        "DATA_LOSS: a.csv.gz:3002: the compressed data ends early");
}

TEST_CASE("a compressed file damaged anywhere is an error or reads the same", "[traffic][gzip]") {
  const TempFolder folder;
  const std::string bytes = RandomRows(3'000);
  const std::string packed = Gzip(bytes);
  const auto plain = Traffic::Open(folder.Write("a.csv", bytes), kPlain);
  REQUIRE(plain.ok());
  const std::string expected = ToText(ReadAll(*plain).arrivals);
  for (std::size_t at = 0; at < packed.size(); at += at < 30 ? 1 : 997) {
    CAPTURE(at);
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    const auto traffic = Traffic::Open(folder.Write("a.csv.gz", damaged), kPlain);
    if (!traffic.ok()) continue;
    const Reading reading = ReadAll(*traffic);
    // A flag or the time in the header may change without harm.
    if (reading.status.ok()) CHECK(ToText(reading.arrivals) == expected);
  }
}

TEST_CASE("a file named .gz that is not compressed is a data loss", "[traffic][gzip]") {
  const TempFolder folder;
  const std::string path = folder.Write("a.csv.gz", "t,len\n1,2\n");
  CHECK(ErrorOf(folder, path, kPlain) ==
        "DATA_LOSS: a.csv.gz:1: not compressed by gzip, or damaged");
}

}  // namespace
}  // namespace leeway::traffic::testing
