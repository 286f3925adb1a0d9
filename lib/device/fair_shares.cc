#include "device/fair_shares.h"

#include <set>
#include <vector>

#include "absl/numeric/int128.h"

namespace leeway::device {
namespace {

using absl::int128;

// Adds the rates of the flows of one rank; returns what they leave of `left`.
int128 ShareOneRank(FlowDemands rising, int128 left, FlowRates& rates) {
  while (true) {
    int128 weight = 0;
    for (const auto& [slot, of] : rising) weight += of.claim.weight;
    std::vector<std::size_t> capped;
    for (const auto& [slot, of] : rising) {
      if (of.cap * weight <= left * of.claim.weight) capped.push_back(slot);
    }
    for (const std::size_t slot : capped) {
      rates[slot] = rising[slot].cap;
      left -= rising[slot].cap;
      rising.erase(slot);
    }
    if (!capped.empty()) continue;
    for (const auto& [slot, of] : rising) {
      rates[slot] = static_cast<ByteUnits>(left * of.claim.weight / weight);
    }
    return rising.empty() ? left : 0;
  }
}

}  // namespace

FlowRates FairShares(const FlowDemands& demands, ByteUnits capacity) {
  std::set<std::uint64_t> ranks;
  for (const auto& [slot, of] : demands) ranks.insert(of.claim.rank);
  FlowRates rates;
  int128 left = capacity;
  for (const std::uint64_t rank : ranks) {
    FlowDemands of_rank;
    for (const auto& [slot, of] : demands) {
      if (of.claim.rank == rank) of_rank[slot] = of;
    }
    left = ShareOneRank(std::move(of_rank), left, rates);
  }
  return rates;
}

}  // namespace leeway::device
