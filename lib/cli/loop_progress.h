// What a long loop says of itself on a terminal.

#ifndef LEEWAY_CLI_LOOP_PROGRESS_H_
#define LEEWAY_CLI_LOOP_PROGRESS_H_

#include <cstdint>
#include <string>

#include "cli/invocation.h"
#include "leeway/loop.h"

namespace leeway::cli {

// One line a stage: while it runs with rate and ETA, then with the time that it took.
class LoopProgressLines {
 public:
  explicit LoopProgressLines(const Invocation& invocation) : line_(invocation) {}

  void Update(const LoopProgress& progress);
  // After the last update: the stage that was running is over.
  void Finish();

  // "while serving, 62 % done"
  std::string Reached() const;

 private:
  std::string Running() const;
  std::string Done() const;
  double seconds() const { return watch_.wall_seconds() - begun_; }

  ProgressLine line_;
  Stopwatch watch_;
  LoopProgress last_;
  bool any_ = false;
  double begun_ = 0;                // when the stage was entered
  std::uint64_t steps_before_ = 0;  // of the stages before
};

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_LOOP_PROGRESS_H_
