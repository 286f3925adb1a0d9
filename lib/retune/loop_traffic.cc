#include "retune/loop_traffic.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/prng.h"
#include "base/status_macros.h"

namespace leeway::retune {
namespace {

constexpr std::uint64_t kRequestsPerPoll = 1 << 14;

// "1.5 h", "90 s", "250 ns": a span of time as messages tell it.
std::string SpanText(Nanos span) {
  const std::pair<Nanos, const char*> units[] = {
      {1h, " h"}, {1min, " min"}, {1s, " s"}, {1ms, " ms"}, {1us, " us"}};
  for (const auto& [unit, name] : units) {
    if (span >= unit) {
      return absl::StrCat(static_cast<double>(span.count()) / static_cast<double>(unit.count()),
                          name);
    }
  }
  return absl::StrCat(span.count(), " ns");
}

}  // namespace

TrafficWindow LengthsOf(const LoopRequests& requests) {
  std::vector<LengthWeight> all, halves[2];
  all.reserve(requests.size());
  for (const LoopRequest& request : requests) {
    all.push_back({request.length, 1});
    halves[request.position % 2].push_back({request.length, 1});
  }
  return {LengthHistogram(std::move(all)), LengthHistogram(std::move(halves[0])),
          LengthHistogram(std::move(halves[1]))};
}

Result<LoopSource> LoopSource::Open(std::shared_ptr<const traffic::Body> body,
                                    const Options& options) {
  LoopSource source(std::move(body), options);
  if (const auto drawing = source.body_->drawing()) {
    source.drawn_ = true;
    source.requests_ = drawing->requests;
  } else {
    LEEWAY_RETURN_IF_ERROR(source.ReadRecorded());
  }
  if (source.requests_ > kMaxLoopRequests) {
    return base::ResourceExhausted(absl::StrCat(source.body_->name(), ": ", source.requests_,
                                                " requests; the loop keeps at most ",
                                                kMaxLoopRequests));
  }
  LEEWAY_RETURN_IF_ERROR(source.FindWindow());
  LEEWAY_RETURN_IF_ERROR(source.ReadWindows());
  if (source.windows_.size() < 2) {
    return base::FailedPrecondition(
        absl::StrCat(source.body_->name(), ": ", source.windows_.size(),
                     source.windows_.size() == 1 ? " window of " : " windows of ",
                     SpanText(source.window_), source.windows_.size() == 1 ? " has" : " have",
                     " requests; the first is compiled for and at least one more is served",
                     source.windows_.empty() ? "" : ": choose a shorter window"));
  }
  return source;
}

Status LoopSource::FindWindow() {
  // Drawn traffic is not known in smaller parts than its own windows.
  const Nanos unit = drawn_ ? std::max(Nanos{1}, body_->drawing()->window) : Nanos{1};
  window_ = options_.window;
  if (window_ % unit != Nanos{0}) {
    return base::InvalidArgument(absl::StrCat(body_->name(), ": a window of ", SpanText(window_),
                                              " is not a multiple of the traffic's own, ",
                                              SpanText(unit)));
  }
  if (window_ > Nanos{0}) return Status();
  Nanos span = body_->declared_span().value_or(Nanos{0});
  if (!recorded_.empty()) span = recorded_.back().at.since_origin() + Nanos{1};
  // Rounded up: no seventh window for what is left.
  constexpr std::int64_t kWindows = 6;
  window_ = std::min<Nanos>(1h, Nanos{base::CeilDiv(span.count(), kWindows)});
  if (window_ <= Nanos{0}) {
    // Why, the traffic itself knows.
    if (drawn_) LEEWAY_RETURN_IF_ERROR(ReadThrough());
    return base::FailedPrecondition(
        absl::StrCat(body_->name(), ": the traffic has no span to cut into windows"));
  }
  window_ = (window_ + unit - Nanos{1}) / unit * unit;
  return Status();
}

Status LoopSource::ReadThrough() {
  LEEWAY_ASSIGN_OR_RETURN(const auto reader, body_->NewReader(options_.seed));
  for (;;) {
    LEEWAY_ASSIGN_OR_RETURN(const auto arrival, reader->Next());
    if (!arrival) return Status();
    LEEWAY_RETURN_IF_ERROR(Poll());
  }
}

Status LoopSource::Poll() {
  if (++read_ % kRequestsPerPoll == 0 && options_.polled && !options_.polled()) {
    return Status(StatusCode::kCancelled, "the loop was cancelled");
  }
  return Status();
}

Result<LoopRequest> LoopSource::Bound(const traffic::Arrival& arrival) {
  LoopRequest request{arrival.at, arrival.stream, static_cast<std::uint32_t>(read_),
                      arrival.dims[options_.dim]};
  LEEWAY_RETURN_IF_ERROR(Poll());
  ++seen_;
  if (request.length >= options_.min && request.length <= options_.max) return request;
  if (options_.outside == Options::Outside::kRefuse) {
    return base::OutOfRange(absl::StrCat(
        "request at ", request.at.count(), " ns: dim \"", options_.name, "\" is ", request.length,
        ", outside its domain [", options_.min, ", ", options_.max, "]"));
  }
  ++clamped_;
  request.length = std::clamp(request.length, options_.min, options_.max);
  return request;
}

Status LoopSource::ReadRecorded() {
  LEEWAY_ASSIGN_OR_RETURN(const auto reader, body_->NewReader(options_.seed));
  for (;;) {
    LEEWAY_ASSIGN_OR_RETURN(const auto arrival, reader->Next());
    if (!arrival) break;
    if (recorded_.size() == kMaxLoopRequests) {
      return base::ResourceExhausted(absl::StrCat(body_->name(), ": more than ", kMaxLoopRequests,
                                                  " requests, the most that the loop keeps"));
    }
    LEEWAY_ASSIGN_OR_RETURN(const LoopRequest request, Bound(*arrival));
    recorded_.push_back(request);
  }
  requests_ = recorded_.size();
  return Status();
}

Status LoopSource::ReadWindows() {
  double total = 0;
  if (drawn_) {
    LEEWAY_ASSIGN_OR_RETURN(const auto reader,
                            body_->NewWindows(window_, options_.dim, options_.seed));
    for (;;) {
      LEEWAY_ASSIGN_OR_RETURN(const auto window, reader->Next());
      if (!window) break;
      double count = 0;
      for (const auto& [length, weight] : window->lengths) count += weight;
      if (count > 0) windows_.push_back({window->start, window->end, count});
      total += count;
    }
  }
  for (const LoopRequest& request : recorded_) {
    const std::int64_t index = request.at.count() / window_.count();
    const Instant from{window_ * index};
    if (windows_.empty() || windows_.back().from != from) {
      const bool last = from > Instant::Max() - window_;
      windows_.push_back({from, last ? Instant::Max() : from + window_, 0});
    }
    ++windows_.back().expected;
    ++total;
  }
  if (!recorded_.empty()) CutLast();
  // Of what is drawn, not of what the source counted.
  for (Window& window : windows_) window.expected *= static_cast<double>(requests_) / total;
  return Status();
}

// A recording ends within its last window, which then is as long as what it holds: n arrivals in
// a row leave n − 1 gaps.
void LoopSource::CutLast() {
  Window& last = windows_.back();
  const double held = last.expected;
  const auto until = static_cast<double>((recorded_.back().at - last.from).count());
  if (held < 2 || until <= 0) return;
  const Nanos length{base::RoundToInt64(until * held / (held - 1)).value_or(0)};
  last.to = std::min(last.to, last.from + std::max(length, Nanos{1}));
}

void LoopSource::Merge(std::size_t from, double least, const std::vector<double>& expected) {
  std::vector<Window> merged(windows_.begin(),
                             windows_.begin() + static_cast<std::ptrdiff_t>(from));
  std::vector<double> holds(from, 0);
  for (std::size_t w = from; w < windows_.size(); ++w) {
    if (merged.size() > from && holds.back() < least) {
      merged.back().to = windows_[w].to;
      merged.back().expected += windows_[w].expected;
      holds.back() += expected[w];
    } else {
      merged.push_back(windows_[w]);
      holds.push_back(expected[w]);
    }
  }
  if (merged.size() > from + 1 && holds.back() < least) {
    const Window last = merged.back();
    merged.pop_back();
    merged.back().to = last.to;
    merged.back().expected += last.expected;
  }
  windows_ = std::move(merged);
}

std::size_t LoopSource::WindowOf(Instant at) const {
  const auto after =
      std::upper_bound(windows_.begin() + 1, windows_.end(), at,
                       [](Instant time, const Window& window) { return time < window.from; });
  return static_cast<std::size_t>(after - windows_.begin() - 1);
}

Result<std::vector<LoopRequests>> LoopSource::Sorted(traffic::Reader& reader) {
  std::vector<LoopRequests> by_window(windows_.size());
  for (;;) {
    LEEWAY_ASSIGN_OR_RETURN(const auto arrival, reader.Next());
    if (!arrival) break;
    LEEWAY_ASSIGN_OR_RETURN(const LoopRequest request, Bound(*arrival));
    by_window[WindowOf(request.at)].push_back(request);
  }
  return by_window;
}

Result<std::vector<LoopRequests>> LoopSource::AtOwnRates() {
  if (drawn_) {
    LEEWAY_ASSIGN_OR_RETURN(const auto reader, body_->NewReader(options_.seed));
    return Sorted(*reader);
  }
  std::vector<LoopRequests> by_window(windows_.size());
  for (const LoopRequest& request : recorded_) by_window[WindowOf(request.at)].push_back(request);
  return by_window;
}

Result<std::vector<LoopRequests>> LoopSource::Sampled(const std::vector<std::uint64_t>& counts,
                                                      std::uint64_t seed) {
  const std::uint64_t seen = seen_, clamped = clamped_;
  auto drawn = Draw(counts, seed);
  seen_ = seen;
  clamped_ = clamped;
  return drawn;
}

Result<std::vector<LoopRequests>> LoopSource::Draw(const std::vector<std::uint64_t>& counts,
                                                   std::uint64_t seed) {
  std::vector<LoopRequests> drawn;
  if (drawn_) {
    std::vector<traffic::WindowDraw> draws;
    for (std::size_t w = 0; w < windows_.size(); ++w)
      draws.push_back({windows_[w].from, counts[w]});
    LEEWAY_ASSIGN_OR_RETURN(const auto reader, body_->NewDraw(draws, seed));
    LEEWAY_ASSIGN_OR_RETURN(drawn, Sorted(*reader));
  } else {
    LEEWAY_ASSIGN_OR_RETURN(const std::vector<LoopRequests> own, AtOwnRates());
    drawn.resize(windows_.size());
    for (std::size_t w = 0; w < windows_.size(); ++w) {
      base::Prng prng =
          base::Prng(seed).Fork(absl::StrCat("loop window ", windows_[w].from.count()));
      std::vector<std::uint64_t> picks(counts[w]);
      for (std::uint64_t& pick : picks) pick = prng.Below(own[w].size());
      std::sort(picks.begin(), picks.end());
      for (std::uint64_t pick : picks) drawn[w].push_back(own[w][pick]);
    }
  }
  for (LoopRequests& window : drawn) {
    for (LoopRequest& request : window) request.at = Instant();
  }
  return drawn;
}

}  // namespace leeway::retune
