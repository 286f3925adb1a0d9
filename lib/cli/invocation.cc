#include "cli/invocation.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "cli/file.h"
#include "cli/units.h"

namespace leeway::cli {
namespace {

constexpr int kStandardOutput = 1;
constexpr int kStandardError = 2;

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsSmartTerminal(int descriptor) {
  const std::string terminal = Environment("TERM");
  return ::isatty(descriptor) == 1 && !terminal.empty() && terminal != "dumb";
}

Ink ChooseInk(const std::string& choice, int descriptor) {
  if (choice == "always") return Ink(Ink::Mode::kColor);
  const bool wanted =
      choice == "auto" && Environment("NO_COLOR").empty() && IsSmartTerminal(descriptor);
  return Ink(wanted ? Ink::Mode::kColor : Ink::Mode::kPlain);
}

bool WritesToFile(const CommonOptions& options) {
  return !options.output.empty() && options.output != "-";
}

void WriteToError(std::string_view text) {
  // There is nowhere left to say that this failed.
  static_cast<void>(WriteAll(kStandardError, text, "standard error").ok());
}

}  // namespace

Invocation::Invocation(const CommonOptions& options)
    : options_(options),
      ink_(WritesToFile(options) && options.color != "always"
               ? Ink(Ink::Mode::kPlain)
               : ChooseInk(options.color, kStandardOutput)),
      error_ink_(ChooseInk(options.color, kStandardError)),
      shows_progress_(!options.quiet && IsSmartTerminal(kStandardError)) {}

Status Invocation::CheckOutput() const {
  return WritesToFile(options_) ? CheckWritable(options_.output) : Status();
}

Status Invocation::Deliver(std::string_view text) const {
  if (WritesToFile(options_)) return WriteFile(options_.output, text);
  return WriteAll(kStandardOutput, text, "standard output");
}

Status Invocation::Show(std::string_view text) const {
  if (options_.output == "-") return Status();
  return WriteAll(kStandardOutput, text, "standard output");
}

void Invocation::Say(const std::string& text) const {
  if (!options_.quiet) WriteToError("leeway: " + text + "\n");
}

void Invocation::Warn(const std::string& message) const {
  Say(error_ink_.Warning("warning:") + " " + message);
}

void Invocation::Note(const std::string& message) const { Say(message); }

void Invocation::Detail(const std::string& message) const {
  if (options_.verbose) Say(message);
}

namespace {

// Messages quote what they are about; nobody wants a megabyte of it, or its control bytes.
constexpr std::size_t kLongestMessage = 1 << 16;

std::string Visible(char c) {
  if (c == '\n') return "\n  ";
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte != 0x7f) return std::string(1, c);
  constexpr char kDigits[] = "0123456789abcdef";
  return {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
}

}  // namespace

void SayError(const std::string& message, const Ink& ink) {
  std::string text = ink.Error("leeway:") + " ";
  for (const char c : std::string_view(message).substr(0, kLongestMessage)) text += Visible(c);
  if (message.size() > kLongestMessage) text += "…";
  WriteToError(text + "\n");
}

void ProgressLine::Update(const std::function<std::string()>& text) {
  if (!shown_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < due_) return;
  due_ = now + std::chrono::milliseconds(100);
  drawn_ = true;
  WriteToError("\r\x1b[K" + Shortened(text(), 79));
}

void ProgressLine::Erase() {
  if (drawn_) WriteToError("\r\x1b[K");
  drawn_ = false;
}

}  // namespace leeway::cli
