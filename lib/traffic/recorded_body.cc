#include "traffic/recorded_body.h"

#include <utility>

#include "traffic/lazy_digest.h"
#include "traffic/windows.h"

namespace leeway::traffic {
namespace {

class RecordedReader final : public Reader {
 public:
  // `body` keeps the arrivals alive.
  RecordedReader(std::shared_ptr<const Body> body, const RecordedArrivals& arrivals)
      : body_(std::move(body)), arrivals_(arrivals) {}

  Result<std::optional<Arrival>> Next() override {
    if (next_ == arrivals_.at_ns.size()) return std::optional<Arrival>();
    const std::size_t i = next_++;
    Arrival arrival;
    arrival.at = Instant(Nanos(arrivals_.at_ns[i]));
    if (!arrivals_.streams.empty()) arrival.stream = arrivals_.streams[i];
    const std::size_t dims = arrivals_.dim_names.size();
    for (std::size_t d = 0; d < dims; ++d) arrival.dims[d] = arrivals_.dims[i * dims + d];
    if (!arrivals_.deadlines_ns.empty()) arrival.deadline = Nanos(arrivals_.deadlines_ns[i]);
    if (!arrivals_.cancels_ns.empty()) arrival.cancel_after = Nanos(arrivals_.cancels_ns[i]);
    return std::optional(arrival);
  }

 private:
  const std::shared_ptr<const Body> body_;
  const RecordedArrivals& arrivals_;
  std::size_t next_ = 0;
};

class RecordedBody final : public Body, public std::enable_shared_from_this<RecordedBody> {
 public:
  RecordedBody(std::string name, const base::Digest& content, std::vector<StreamInfo> streams,
               RecordedArrivals arrivals)
      : name_(std::move(name)),
        digest_(SelectionDigest("recorded", content, "")),
        streams_(std::move(streams)),
        arrivals_(std::move(arrivals)) {}

  const std::string& name() const override { return name_; }
  const base::Digest& digest() const override { return digest_; }
  const std::vector<std::string>& dim_names() const override { return arrivals_.dim_names; }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  std::optional<Nanos> declared_span() const override { return std::nullopt; }

  Result<std::unique_ptr<Reader>> NewReader(std::uint64_t) const override {
    return std::unique_ptr<Reader>(std::make_unique<RecordedReader>(shared_from_this(), arrivals_));
  }
  Result<std::unique_ptr<WindowReader>> NewWindows(Nanos window, std::size_t dim,
                                                   std::uint64_t seed) const override {
    return CountWindows(*this, window, dim, seed);
  }

 private:
  const std::string name_;
  const base::Digest digest_;
  const std::vector<StreamInfo> streams_;
  const RecordedArrivals arrivals_;
};

}  // namespace

std::shared_ptr<const Body> MakeRecorded(std::string name, const base::Digest& content,
                                         std::vector<StreamInfo> streams,
                                         RecordedArrivals arrivals) {
  return std::make_shared<RecordedBody>(std::move(name), content, std::move(streams),
                                        std::move(arrivals));
}

}  // namespace leeway::traffic
