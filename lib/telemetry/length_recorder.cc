#include "telemetry/length_recorder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace leeway::telemetry {

LengthRecorder::LengthRecorder(Options options) : options_(options) {
  LEEWAY_CHECK(options.window > Nanos(0) && options.max_windows > 0);
}

LengthRecorder::Series LengthRecorder::AddSeries(std::string entry, std::string dim,
                                                 std::string stream) {
  State state;
  state.entry = std::move(entry);
  state.dim = std::move(dim);
  state.stream = std::move(stream);
  state.open = LengthCounts(options_.counts);
  series_.push_back(std::move(state));
  return Series(series_.size() - 1);
}

void LengthRecorder::Record(Series series, Instant at, std::int64_t length) {
  State& state = series_[series.value()];
  const std::int64_t at_ns = options_.origin_ns + at.count();
  if (at_ns < state.start_ns || at_ns >= state.end_ns) [[unlikely]] {
    const bool used = state.end_ns > state.start_ns;
    if (used && at_ns < state.start_ns) return RecordLate(state, at_ns, length);
    OpenWindow(state, at_ns);
  }
  state.open.Add(length);
}

void LengthRecorder::OpenWindow(State& state, std::int64_t at_ns) {
  if (state.open.distinct() > 0) {
    state.closed.push_back({state.start_ns, state.open.Counts()});
    state.open.Clear();
  }
  // The open window is one of them.
  while (state.closed.size() >= options_.max_windows) {
    dropped_ += state.closed.front().counts.total();
    state.closed.pop_front();
  }
  state.start_ns = WindowStart(at_ns);
  state.end_ns = state.start_ns + options_.window.count();
}

void LengthRecorder::RecordLate(State& state, std::int64_t at_ns, std::int64_t length) {
  const std::int64_t start = WindowStart(at_ns);
  auto window = std::lower_bound(
      state.closed.begin(), state.closed.end(), start,
      [](const Closed& closed, std::int64_t value) { return closed.start_ns < value; });
  if (window == state.closed.end() || window->start_ns != start) {
    if (state.closed.size() + 1 >= options_.max_windows) {
      ++dropped_;
      return;
    }
    window = state.closed.insert(window, {start, {}});
  }
  LengthCounts one(options_.counts);
  one.Add(length);
  // One more cannot overflow a count that grew by ones.
  const Status merged = window->counts.Merge(one.Counts(), options_.counts.max_distinct);
  LEEWAY_CHECK(merged.ok());
}

std::int64_t LengthRecorder::WindowStart(std::int64_t at_ns) const {
  const std::int64_t width = options_.window.count();
  const std::int64_t into = at_ns % width;
  return at_ns - (into < 0 ? into + width : into);
}

LengthWindow LengthRecorder::WindowOf(const State& state, std::int64_t start_ns,
                                      AlignedCounts counts) const {
  return {state.entry,      state.dim, state.stream, start_ns, start_ns + options_.window.count(),
          std::move(counts)};
}

std::vector<LengthWindow> LengthRecorder::Windows() const {
  std::vector<LengthWindow> windows;
  for (const State& state : series_) {
    for (const Closed& closed : state.closed) {
      windows.push_back(WindowOf(state, closed.start_ns, closed.counts));
    }
    if (state.open.distinct() > 0) {
      windows.push_back(WindowOf(state, state.start_ns, state.open.Counts()));
    }
  }
  return windows;
}

}  // namespace leeway::telemetry
