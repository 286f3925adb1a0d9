#include "base/digest.h"

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "leeway/digest.h"
#include "tests/catch.h"

namespace leeway::base {
namespace {

std::string BytesOf(const Digest& digest) {
  return std::string(reinterpret_cast<const char*>(digest.bytes.data()), digest.bytes.size());
}

TEST_CASE("SHA-256 gives NIST's example values", "[base][oracle]") {
  // FIPS 180-4 examples and the NIST CAVP short messages.
  CHECK(DigestOf("").ToHex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(DigestOf("abc").ToHex() ==
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(DigestOf("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq").ToHex() ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(DigestOf("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                 "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")
            .ToHex() == "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  CHECK(DigestOf("\xd3").ToHex() ==
        "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
  CHECK(DigestOf(std::string(1'000'000, 'a')).ToHex() ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("SHA-256 pads every length around the block borders as Python's hashlib does",
          "[base][oracle]") {
  std::string digests;
  for (std::size_t n = 0; n < 200; ++n) digests += BytesOf(DigestOf(std::string(n, 'a')));
  // hashlib.sha256(b''.join(hashlib.sha256(b'a'*i).digest() for i in range(200))).hexdigest()
  CHECK(DigestOf(digests).ToHex() ==
        "752c007f38611cfbf5fa42cb1cea3d8e086491c844d0cc4defd632cb81423506");
}

TEST_CASE("how the bytes are cut into updates does not matter", "[base][property]") {
  std::string text;
  for (int i = 0; i < 300; ++i) text.push_back(static_cast<char>(i * 7));
  const std::string_view all = text;
  const Digest whole = DigestOf(all);
  for (std::size_t first = 0; first <= 130; ++first) {
    for (const std::size_t second : {first, first + 1, first + 63, first + 64, first + 129}) {
      Sha256 sha;
      sha.Update(all.substr(0, first));
      sha.Update(all.substr(first, second - first));
      sha.Update(all.substr(second));
      CAPTURE(first, second);
      CHECK(sha.Finish() == whole);
    }
  }
}

TEST_CASE("the processor's instructions compress as the portable code does", "[base][oracle]") {
  if (!HasSha256Instructions()) return;
  const auto seed = GENERATE(range(0u, 50u));
  CAPTURE(seed);
  Prng prng(seed);
  Sha256State portable;
  for (std::uint32_t& word : portable) word = static_cast<std::uint32_t>(prng.Next());
  std::vector<std::uint8_t> bytes(kSha256Block * (1 + seed % 5));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(prng.Next());
  Sha256State accelerated = portable;
  Sha256Portable(portable, bytes.data(), bytes.size() / kSha256Block);
  Sha256Accelerated(accelerated, bytes.data(), bytes.size() / kSha256Block);
  CHECK(portable == accelerated);
}

TEST_CASE("an integer is eight bytes, lowest first", "[base][unit]") {
  Sha256 sha;
  sha.UpdateU64(0x0807060504030201);
  CHECK(sha.Finish() == DigestOf("\x01\x02\x03\x04\x05\x06\x07\x08"));
}

Digest OfFields(std::string_view a, std::string_view b) {
  Sha256 sha;
  sha.UpdateField(a);
  sha.UpdateField(b);
  return sha.Finish();
}

TEST_CASE("moving a byte between neighbouring fields changes the digest", "[base][property]") {
  CHECK(OfFields("ab", "c") != OfFields("a", "bc"));
  CHECK(OfFields("", "abc") != OfFields("abc", ""));
  CHECK(OfFields("ab", "c") == OfFields("ab", "c"));
}

TEST_CASE("the public digest of bytes is the plain SHA-256", "[base][unit]") {
  CHECK(Sha256Of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(Sha256Of("abc") == DigestOf("abc").ToHex());
}

TEST_CASE("digests order by their bytes", "[base][unit]") {
  Digest low;
  Digest high;
  high.bytes[0] = 1;
  low.bytes[31] = 255;
  CHECK(low < high);
  CHECK(low.ToHex() == std::string(62, '0') + "ff");
}

}  // namespace
}  // namespace leeway::base
