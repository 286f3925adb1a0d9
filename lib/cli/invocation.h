// One invocation of the program: what it prints, and where.
//
// Data goes to standard output or to -o; everything else to standard error.

#ifndef LEEWAY_CLI_INVOCATION_H_
#define LEEWAY_CLI_INVOCATION_H_

#include <chrono>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>

#include "cli/options.h"
#include "cli/table.h"
#include "leeway/status.h"

namespace leeway::cli {

class Invocation {
 public:
  explicit Invocation(const CommonOptions& options);

  const CommonOptions& options() const { return options_; }
  // Emphasis for the screen of the result.
  const Ink& ink() const { return ink_; }

  // Says early whether Deliver could write to -o.
  Status CheckOutput() const;
  // Writes the command's result, a text. Codes name the file or "standard output".
  Status Deliver(std::string_view text) const;
  // As Deliver, of a result that is no text.
  Status DeliverBytes(std::string_view bytes) const;

  // Writes to standard output, whatever -o says; nothing where Deliver writes there.
  Status Show(std::string_view text) const;

  // For standard error: always unless --quiet; only with --verbose.
  void Warn(const std::string& message) const;
  void Note(const std::string& message) const;
  void Detail(const std::string& message) const;

  // True where a progress line may be drawn.
  bool shows_progress() const { return shows_progress_; }

 private:
  void Say(const std::string& text) const;

  CommonOptions options_;
  Ink ink_;
  Ink error_ink_;
  bool shows_progress_;
};

// Prints "leeway: message" on standard error, each line but the first indented.
void SayError(const std::string& message, const Ink& ink);

// One line on the terminal that is drawn again at most ten times a second and erased at the end.
class ProgressLine {
 public:
  explicit ProgressLine(const Invocation& invocation) : shown_(invocation.shows_progress()) {}
  ~ProgressLine() { Erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Calls `text` only if a line is due.
  void Update(const std::function<std::string()>& text);
  void Erase();
  // Leaves `text` on the terminal, above the line.
  void Keep(const std::string& text);

 private:
  bool shown_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point due_{};
};

// Wall and processor time since it was made.
class Stopwatch {
 public:
  double wall_seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_).count();
  }
  double cpu_seconds() const { return static_cast<double>(std::clock() - cpu_) / CLOCKS_PER_SEC; }

 private:
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
  std::clock_t cpu_ = std::clock();
};

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_INVOCATION_H_
