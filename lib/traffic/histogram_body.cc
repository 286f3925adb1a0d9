#include "traffic/histogram_body.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "base/math.h"
#include "base/status_macros.h"
#include "traffic/draw.h"
#include "traffic/histogram_rows.h"
#include "traffic/lazy_digest.h"
#include "traffic/table_body.h"
#include "traffic/windows.h"

namespace leeway::traffic {
namespace {

constexpr std::size_t kMaxWindows = 10'000'000;

// What one pass over the file tells.
struct Index {
  std::vector<Nanos> starts;
  std::vector<double> totals;
  Nanos window = 1h;

  Nanos first() const { return starts.empty() ? Nanos(0) : starts.front(); }
};

Result<Index> ReadIndex(const std::string& path) {
  LEEWAY_ASSIGN_OR_RETURN(HistogramRows rows, HistogramRows::Open(path));
  Index index;
  std::optional<Nanos> gap;
  for (;;) {
    LEEWAY_ASSIGN_OR_RETURN(const auto window, rows.Next());
    if (!window) break;
    if (index.starts.size() == kMaxWindows) {
      return base::ResourceExhausted(path + ": more than " + std::to_string(kMaxWindows) +
                                     " windows");
    }
    if (!index.starts.empty()) {
      const Nanos since = window->start - index.starts.back();
      gap = gap ? std::min(*gap, since) : since;
    }
    index.starts.push_back(window->start);
    index.totals.push_back(window->total);
  }
  if (gap) index.window = *gap;
  if (!index.starts.empty() &&
      !base::CheckedAdd(index.starts.back().count(), index.window.count())) {
    return base::InvalidArgument(path + ": the last window ends after 2^63 ns");
  }
  return index;
}

// Windows with their own exact counts, several merged into one where asked for.
class HistogramWindows final : public WindowReader {
 public:
  HistogramWindows(HistogramRows rows, Nanos first, Nanos window)
      : rows_(std::move(rows)), first_(first), window_(window) {}

  Result<std::optional<LengthWindow>> Next() override {
    while (!pending_ || pending_->lengths.empty()) {
      LEEWAY_ASSIGN_OR_RETURN(pending_, rows_.Next());
      if (!pending_) return std::optional<LengthWindow>();
    }
    LengthWindow merged;
    const std::int64_t index = IndexOf(*pending_);
    merged.start = Instant(window_ * index);
    const auto end = base::CheckedAdd(merged.start.count(), window_.count());
    merged.end = end ? Instant(Nanos(*end)) : Instant::Max();
    while (pending_ && IndexOf(*pending_) == index) {
      Add(merged.lengths, std::move(pending_->lengths));
      LEEWAY_ASSIGN_OR_RETURN(pending_, rows_.Next());
    }
    return std::optional(std::move(merged));
  }

 private:
  std::int64_t IndexOf(const HistogramWindow& window) const {
    return (window.start - first_).count() / window_.count();
  }

  using Lengths = std::vector<std::pair<std::int64_t, double>>;

  // In a fixed order, because sums of doubles depend on it.
  static void Add(Lengths& sum, Lengths more) {
    if (sum.empty()) {
      sum = std::move(more);
      return;
    }
    Lengths merged;
    merged.reserve(sum.size() + more.size());
    std::merge(sum.begin(), sum.end(), more.begin(), more.end(), std::back_inserter(merged),
               [](const auto& a, const auto& b) { return a.first < b.first; });
    sum.clear();
    for (const auto& [length, count] : merged) {
      if (!sum.empty() && sum.back().first == length) {
        sum.back().second += count;
      } else {
        sum.emplace_back(length, count);
      }
    }
  }

  HistogramRows rows_;
  const Nanos first_;
  const Nanos window_;
  std::optional<HistogramWindow> pending_;
};

class HistogramReader final : public DrawnReader {
 public:
  HistogramReader(HistogramRows rows, Nanos first, Nanos window,
                  std::vector<std::uint64_t> requests, std::uint64_t seed)
      : rows_(std::move(rows)),
        first_(first),
        window_(window),
        requests_(std::move(requests)),
        seed_(seed) {}

 protected:
  Result<bool> DrawWindow(std::vector<DrawnRequest>& requests) override {
    LEEWAY_ASSIGN_OR_RETURN(const auto window, rows_.Next());
    if (!window) return false;
    if (number_ == requests_.size()) {
      return base::FailedPrecondition(rows_.path() + ": the file has changed since it was opened");
    }
    const std::uint64_t count = window->lengths.empty() ? 0 : requests_[number_];
    base::Prng prng = CellPrng(seed_, number_++, 0);
    if (count == 0) return true;
    const WeightedLengths lengths(window->lengths);
    const std::int64_t start = (window->start - first_).count();
    const auto span = static_cast<std::uint64_t>(window_.count());
    requests.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto offset = static_cast<std::int64_t>(prng.Below(span));
      requests.push_back({start + offset, lengths.Draw(prng), 0});
    }
    std::sort(requests.begin(), requests.end());
    return true;
  }

 private:
  HistogramRows rows_;
  const Nanos first_;
  const Nanos window_;
  const std::vector<std::uint64_t> requests_;
  const std::uint64_t seed_;
  std::size_t number_ = 0;
};

class HistogramBody final : public Body {
 public:
  HistogramBody(const HistogramRows& rows, std::uint64_t requests)
      : path_(rows.path()),
        name_(BaseName(path_)),
        requests_(requests == 0 ? kDefaultRequests : requests),
        dim_names_{rows.dim()},
        streams_{{"default"}} {}

  const std::string& name() const override { return name_; }
  const base::Digest& digest() const override {
    return digest_.Get([this] {
      return SelectionDigest("length-histogram", DigestOfFile(path_),
                             "requests=" + std::to_string(requests_));
    });
  }
  const std::vector<std::string>& dim_names() const override { return dim_names_; }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  std::optional<Nanos> declared_span() const override {
    const Result<Index>& index = GetIndex();
    if (!index.ok()) return std::nullopt;
    if (index->starts.empty()) return Nanos(0);
    return index->starts.back() - index->first() + index->window;
  }
  bool exact_windows() const override { return true; }
  std::optional<Drawing> drawing() const override {
    const Result<Index>& index = GetIndex();
    return Drawing{requests_, index.ok() ? index->window : Nanos(0)};
  }

  Result<std::unique_ptr<Reader>> NewDraw(std::span<const WindowDraw> windows,
                                          std::uint64_t seed) const override {
    const Result<Index>& index = GetIndex();
    if (!index.ok()) return index.status();
    std::vector<Instant> starts;
    for (Nanos start : index->starts) starts.push_back(Instant(start - index->first()));
    LEEWAY_ASSIGN_OR_RETURN(std::vector<std::uint64_t> requests,
                            ApportionByWindow(windows, starts, index->totals));
    return ReaderOf(*index, std::move(requests), seed);
  }

  Result<std::unique_ptr<Reader>> NewReader(std::uint64_t seed) const override {
    const Result<Index>& index = GetIndex();
    if (!index.ok()) return index.status();
    std::vector<std::uint64_t> requests(index->totals.size());
    if (std::any_of(index->totals.begin(), index->totals.end(), [](double t) { return t > 0; })) {
      requests = Apportion(requests_, IntegerWeights(index->totals));
    }
    return ReaderOf(*index, std::move(requests), seed);
  }

  Result<std::unique_ptr<WindowReader>> NewWindows(Nanos window, std::size_t dim,
                                                   std::uint64_t) const override {
    LEEWAY_RETURN_IF_ERROR(CheckWindows(*this, window, dim));
    const Result<Index>& index = GetIndex();
    if (!index.ok()) return index.status();
    if (window.count() % index->window.count() != 0) {
      return base::InvalidArgument(path_ + ": a window of " + std::to_string(window.count()) +
                                   " ns is not a multiple of the histogram's, " +
                                   std::to_string(index->window.count()) + " ns");
    }
    LEEWAY_ASSIGN_OR_RETURN(HistogramRows rows, HistogramRows::Open(path_));
    return std::unique_ptr<WindowReader>(
        std::make_unique<HistogramWindows>(std::move(rows), index->first(), window));
  }

 private:
  Result<std::unique_ptr<Reader>> ReaderOf(const Index& index, std::vector<std::uint64_t> requests,
                                           std::uint64_t seed) const {
    LEEWAY_ASSIGN_OR_RETURN(HistogramRows rows, HistogramRows::Open(path_));
    return std::unique_ptr<Reader>(std::make_unique<HistogramReader>(
        std::move(rows), index.first(), index.window, std::move(requests), seed));
  }

  const Result<Index>& GetIndex() const {
    std::call_once(once_, [this] { index_ = ReadIndex(path_); });
    return *index_;
  }

  const std::string path_;
  const std::string name_;
  const std::uint64_t requests_;
  const std::vector<std::string> dim_names_;
  const std::vector<StreamInfo> streams_;
  LazyDigest digest_;
  mutable std::once_flag once_;
  mutable std::optional<Result<Index>> index_;
};

}  // namespace

Result<std::shared_ptr<const Body>> OpenHistogram(const std::string& path, std::uint64_t requests) {
  LEEWAY_ASSIGN_OR_RETURN(const HistogramRows rows, HistogramRows::Open(path));
  if (requests > kMaxRequests) {
    return base::InvalidArgument(path + ": " + std::to_string(requests) + " requests; at most " +
                                 std::to_string(kMaxRequests) + " can be drawn");
  }
  return std::shared_ptr<const Body>(std::make_shared<HistogramBody>(rows, requests));
}

}  // namespace leeway::traffic
