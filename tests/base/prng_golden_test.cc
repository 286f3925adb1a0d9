// Draws against an independent implementation: a Python program that follows the papers.
//
// SplitMix64 and xoshiro256** were written from the papers' recurrences and checked against the
// published vectors (seed 1234567; state {1, 2, 3, 4}). Below() rejects unless the low word of the
// product is at least 2^64 mod bound. The distributions use math.log, math.exp and math.lgamma;
// the binomial's inversion runs on exact fractions. A digest is hashlib.sha256 over the draws as
// little-endian 64-bit integers, seed 42.

#include <functional>
#include <string>
#include <vector>

#include "base/digest.h"
#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::base {
namespace {

using Words = std::vector<std::uint64_t>;
using Reals = std::vector<double>;

template <typename Draw>
auto FirstDraws(std::uint64_t seed, std::size_t n, Draw draw) {
  Prng prng(seed);
  std::vector<decltype(draw(prng))> draws;
  for (std::size_t i = 0; i < n; ++i) draws.push_back(draw(prng));
  return draws;
}

template <typename Draw>
std::string DigestOfDraws(std::size_t n, Draw draw) {
  Sha256 sha;
  for (const std::uint64_t word : FirstDraws(42, n, draw)) sha.UpdateU64(word);
  return sha.Finish().ToHex();
}

std::uint64_t Next(Prng& prng) { return prng.Next(); }

TEST_CASE("words equal those of the reference recurrence", "[base][golden]") {
  CHECK(FirstDraws(0, 4, Next) ==
        Words{0x99ec5f36cb75f2b4, 0xbf6e1f784956452a, 0x1a5f849d4933e6e0, 0x6aa594f1262d2d2c});
  CHECK(FirstDraws(1, 4, Next) ==
        Words{0xb3f2af6d0fc710c5, 0x853b559647364cea, 0x92f89756082a4514, 0x642e1c7bc266a3a7});
  CHECK(FirstDraws(~std::uint64_t{0}, 4, Next) ==
        Words{0x8f5520d52a7ead08, 0xc476a018caa1802d, 0x81de31c0d260469e, 0xbf658d7e065f3c2f});
  CHECK(DigestOfDraws(100'000, Next) ==
        "f8ee5f8e4c944c9778fd52cc1f28ce1b06751c95ac5565b81e68f485368aca2b");
}

TEST_CASE("bounded integers equal those of the reference, rejections included", "[base][golden]") {
  const Words bounds = {1,
                        2,
                        3,
                        10,
                        1000,
                        (std::uint64_t{1} << 32) + 1,
                        (std::uint64_t{1} << 63) + 1,
                        std::uint64_t{3} << 62,
                        ~std::uint64_t{0}};
  std::size_t i = 0;
  const auto draw = [&](Prng& prng) { return prng.Below(bounds[i++ % bounds.size()]); };
  CHECK(DigestOfDraws(20'000, draw) ==
        "6a9ca350c94d813da9dfc116e2729d990548843d08003fa15d2b8214b8269016");
}

TEST_CASE("units equal the reference bit for bit", "[base][golden]") {
  CHECK(FirstDraws(42, 4, [](Prng& prng) { return prng.Unit(); }) ==
        Reals{0x1.5780b2e0c2ec0p-4, 0x1.84136619b444ep-2, 0x1.5c2ea66473c93p-1,
              0x1.d9715a8e0766cp-1});
  CHECK(FirstDraws(42, 4, [](Prng& prng) { return prng.UnitOpenLow(); }) ==
        Reals{0x1.5780b2e0c2ec8p-4, 0x1.84136619b4450p-2, 0x1.5c2ea66473c94p-1,
              0x1.d9715a8e0766dp-1});
}

void CheckClose(const Reals& got, const Reals& want) {
  REQUIRE(got.size() == want.size());
  // The logarithm's bound, and that of Python's, through one product and one root.
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(1e-14));
}

TEST_CASE("real draws equal the reference up to the error of the logarithms", "[base][golden]") {
  CheckClose(FirstDraws(42, 6, [](Prng& prng) { return prng.Exponential(); }),
             {2.4785711090585885, 0.97027118432691106, 0.38559864310239067, 0.078293547577221539,
              0.0082298582903030069, 0.26170318446452046});
  CheckClose(FirstDraws(42, 6, [](Prng& prng) { return prng.Normal(); }),
             {-0.72621913824478568, 0.22162270150359331, 0.46417731016247366, 1.4762494610184149,
              1.0078198992420604, 1.0272109607595328});
  CheckClose(FirstDraws(42, 6, [](Prng& prng) { return prng.LogNormal(0.5); }),
             {0.69551022287926978, 1.1171841310273096, 1.2612315384565107, 2.0920087535875767,
              1.6551803068319728, 1.6713062066632218});
}

struct PoissonGolden {
  double mean;
  const char* digest;
};

TEST_CASE("Poisson draws equal the reference, by products and by rejection", "[base][golden]") {
  const auto golden = GENERATE(values<PoissonGolden>({
      {0.1, "155dab06a93f1e1cc037f80a315f604db88f6f3262da24bd47b16b34dce66083"},
      {3, "67e382d85ae9d019007259f9a4052d3ec1ade60b867850b91a61baa0865a10dd"},
      {29.5, "24223ceecbcf15b54ac3f2310036aa0762401232bf3a8885d6ee9c4cfd8556ef"},
      {30, "7ff2ee22d7240b9d3aaa06909f60b4766046dc60997998b6d8e8d403a1069c85"},
      {250, "bc084148848b12ce4aa7688cc2c4e36367c52f9cacc18acce5bf7f4b059a7fcc"},
      {1e6, "f27c0aaccd0848cc78b3c1b65cd09d56c2fb7164f79a6aa13d13439eb5ceb086"},
  }));
  CAPTURE(golden.mean);
  CHECK(DigestOfDraws(5000, [&](Prng& prng) { return prng.Poisson(golden.mean); }) ==
        golden.digest);
}

struct BinomialGolden {
  std::uint64_t n;
  double p;
  std::size_t draws;
  const char* digest;
};

TEST_CASE("binomial draws equal the reference, by inversion and by rejection", "[base][golden]") {
  const auto golden = GENERATE(values<BinomialGolden>({
      {1, 0.5, 2000, "39e7fb6bab85ea851b45014717dacd0062f2c06e58baab110c90d73a69d4bcd2"},
      {10, 0.25, 2000, "a59dc9561f62686fcdeb60777a7f5947d7076d9404cd2f0e14464897c40735ea"},
      {100, 0.0625, 2000, "b27582d8b9f1cbd591ba1ac362a874ad429c94ba97e54b5100a99c5c294f398c"},
      {100, 0.25, 5000, "23397432624489200416768b78f119fcd9835331838e195b8f453014d7119ec6"},
      {1000, 0.875, 5000, "13dc411383d6e046c865b43e22f614c0b608410848567bb9b701a8ebfd83f91d"},
      {1'000'000, 0.5, 5000, "d71b0e7109c9a94c58ef31e2a9bd1be131a2ffcb050d8bc33eeb48affd36cdca"},
  }));
  CAPTURE(golden.n, golden.p);
  const auto draw = [&](Prng& prng) { return prng.Binomial(golden.n, golden.p); };
  CHECK(DigestOfDraws(golden.draws, draw) == golden.digest);
}

TEST_CASE("forks equal the reference: state and purpose folded by SplitMix64's mixer",
          "[base][golden]") {
  const Prng root(42);
  CHECK(root.Fork("").Next() == 0x174a5a59ddec6a9f);
  CHECK(root.Fork("arrivals").Next() == 0xfb9f9d62afe98c12);
  CHECK(root.Fork("lengths").Next() == 0xa37f9aa3a5d90818);
  CHECK(root.Fork("a").Fork("b").Next() == 0x61d706b00476301b);
}

}  // namespace
}  // namespace leeway::base
