#include <bit>
#include <utility>

#include "base/math.h"
#include "base/prng.h"
#include "base/status_macros.h"
#include "traffic/generated_body.h"
#include "traffic/windows.h"

namespace leeway::traffic {
namespace {

constexpr double kSecondNs = 1e9;

struct PoissonTraffic {
  double mean_gap_ns = 0;
  Nanos span{0};
  std::vector<std::int64_t> lengths;
};

class PoissonReader final : public Reader {
 public:
  // `body` keeps the traffic alive. Times and lengths are drawn apart: other lengths move no
  // arrival.
  PoissonReader(std::shared_ptr<const Body> body, const PoissonTraffic& traffic, std::uint64_t seed)
      : body_(std::move(body)),
        traffic_(traffic),
        gaps_(base::Prng(seed).Fork("poisson gaps")),
        lengths_(base::Prng(seed).Fork("poisson lengths")) {}

  Result<std::optional<Arrival>> Next() override {
    if (at_ns_) {
      const auto gap = base::RoundToInt64(gaps_.Exponential() * traffic_.mean_gap_ns);
      at_ns_ = gap ? base::CheckedAdd(*at_ns_, *gap) : std::nullopt;
    }
    if (!at_ns_ || *at_ns_ >= traffic_.span.count()) {
      at_ns_.reset();
      return std::optional<Arrival>();
    }
    Arrival arrival;
    arrival.at = Instant(Nanos(*at_ns_));
    arrival.dims[0] = traffic_.lengths[lengths_.Below(traffic_.lengths.size())];
    return std::optional(arrival);
  }

 private:
  const std::shared_ptr<const Body> body_;
  const PoissonTraffic& traffic_;
  base::Prng gaps_;
  base::Prng lengths_;
  // Of the arrival before; nothing once the span is over.
  std::optional<std::int64_t> at_ns_ = 0;
};

class PoissonBody final : public Body, public std::enable_shared_from_this<PoissonBody> {
 public:
  PoissonBody(std::string_view dim, double rate, PoissonTraffic traffic)
      : traffic_(std::move(traffic)), dim_names_{std::string(dim)} {
    base::Sha256 sha;
    sha.UpdateField("leeway.traffic");
    sha.UpdateField("poisson");
    sha.UpdateField(dim);
    sha.UpdateU64(std::bit_cast<std::uint64_t>(rate));
    sha.UpdateU64(static_cast<std::uint64_t>(traffic_.span.count()));
    for (const std::int64_t length : traffic_.lengths) {
      sha.UpdateU64(static_cast<std::uint64_t>(length));
    }
    digest_ = sha.Finish();
  }

  const std::string& name() const override { return name_; }
  const base::Digest& digest() const override { return digest_; }
  const std::vector<std::string>& dim_names() const override { return dim_names_; }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  std::optional<Nanos> declared_span() const override { return traffic_.span; }

  Result<std::unique_ptr<Reader>> NewReader(std::uint64_t seed) const override {
    return std::unique_ptr<Reader>(
        std::make_unique<PoissonReader>(shared_from_this(), traffic_, seed));
  }
  Result<std::unique_ptr<WindowReader>> NewWindows(Nanos window, std::size_t dim,
                                                   std::uint64_t seed) const override {
    return CountWindows(*this, window, dim, seed);
  }

 private:
  const std::string name_ = "poisson";
  base::Digest digest_;
  const PoissonTraffic traffic_;
  const std::vector<std::string> dim_names_;
  const std::vector<StreamInfo> streams_{{"default"}};
};

}  // namespace

Result<std::shared_ptr<const Body>> MakePoisson(double requests_per_second, Nanos span,
                                                std::string_view dim,
                                                std::vector<std::int64_t> lengths) {
  // A rate above one a nanosecond has no arrivals that could be told apart. False for a NaN.
  if (!(requests_per_second > 0 && requests_per_second <= kSecondNs)) {
    return base::InvalidArgument("poisson: the rate must be above 0 and at most 10^9 a second");
  }
  if (span <= Nanos(0)) {
    return base::InvalidArgument("poisson: a span of " + std::to_string(span.count()) +
                                 " ns is not positive");
  }
  if (dim.empty()) return base::InvalidArgument("poisson: the dim has no name");
  if (lengths.empty()) return base::InvalidArgument("poisson: no lengths");
  for (const std::int64_t length : lengths) {
    if (length >= 1) continue;
    return base::InvalidArgument("poisson: length " + std::to_string(length) + " is below 1");
  }
  PoissonTraffic traffic{kSecondNs / requests_per_second, span, std::move(lengths)};
  return std::shared_ptr<const Body>(
      std::make_shared<PoissonBody>(dim, requests_per_second, std::move(traffic)));
}

}  // namespace leeway::traffic
