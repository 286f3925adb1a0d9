// Made-up services and perturbed real ones, to judge a retuning policy on traffic it was not
// designed on. A service is a set of clients, each with an empirical length distribution and a
// rate that moves with the hours; a window holds the expected counts of the mix, or a draw of it.

#ifndef LEEWAY_TESTS_RETUNE_SUPPORT_SYNTHETIC_TRAFFIC_H_
#define LEEWAY_TESTS_RETUNE_SUPPORT_SYNTHETIC_TRAFFIC_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "retune/bucket_policy.h"

namespace leeway::retune::testing {

using Windows = std::vector<TrafficWindow>;

// What a made-up service is like; everything else about it comes from the seed.
enum class Service {
  kStationary,  // rates and lengths fixed
  kDaily,       // clients follow days of their own phase, and weekends
  kGradual,     // lengths of every client grow or shrink by an octave over the span
  kChurn,       // clients come and go for good
  kHeavyTail,   // Pareto lengths, daily rates
  kBurst,       // daily, and a stranger with long prompts for an hour every other day
  kWandering,   // rates wander log-normally from hour to hour (ServeGen's clients)
  kFlipping,    // two mixes take turns every few hours
};
inline constexpr Service kServices[] = {
    Service::kStationary, Service::kDaily, Service::kGradual,   Service::kChurn,
    Service::kHeavyTail,  Service::kBurst, Service::kWandering, Service::kFlipping};
std::string_view ServiceName(Service service);

// Returns `hours` windows of expected counts, about 10^5 requests each.
Windows MakeService(Service service, int hours, std::uint64_t seed);

// Returns windows drawn from those given, with even and odd halves, about `requests` in each on
// average; the volumes keep their proportions.
Windows Draw(const Windows& expected, double requests_per_window, std::uint64_t seed);

// Perturbations: the same hours backwards; [first, last); every stride-th; lengths re-weighted by
// (x/1000)^power; window i mixed half and half with window i + shift (cyclic).
Windows Reversed(const Windows& windows);
Windows Slice(const Windows& windows, std::size_t first, std::size_t last);
Windows Strided(const Windows& windows, std::size_t stride);
Windows Tilted(const Windows& windows, double power);
Windows Remixed(const Windows& windows, std::size_t shift);

}  // namespace leeway::retune::testing

#endif  // LEEWAY_TESTS_RETUNE_SUPPORT_SYNTHETIC_TRAFFIC_H_
