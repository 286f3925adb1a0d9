#include "traffic/generated_body.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "traffic/draw.h"
#include "traffic/lazy_digest.h"
#include "traffic/windows.h"

namespace leeway::traffic {
namespace {

class GeneratedReader final : public DrawnReader {
 public:
  // `body` keeps the traffic alive.
  GeneratedReader(std::shared_ptr<const Body> body, const GeneratedTraffic& traffic,
                  std::vector<std::uint64_t> requests, std::uint64_t seed)
      : body_(std::move(body)), traffic_(traffic), requests_(std::move(requests)), seed_(seed) {}

 protected:
  Result<bool> DrawWindow(std::vector<DrawnRequest>& requests) override {
    if (next_ == traffic_.cells.size()) return false;
    const std::uint32_t window = traffic_.cells[next_].window;
    for (; next_ < traffic_.cells.size() && traffic_.cells[next_].window == window; ++next_) {
      DrawCell(traffic_.cells[next_], requests_[next_], requests);
    }
    std::sort(requests.begin(), requests.end());
    return true;
  }

 private:
  void DrawCell(const DrawnCell& cell, std::uint64_t count, std::vector<DrawnRequest>& requests) {
    base::Prng prng = CellPrng(seed_, cell.window, cell.stream);
    const QuantileLengths lengths(traffic_.positions, cell.quantiles);
    const std::int64_t start = traffic_.window.count() * cell.window;
    const auto span = static_cast<std::uint64_t>(traffic_.window.count());
    requests.reserve(requests.size() + count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto offset = static_cast<std::int64_t>(prng.Below(span));
      requests.push_back({start + offset, lengths.Draw(prng), cell.stream});
    }
  }

  const std::shared_ptr<const Body> body_;
  const GeneratedTraffic& traffic_;
  const std::vector<std::uint64_t> requests_;
  const std::uint64_t seed_;
  std::size_t next_ = 0;
};

class GeneratedBody final : public Body, public std::enable_shared_from_this<GeneratedBody> {
 public:
  GeneratedBody(std::string name, const base::Digest& content, std::vector<StreamInfo> streams,
                GeneratedTraffic traffic, std::uint64_t requests)
      : name_(std::move(name)),
        requests_(requests == 0 ? traffic.requests : requests),
        digest_(SelectionDigest("generated", content, "requests=" + std::to_string(requests_))),
        streams_(std::move(streams)),
        traffic_(std::move(traffic)),
        dim_names_{traffic_.dim} {}

  const std::string& name() const override { return name_; }
  const base::Digest& digest() const override { return digest_; }
  const std::vector<std::string>& dim_names() const override { return dim_names_; }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  std::optional<Nanos> declared_span() const override {
    return traffic_.window * static_cast<std::int64_t>(traffic_.windows);
  }

  std::optional<Drawing> drawing() const override { return Drawing{requests_, traffic_.window}; }

  Result<std::unique_ptr<Reader>> NewReader(std::uint64_t seed) const override {
    return ReaderOf(Apportion(requests_, IntegerWeights(Rates())), seed);
  }
  Result<std::unique_ptr<Reader>> NewDraw(std::span<const WindowDraw> windows,
                                          std::uint64_t seed) const override {
    std::vector<Instant> starts;
    for (const DrawnCell& cell : traffic_.cells) {
      starts.push_back(Instant(traffic_.window * static_cast<std::int64_t>(cell.window)));
    }
    LEEWAY_ASSIGN_OR_RETURN(std::vector<std::uint64_t> requests,
                            ApportionByWindow(windows, starts, Rates()));
    return ReaderOf(std::move(requests), seed);
  }
  Result<std::unique_ptr<WindowReader>> NewWindows(Nanos window, std::size_t dim,
                                                   std::uint64_t seed) const override {
    return CountWindows(*this, window, dim, seed);
  }

 private:
  std::vector<double> Rates() const {
    std::vector<double> rates;
    rates.reserve(traffic_.cells.size());
    for (const DrawnCell& cell : traffic_.cells) rates.push_back(cell.rate);
    return rates;
  }
  std::unique_ptr<Reader> ReaderOf(std::vector<std::uint64_t> requests, std::uint64_t seed) const {
    return std::make_unique<GeneratedReader>(shared_from_this(), traffic_, std::move(requests),
                                             seed);
  }

  const std::string name_;
  const std::uint64_t requests_;
  const base::Digest digest_;
  const std::vector<StreamInfo> streams_;
  const GeneratedTraffic traffic_;
  const std::vector<std::string> dim_names_;
};

}  // namespace

std::shared_ptr<const Body> MakeGenerated(std::string name, const base::Digest& content,
                                          std::vector<StreamInfo> streams, GeneratedTraffic traffic,
                                          std::uint64_t requests) {
  return std::make_shared<GeneratedBody>(std::move(name), content, std::move(streams),
                                         std::move(traffic), requests);
}

}  // namespace leeway::traffic
