// leeway buckets: the bucketing study by itself.

#include <cmath>
#include <optional>

#include "cli/buckets_view.h"
#include "cli/command.h"
#include "cli/input.h"
#include "cli/interrupt.h"
#include "cli/units.h"
#include "leeway/buckets.h"

namespace leeway::cli {
namespace {

class BucketsCommand : public Command {
 public:
  std::string_view name() const override { return "buckets"; }
  std::string_view summary() const override {
    return "study what shape buckets cost on a traffic, and what re-fitting them gains";
  }
  std::vector<std::string_view> about() const override {
    return {
        "Cuts the traffic into windows, fits a plan's buckets to the first one, and scores on the "
        "others what each policy of re-fitting would cost. Work only: no scheduler, no queue.",
        "A request costs the edge of the smallest bucket that covers it, or phi times its own "
        "length where none does. The oracle knows each window in advance, and bounds all others."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway buckets lengths.csv --map arrival=TIMESTAMP,seq=ContextTokens --window 10m",
            "leeway buckets hourly.csv.gz --format length-histogram --k 16 --json"};
  }

  void Declare(CLI::App& app) override {
    AddArgument(app, "TRAFFIC", &traffic_.path,
                "Path of the traffic, or the name of one that is shipped.");
    AddInteger(app, "--k", {1, 4096}, &buckets_, "Buckets a plan may have (default 8).");
    AddDuration(app, "--window", Zero::kRefused, &window_,
                "Length of a window, such as 10m (default 1h).");
    AddNumber(app, "--phi", {1, 1000}, &study_.phi,
              "Cost of a request that no bucket covers, relative to its own length (default 2).");
    AddInteger(app, "--align", {1, 1 << 30}, &study_.align,
               "Bucket edges are multiples of N (default 1).");
    AddNumber(app, "--tau", {0, 1e6}, &study_.tau,
              "Regret above which the reference policies compile (default 0.03).");
    AddText(app, "--dim", "NAME", &study_.dim,
            "Dimension of the traffic to study (default: its only one).");
    traffic_.Declare(app);
  }

  std::string Objection() const override {
    if (traffic_.path.empty()) return "buckets needs a TRAFFIC";
    if (study_.dim.find('=') != std::string::npos) {
      return "option --dim: '" + study_.dim + "' is not the name of a dimension";
    }
    return "";
  }

  Ending Run(const Invocation& invocation) override;

 private:
  Result<BucketStudy> Study(const Invocation& invocation, const Traffic& traffic);

  TrafficArguments traffic_;
  BucketStudyOptions study_;
  std::int64_t buckets_ = 8;
  std::optional<Nanos> window_;
  std::uint64_t windows_done_ = 0;
};

Result<BucketStudy> BucketsCommand::Study(const Invocation& invocation, const Traffic& traffic) {
  ProgressLine line(invocation);
  const Stopwatch watch;
  study_.progress = [&](std::uint64_t windows) {
    windows_done_ = windows;
    line.Update([&] {
      const double done = static_cast<double>(windows);
      return "buckets  " + FormatCount(done) + " windows of " + FormatSpan(study_.window) + "  " +
             FormatRate(done / watch.wall_seconds(), "windows");
    });
    return !Interrupted();
  };
  return StudyBuckets(traffic, study_);
}

Ending BucketsCommand::Run(const Invocation& invocation) {
  const Stopwatch watch;
  study_.buckets = static_cast<int>(buckets_);
  study_.seed = invocation.options().seed;
  if (window_) study_.window = *window_;
  const Result<Traffic> traffic = OpenTraffic(traffic_);
  if (!traffic.ok()) return EndingOf(traffic.status());
  invocation.Detail("traffic " + std::string(traffic->name()) + ", digest " + traffic->digest());
  const Result<BucketStudy> study = Study(invocation, *traffic);
  if (study.status().code() == StatusCode::kCancelled) {
    return {ExitCode::kInterrupted,
            "interrupted: " + FormatCount(static_cast<double>(windows_done_)) +
                " windows were studied; nothing is written, as policies are compared over all"};
  }
  if (!study.ok()) return EndingOf(study.status(), traffic_.path);
  if (study_.dim.empty() && traffic->dims().size() == 1) study_.dim = traffic->dims()[0];
  const BucketsView view = {*traffic, traffic_, study_, *study};
  const std::string text =
      invocation.options().json ? BucketsJson(view, watch) : BucketsScreen(view, invocation.ink());
  if (const Status written = invocation.Deliver(text); !written.ok()) return EndingOf(written);
  invocation.Detail("studied in " +
                    FormatDuration(Nanos{std::llround(watch.wall_seconds() * 1e9)}));
  return {};
}

}  // namespace

std::unique_ptr<Command> MakeBucketsCommand() { return std::make_unique<BucketsCommand>(); }

}  // namespace leeway::cli
