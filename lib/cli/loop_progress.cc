#include "cli/loop_progress.h"

#include <cmath>
#include <cstdio>

#include "cli/units.h"

namespace leeway::cli {
namespace {

constexpr std::size_t kBar = 20;
constexpr double kMoment = 0.5;  // seconds

struct StageWords {
  const char* name;
  const char* doing;
  const char* what;
};

StageWords WordsOf(LoopProgress::Stage stage) {
  switch (stage) {
    case LoopProgress::Stage::kRead:
      return {"read", "reading", "the traffic and the cost of every length"};
    case LoopProgress::Stage::kCompile:
      return {"compile", "compiling", "the plans of all windows"};
    case LoopProgress::Stage::kCapacity:
      return {"capacity", "measuring throughput", "the frozen plan's throughput on each window"};
    case LoopProgress::Stage::kServe:
      return {"serve", "serving", "frozen, adapted, clairvoyant"};
  }
  return {"", "", ""};
}

std::string Column(std::string text, std::size_t width) {
  const std::size_t taken = DisplayWidth(text);
  if (taken < width) text.append(width - taken, ' ');
  return text;
}

std::string Bar(double done) {
  const auto full = static_cast<std::size_t>(std::lround(done * kBar));
  std::string bar;
  for (std::size_t i = 0; i < kBar; ++i) bar += i < full ? "█" : "░";
  return bar;
}

}  // namespace

void LoopProgressLines::Update(const LoopProgress& progress) {
  if (!any_ || progress.stage != last_.stage) {
    if (any_) line_.Keep(Done());
    begun_ = watch_.wall_seconds();
    steps_before_ = any_ ? last_.steps : 0;
  }
  any_ = true;
  last_ = progress;
  line_.Update([this] { return Running(); });
}

void LoopProgressLines::Finish() {
  if (any_) line_.Keep(Done());
}

std::string LoopProgressLines::Reached() const {
  if (!any_) return "before anything was read";
  return "while " + std::string(WordsOf(last_.stage).doing) + ", " + FormatPercent(last_.done, 0) +
         " of it done";
}

// "serve     ████████████░░░░░░░░   62 %  ETA 3 s  123,456 requests  1.234 M steps/s"
std::string LoopProgressLines::Running() const {
  const StageWords words = WordsOf(last_.stage);
  if (last_.done == 0) return Column(words.name, 10) + words.what;
  std::string text = Column(words.name, 10) + Bar(last_.done);
  char share[32];
  std::snprintf(share, sizeof share, "  %3.0f %%", last_.done * 100);
  text += share;
  // What the first moment says of the rest means nothing.
  if (seconds() < kMoment) return text;
  const double left = seconds() * (1 - last_.done) / last_.done;
  text += "  ETA " + FormatCount(std::ceil(left)) + " s";
  const std::uint64_t steps = last_.steps - steps_before_;
  if (steps == 0) return text;
  return text + "  " + FormatRate(static_cast<double>(steps) / seconds(), "steps");
}

// "serve     frozen, adapted, clairvoyant                                        12.3 s"
std::string LoopProgressLines::Done() const {
  const StageWords words = WordsOf(last_.stage);
  char time[32];
  std::snprintf(time, sizeof time, "%.1f s", seconds());
  return Column(Column(words.name, 10) + words.what, 70) + time;
}

}  // namespace leeway::cli
