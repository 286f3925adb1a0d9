#include "tests/retune/support/synthetic_traffic.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "base/prng.h"

namespace leeway::retune::testing {
namespace {

constexpr std::int64_t kMaxLength = 32768;
constexpr double kRequestsPerWindow = 1e5;

struct Client {
  double median = 0;
  double sigma = 0;
  bool pareto = false;
  double rate = 1;
  double phase = 0;    // hour of its busiest time
  double swing = 0;    // relative amplitude of its day
  double weekend = 1;  // factor on days 5 and 6 of 7
  double wander = 0;   // state of its wandering log-rate
  int arrives = 0;     // first and past-last hour
  int leaves = 1 << 30;
  int group = 0;            // of kFlipping
  LengthHistogram lengths;  // sums to 1
};

LengthHistogram DrawLengths(const Client& c, base::Prng& prng) {
  LengthHistogram h;
  constexpr int kDraws = 2000;
  for (int i = 0; i < kDraws; ++i) {
    const double x = c.pareto ? c.median * base::Exp(prng.Exponential() / 1.3) / 2
                              : c.median * prng.LogNormal(c.sigma);
    h.Add(std::clamp<std::int64_t>(static_cast<std::int64_t>(x), 1, kMaxLength), 1.0 / kDraws);
  }
  return h;
}

Client MakeClient(Service service, int hours, base::Prng& prng) {
  Client c;
  c.median = 60 * base::Exp2(7 * prng.Unit());  // 60 … 7,680
  // Most clients send one template with a small variable part.
  c.sigma = prng.Unit() < 0.6 ? 0.02 + 0.1 * prng.Unit() : 0.3 + prng.Unit();
  c.rate = prng.LogNormal(1.5);
  c.phase = 24 * prng.Unit();
  if (service != Service::kStationary && service != Service::kGradual) c.swing = prng.Unit();
  if (service == Service::kDaily) c.weekend = 0.3 + 0.7 * prng.Unit();
  if (service == Service::kHeavyTail) c.pareto = prng.Unit() < 0.5;
  if (service == Service::kChurn && prng.Unit() < 0.7) {
    c.arrives = static_cast<int>(prng.Below(static_cast<std::uint64_t>(hours))) - hours / 3;
    c.leaves = c.arrives + 6 + static_cast<int>(prng.Below(static_cast<std::uint64_t>(hours)));
  }
  c.group = prng.Unit() < 0.5 ? 1 : 0;
  c.lengths = DrawLengths(c, prng);
  return c;
}

// A triangle wave of period 24 in [−1, 1]: days need no sine.
double Day(double hour) {
  const double t = hour / 24 - std::floor(hour / 24);
  return t < 0.5 ? 4 * t - 1 : 3 - 4 * t;
}

double RateAt(Client& c, Service service, int hour, bool second_mix, base::Prng& prng) {
  if (hour < c.arrives || hour >= c.leaves) return 0;
  // Busiest to idlest hour: up to 16 times.
  double rate = c.rate * base::Exp2(2 * c.swing * Day(hour - c.phase));
  if (hour / 24 % 7 >= 5) rate *= c.weekend;
  if (service == Service::kWandering) {
    c.wander = 0.9 * c.wander + 0.5 * prng.Normal();
    rate *= base::Exp(c.wander);
  }
  if (service == Service::kFlipping && (c.group == 1) != second_mix) rate *= 0.1;
  return rate;
}

LengthHistogram Stretched(const LengthHistogram& h, double factor) {
  LengthHistogram out;
  for (const LengthWeight& e : h) {
    const double x = static_cast<double>(e.length) * factor;
    out.Add(std::clamp<std::int64_t>(static_cast<std::int64_t>(x), 1, kMaxLength), e.weight);
  }
  return out;
}

}  // namespace

std::string_view ServiceName(Service service) {
  constexpr std::string_view kNames[] = {"stationary", "daily", "gradual",   "churn",
                                         "heavy_tail", "burst", "wandering", "flipping"};
  return kNames[static_cast<std::size_t>(service)];
}

Windows MakeService(Service service, int hours, std::uint64_t seed) {
  base::Prng prng(seed);
  std::vector<Client> clients;
  const std::uint64_t count = 6 + prng.Below(20);
  while (clients.size() < count) clients.push_back(MakeClient(service, hours, prng));
  clients.front().arrives = 0;  // someone is always there
  clients.front().leaves = 1 << 30;
  Client stranger;
  stranger.median = 9000;
  stranger.sigma = 0.4;
  stranger.lengths = DrawLengths(stranger, prng);
  const double octaves = prng.Unit() < 0.5 ? 1 : -1;

  bool second_mix = false;
  Windows windows;
  for (int hour = 0; hour < hours; ++hour) {
    if (prng.Unit() < 0.25) second_mix = !second_mix;
    LengthHistogram mix;
    double rates = 0;
    for (Client& c : clients) {
      const double rate = RateAt(c, service, hour, second_mix, prng);
      if (rate <= 0) continue;
      rates += rate;
      mix = service == Service::kGradual
                ? Blend(1, mix, rate, Stretched(c.lengths, base::Exp2(octaves * hour / hours)))
                : Blend(1, mix, rate, c.lengths);
    }
    if (service == Service::kBurst && hour > 0 && prng.Unit() < 1.0 / 48) {
      mix = Blend(1, mix, rates * (0.02 + 0.2 * prng.Unit()), stranger.lengths);
    }
    mix.Scale(kRequestsPerWindow * (1 + 0.5 * Day(hour)) / rates);
    windows.push_back({std::move(mix), {}, {}});
  }
  return windows;
}

Windows Draw(const Windows& expected, double requests_per_window, std::uint64_t seed) {
  double total = 0;
  for (const TrafficWindow& w : expected) total += w.lengths.total();
  const double scale = requests_per_window * static_cast<double>(expected.size()) / total;
  base::Prng prng(seed);
  Windows out;
  for (const TrafficWindow& w : expected) {
    TrafficWindow drawn;
    for (const LengthWeight& e : w.lengths) {
      // The two halves of a Poisson stream are independent Poisson streams.
      const auto even = static_cast<double>(prng.Poisson(e.weight * scale / 2));
      const auto odd = static_cast<double>(prng.Poisson(e.weight * scale / 2));
      if (even > 0) drawn.even.Add(e.length, even);
      if (odd > 0) drawn.odd.Add(e.length, odd);
      if (even + odd > 0) drawn.lengths.Add(e.length, even + odd);
    }
    if (!drawn.lengths.empty()) out.push_back(std::move(drawn));
  }
  return out;
}

Windows Reversed(const Windows& windows) { return {windows.rbegin(), windows.rend()}; }

Windows Slice(const Windows& windows, std::size_t first, std::size_t last) {
  last = std::min(last, windows.size());
  return {windows.begin() + static_cast<std::ptrdiff_t>(std::min(first, last)),
          windows.begin() + static_cast<std::ptrdiff_t>(last)};
}

Windows Strided(const Windows& windows, std::size_t stride) {
  Windows out;
  for (std::size_t i = 0; i < windows.size(); i += stride) out.push_back(windows[i]);
  return out;
}

Windows Tilted(const Windows& windows, double power) {
  Windows out;
  for (const TrafficWindow& w : windows) {
    LengthHistogram h;
    for (const LengthWeight& e : w.lengths) {
      const double factor = base::Exp2(power * base::Log2(static_cast<double>(e.length) / 1000));
      h.Add(e.length, e.weight * factor);
    }
    out.push_back({std::move(h), {}, {}});
  }
  return out;
}

Windows Remixed(const Windows& windows, std::size_t shift) {
  Windows out;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const LengthHistogram& other = windows[(i + shift) % windows.size()].lengths;
    out.push_back({Blend(0.5, windows[i].lengths, 0.5, other), {}, {}});
  }
  return out;
}

}  // namespace leeway::retune::testing
