#include "retune/loop_load.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/math.h"
#include "base/prng.h"
#include "base/status_macros.h"
#include "traffic/draw.h"

namespace leeway::retune {
namespace {

// Longer times end here: sums of two still fit.
constexpr std::int64_t kLongest = std::int64_t{1} << 61;

class Loader {
 public:
  Loader(LoopSource& source, const LoadOptions& options, const CompileFirst& compile,
         const MeasureThroughput& measure)
      : source_(source), options_(options), compile_(compile), measure_(measure) {}

  Result<ServedTraffic> Run() {
    const bool flat = options_.rate == LoadOptions::Rate::kFlat;
    LEEWAY_RETURN_IF_ERROR(flat ? DrawFirst() : TakeAll());
    LEEWAY_RETURN_IF_ERROR(compile_(traffic_.windows.front().requests));
    LEEWAY_RETURN_IF_ERROR(flat ? DrawRest() : MeetLoad());
    SetTimes();
    return std::move(traffic_);
  }

 private:
  static double Length(const LoopSource::Window& window) {
    return static_cast<double>(window.length().count());
  }

  Status DrawFirst();
  Status TakeAll();
  Status DrawRest();
  Status MeetLoad();
  Status Measure();
  void SetTimes();

  LoopSource& source_;
  const LoadOptions& options_;
  const CompileFirst& compile_;
  const MeasureThroughput& measure_;
  ServedTraffic traffic_;
};

// The first window's throughput is not known before its plan is: it holds its share of the time.
Status Loader::DrawFirst() {
  double span = 0;
  for (const LoopSource::Window& window : source_.windows()) span += Length(window);
  const double share = Length(source_.windows().front()) / span;
  std::vector<std::uint64_t> counts(source_.windows().size(), 0);
  counts[0] = std::max<std::uint64_t>(
      1, static_cast<std::uint64_t>(share * static_cast<double>(source_.requests())));
  LEEWAY_ASSIGN_OR_RETURN(std::vector<LoopRequests> drawn, source_.Draw(counts, options_.seed));
  traffic_.windows = {{Instant(), std::move(drawn.front())}};
  return Status();
}

Status Loader::TakeAll() {
  LEEWAY_ASSIGN_OR_RETURN(std::vector<LoopRequests> own, source_.AtOwnRates());
  for (LoopRequests& requests : own) traffic_.windows.push_back({Instant(), std::move(requests)});
  return Status();
}

Status Loader::Measure() {
  std::vector<std::uint64_t> counts(source_.windows().size(), kThroughputRequests);
  counts[0] = 0;
  const std::uint64_t seed = base::Prng(options_.seed).Fork("loop throughput").Next();
  LEEWAY_ASSIGN_OR_RETURN(const std::vector<LoopRequests> samples, source_.Sampled(counts, seed));
  LEEWAY_ASSIGN_OR_RETURN(traffic_.throughput, measure_(samples));
  return Status();
}

Status Loader::DrawRest() {
  const auto first = static_cast<std::uint64_t>(traffic_.windows.front().requests.size());
  const std::uint64_t rest = source_.requests() - std::min(source_.requests(), first);
  std::vector<std::uint64_t> counts;
  while (counts.size() != source_.windows().size()) {
    LEEWAY_RETURN_IF_ERROR(Measure());
    const std::vector<LoopSource::Window>& windows = source_.windows();
    double sum = 0;
    std::vector<double> carried(windows.size(), 0);
    for (std::size_t w = 1; w < windows.size(); ++w) {
      carried[w] = traffic_.throughput[w] * Length(windows[w]);
      sum += carried[w];
    }
    counts = traffic::Apportion(rest, traffic::IntegerWeights(carried));
    traffic_.compression = options_.load * sum / static_cast<double>(rest);
    // Windows that hold too few are merged, and then what they get through is another.
    source_.Merge(1, static_cast<double>(options_.min_requests),
                  std::vector<double>(counts.begin(), counts.end()));
  }
  LEEWAY_ASSIGN_OR_RETURN(std::vector<LoopRequests> drawn, source_.Draw(counts, options_.seed));
  for (std::size_t w = 1; w < drawn.size(); ++w) {
    const LoopSource::Window& window = source_.windows()[w];
    base::Prng prng =
        base::Prng(options_.seed).Fork(absl::StrCat("loop times ", window.from.count()));
    std::vector<std::uint64_t> offsets(drawn[w].size());
    for (std::uint64_t& offset : offsets) {
      offset = prng.Below(static_cast<std::uint64_t>(window.length().count()));
    }
    std::sort(offsets.begin(), offsets.end());
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      drawn[w][i].at = window.from + Nanos{static_cast<std::int64_t>(offsets[i])};
    }
    traffic_.windows.push_back({Instant(), std::move(drawn[w])});
  }
  return Status();
}

Status Loader::MeetLoad() {
  LEEWAY_RETURN_IF_ERROR(Measure());
  double sum = 0;
  for (std::size_t w = 1; w < traffic_.windows.size(); ++w) {
    sum += static_cast<double>(traffic_.windows[w].requests.size()) / Length(source_.windows()[w]) /
           traffic_.throughput[w];
  }
  traffic_.compression = options_.load * static_cast<double>(traffic_.windows.size() - 1) / sum;
  return Status();
}

void Loader::SetTimes() {
  const std::vector<LoopSource::Window>& windows = source_.windows();
  const Instant origin = windows[1].from;
  auto device = [&](Instant trace) {
    return trace <= origin ? Instant() : Instant(traffic_.ToDevice(trace - origin));
  };
  for (std::size_t w = 0; w < windows.size(); ++w) {
    traffic_.windows[w].from = device(windows[w].from);
    traffic_.ends.push_back(device(windows[w].to));
    for (LoopRequest& request : traffic_.windows[w].requests) {
      request.at = w == 0 ? Instant() : device(request.at);
      if (w == 0) continue;
      traffic_.requests.push_back(request);
      traffic_.window_of.push_back(static_cast<std::uint32_t>(w));
    }
    const double rate = static_cast<double>(traffic_.windows[w].requests.size()) *
                        traffic_.compression / Length(windows[w]);
    traffic_.load.push_back(w == 0 ? 0 : rate / traffic_.throughput[w]);
  }
}

}  // namespace

Nanos ToNanos(double ns) {
  const std::optional<std::int64_t> rounded = base::RoundToInt64(ns);
  return rounded ? Nanos{*rounded} : Nanos{ns > 0 ? kLongest : 0};
}

Nanos ServedTraffic::ToDevice(Nanos trace) const {
  return ToNanos(static_cast<double>(trace.count()) / compression);
}

Result<ServedTraffic> LoadTraffic(LoopSource& source, const LoadOptions& options,
                                  const CompileFirst& compile, const MeasureThroughput& measure) {
  return Loader(source, options, compile, measure).Run();
}

}  // namespace leeway::retune
