#include "telemetry/length_counts.h"

#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "base/prng.h"
#include "tests/catch.h"

namespace leeway::telemetry {
namespace {

std::vector<std::int64_t> RandomLengths(base::Prng& prng, std::size_t most) {
  std::vector<std::int64_t> lengths(prng.Below(most));
  const std::uint64_t range = std::uint64_t{1} << prng.Below(20);
  for (std::int64_t& length : lengths) {
    const bool outlier = prng.Below(50) == 0;
    length = static_cast<std::int64_t>(outlier ? prng.Next() >> (1 + prng.Below(60))
                                               : prng.Below(range));
  }
  return lengths;
}

// The smallest quantum in doubling steps at which at most `max_distinct` values are left.
AlignedCounts Oracle(const std::vector<std::int64_t>& lengths, std::int64_t quantum,
                     std::size_t max_distinct) {
  for (;; quantum *= 2) {
    std::map<std::int64_t, std::uint64_t> counts;
    for (std::int64_t length : lengths) {
      const std::int64_t bounded = std::min(length, kMaxLength);
      ++counts[bounded / quantum * quantum + (bounded % quantum != 0 ? quantum : 0)];
    }
    if (counts.size() > max_distinct) continue;
    AlignedCounts result;
    result.quantum = quantum;
    for (const auto& [length, count] : counts) result.counts.push_back({length, count});
    return result;
  }
}

AlignedCounts Of(const std::vector<std::int64_t>& lengths, LengthCounts::Options options) {
  LengthCounts counts(options);
  for (std::int64_t length : lengths) counts.Add(length);
  REQUIRE(counts.Counts().counts.size() == counts.distinct());
  return counts.Counts();
}

AlignedCounts Merged(AlignedCounts a, const AlignedCounts& b, std::size_t max_distinct) {
  REQUIRE(a.Merge(b, max_distinct).ok());
  return a;
}

}  // namespace

TEST_CASE("counts are exact, or of the smallest quantum that the bound allows",
          "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  LengthCounts::Options options;
  options.quantum = std::int64_t{1} << prng.Below(8);
  options.max_distinct = 2 + prng.Below(300);
  const std::vector<std::int64_t> lengths = RandomLengths(prng, 2000);
  REQUIRE(Of(lengths, options) == Oracle(lengths, options.quantum, options.max_distinct));
}

TEST_CASE("merging counts is associative, commutative and equals counting everything",
          "[telemetry][property]") {
  const auto seed = GENERATE(range(0u, 200u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const std::size_t bound = 2 + prng.Below(200);
  const std::int64_t quantum = std::int64_t{1} << prng.Below(4);
  std::vector<AlignedCounts> parts;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::int64_t> lengths = RandomLengths(prng, 400);
    parts.push_back(Of(lengths, {quantum, bound}));
    all.insert(all.end(), lengths.begin(), lengths.end());
  }
  const AlignedCounts left = Merged(Merged(parts[0], parts[1], bound), parts[2], bound);
  REQUIRE(left == Merged(parts[0], Merged(parts[1], parts[2], bound), bound));
  REQUIRE(left == Merged(Merged(parts[2], parts[1], bound), parts[0], bound));
  REQUIRE(left == Oracle(all, quantum, bound));
}

TEST_CASE("of two quanta the coarser wins", "[telemetry][unit]") {
  const AlignedCounts fine = Of({1, 5, 8, 9}, {1, 100});
  const AlignedCounts coarse = Of({1, 17}, {8, 100});
  AlignedCounts expected;
  expected.quantum = 8;
  expected.counts = {{8, 4}, {16, 1}, {24, 1}};
  REQUIRE(Merged(fine, coarse, 100) == expected);
  REQUIRE(Merged(coarse, fine, 100) == expected);
}

TEST_CASE("the coarsening is recorded and cleared with the counts", "[telemetry][unit]") {
  LengthCounts counts({1, 4});
  for (std::int64_t length : {0, 1, 2, 3, 4}) counts.Add(length);
  REQUIRE(counts.quantum() == 2);
  REQUIRE(counts.coarsenings() == 1);
  REQUIRE(counts.Counts().counts == std::vector<LengthCount>{{0, 1}, {2, 2}, {4, 2}});
  counts.Clear();
  REQUIRE(counts.coarsenings() == 0);
  REQUIRE(counts.Counts() == AlignedCounts());
}

TEST_CASE("the longest lengths neither overflow nor escape the bound", "[telemetry][unit]") {
  LengthCounts counts({1, 2});
  for (int i = 0; i < 100; ++i)
    counts.Add(std::numeric_limits<std::int64_t>::max() - (1L << 60) * (i % 8));
  counts.Add(0);
  counts.Add(1);
  REQUIRE(counts.distinct() <= 2);
  REQUIRE(counts.Counts().total() == 102);
  REQUIRE(counts.Counts().counts.back().length == kMaxLength);
}

TEST_CASE("a total past 64 bits is refused and changes nothing", "[telemetry][unit]") {
  LengthCounts counts;
  counts.Add(3, std::numeric_limits<std::uint64_t>::max());
  AlignedCounts a = counts.Counts();
  const AlignedCounts before = a;
  REQUIRE(a.Merge(Of({4}, {}), 10).code() == StatusCode::kOutOfRange);
  REQUIRE(a == before);
}

}  // namespace leeway::telemetry
