#include "cli/invocation.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "cli/file.h"
#include "cli/units.h"

namespace leeway::cli {
namespace {

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
  // JSON has escapes of its own.
  return options_.json ? DeliverBytes(text) : DeliverBytes(ink_.Printable(text));
}

Status Invocation::DeliverBytes(std::string_view bytes) const {
  if (WritesToFile(options_)) return WriteFile(options_.output, bytes);
  return WriteAll(kStandardOutput, bytes, "standard output");
}

Status Invocation::Show(std::string_view text) const {
  if (options_.output == "-") return Status();
  const std::string shown = options_.json ? std::string(text) : ink_.Printable(text);
  return WriteAll(kStandardOutput, shown, "standard output");
}

void Invocation::Say(const std::string& text) const {
  if (!options_.quiet) WriteToError("leeway: " + error_ink_.Printable(text) + "\n");
}

void Invocation::Warn(const std::string& message) const {
  Say(error_ink_.Warning("warning:") + " " + message);
}

void Invocation::Note(const std::string& message) const { Say(message); }

void Invocation::Detail(const std::string& message) const {
  if (options_.verbose) Say(message);
}

namespace {

// Messages quote what they are about; nobody wants a megabyte of it.
constexpr std::size_t kLongestMessage = 1 << 16;

}  // namespace

void SayError(const std::string& message, const Ink& ink) {
  std::string text = ink.Error("leeway:") + " ";
  std::string shown =
      Ink(Ink::Mode::kPlain).Printable(std::string_view(message).substr(0, kLongestMessage));
  const bool cut = message.size() > kLongestMessage || shown.size() > kLongestMessage;
  shown.resize(std::min(shown.size(), kLongestMessage));
  for (const char c : shown) {
    text += c;
    if (c == '\n') text += "  ";
  }
  if (cut) text += "…";
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

void ProgressLine::Keep(const std::string& text) {
  if (!shown_) return;
  Erase();
  WriteToError(Shortened(text, 79) + "\n");
}

void ProgressLine::Erase() {
  if (drawn_) WriteToError("\r\x1b[K");
  drawn_ = false;
}

}  // namespace leeway::cli
