// Structure of the generator: ranges, bias, independence of forks. Bounds are in standard
// deviations of the exact distribution; seeds are fixed, so that a pass stays a pass.

#include "base/prng.h"

#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/catch.h"

namespace leeway::base {
namespace {

// χ² of k equally likely cells, in standard deviations above its mean k − 1.
double ChiSquareSigmas(const std::vector<std::uint64_t>& counts) {
  double n = 0;
  for (const std::uint64_t count : counts) n += static_cast<double>(count);
  const double expected = n / static_cast<double>(counts.size());
  double sum = 0;
  for (const std::uint64_t count : counts) {
    sum += (static_cast<double>(count) - expected) * (static_cast<double>(count) - expected);
  }
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (sum / expected - freedom) / std::sqrt(2 * freedom);
}

TEST_CASE("equal seeds give equal draws and different seeds different ones", "[base][property]") {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Prng a(seed);
    Prng b(seed);
    const std::uint64_t first = a.Next();
    CHECK(first == b.Next());
    firsts.insert(first);
  }
  // Among 10^4 words of 64 bits a collision has a probability below 3e-12.
  CHECK(firsts.size() == 10'000);
}

TEST_CASE("an integer below a bound is below it", "[base][property]") {
  const auto seed = GENERATE(range(0u, 20u));
  CAPTURE(seed);
  Prng prng(seed);
  for (int shift = 0; shift < 64; ++shift) {
    const std::uint64_t power = std::uint64_t{1} << shift;
    for (const std::uint64_t bound : {power, power + 1, 2 * power - 1}) {
      CAPTURE(bound);
      CHECK(prng.Below(bound) < bound);
    }
  }
}

TEST_CASE("integers below a small bound are equally likely", "[base][statistics]") {
  const auto bound = GENERATE(2u, 3u, 6u, 7u, 10u, 100u);
  CAPTURE(bound);
  Prng prng(bound);
  std::vector<std::uint64_t> counts(bound);
  for (int i = 0; i < 100'000; ++i) ++counts[prng.Below(bound)];
  CHECK(std::abs(ChiSquareSigmas(counts)) < 5);
}

TEST_CASE("a bound that does not divide 2^64 leaves no bias", "[base][statistics]") {
  // Without the rejection, multiplying into three quarters of the range would map two words to
  // each multiple of three and one to every other integer: χ² of thousands of deviations.
  constexpr std::uint64_t kBound = std::uint64_t{3} << 62;
  const auto seed = GENERATE(range(0u, 5u));
  CAPTURE(seed);
  Prng prng(seed);
  std::vector<std::uint64_t> residues(3);
  std::vector<std::uint64_t> thirds(3);
  for (int i = 0; i < 100'000; ++i) {
    const std::uint64_t draw = prng.Below(kBound);
    ++residues[draw % 3];
    ++thirds[draw / (kBound / 3)];
  }
  CHECK(std::abs(ChiSquareSigmas(residues)) < 5);
  CHECK(std::abs(ChiSquareSigmas(thirds)) < 5);
}

TEST_CASE("units are multiples of 2^-53, equally spread, open on the stated side",
          "[base][property]") {
  Prng prng(5);
  std::vector<std::uint64_t> cells(64);
  for (int i = 0; i < 200'000; ++i) {
    const double unit = prng.Unit();
    const double open = prng.UnitOpenLow();
    if (!(unit >= 0 && unit < 1 && open > 0 && open <= 1)) FAIL(unit << " " << open);
    if (std::ldexp(unit, 53) != std::floor(std::ldexp(unit, 53))) FAIL(unit);
    ++cells[static_cast<std::size_t>(unit * 64)];
  }
  CHECK(std::abs(ChiSquareSigmas(cells)) < 5);
}

TEST_CASE("every bit of a word is set half of the time", "[base][statistics]") {
  Prng prng(6);
  constexpr int kDraws = 100'000;
  std::vector<int> ones(64);
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t word = prng.Next();
    for (int bit = 0; bit < 64; ++bit) ones[bit] += word >> bit & 1;
  }
  // σ of a count is √n / 2.
  for (const int count : ones) CHECK(std::abs(count - kDraws / 2) < 5 * std::sqrt(kDraws) / 2);
}

std::vector<std::uint64_t> Words(Prng prng, int n) {
  std::vector<std::uint64_t> words;
  for (int i = 0; i < n; ++i) words.push_back(prng.Next());
  return words;
}

TEST_CASE("drawing more for one purpose does not move the draws of another", "[base][property]") {
  const Prng root(7);
  const std::vector<std::uint64_t> alone = Words(root.Fork("lengths"), 100);

  Prng arrivals = root.Fork("arrivals");
  Prng lengths = root.Fork("lengths");
  std::vector<std::uint64_t> interleaved;
  for (int i = 0; i < 100; ++i) {
    for (int j = 0; j < i % 5; ++j) arrivals.Next();
    interleaved.push_back(lengths.Next());
  }
  CHECK(interleaved == alone);
}

TEST_CASE("forking does not move the parent, and a fork follows the parent's position",
          "[base][property]") {
  Prng forked(8);
  const Prng untouched(8);
  const std::uint64_t first = forked.Fork("a").Next();
  CHECK(Words(forked, 10) == Words(untouched, 10));
  forked.Next();
  CHECK(forked.Fork("a").Next() != first);
}

TEST_CASE("forks of purposes that spell the same in pieces differ", "[base][property]") {
  const Prng root(9);
  std::set<std::uint64_t> firsts = {root.Fork("ab").Next(),
                                    root.Fork("a").Fork("b").Next(),
                                    root.Fork("ba").Next(),
                                    root.Fork("").Fork("ab").Next(),
                                    root.Fork("ab").Fork("").Next(),
                                    root.Fork(std::string_view("ab\0", 3)).Next(),
                                    Prng(9).Next()};
  CHECK(firsts.size() == 7);
}

// Share of differing bits between two sequences, in deviations from one half.
double HammingSigmas(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  int differing = 0;
  for (std::size_t i = 0; i < a.size(); ++i) differing += std::popcount(a[i] ^ b[i]);
  const double bits = 64 * static_cast<double>(a.size());
  return (differing - bits / 2) / (std::sqrt(bits) / 2);
}

TEST_CASE("forks of neighbouring purposes share no bits with each other or the parent",
          "[base][statistics]") {
  const auto seed = GENERATE(range(0u, 4u));
  CAPTURE(seed);
  const Prng root(seed);
  std::vector<std::vector<std::uint64_t>> sequences = {Words(root, 100)};
  for (int i = 0; i < 40; ++i) {
    sequences.push_back(Words(root.Fork("stream " + std::to_string(i)), 100));
  }
  // 820 pairs: the largest of so many normals is beyond 5.5σ once in 30 000 such tests.
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      CAPTURE(i, j);
      CHECK(std::abs(HammingSigmas(sequences[i], sequences[j])) < 5.5);
    }
  }
}

}  // namespace
}  // namespace leeway::base
