// Aligned columns within 80, bold and faint text where the terminal has them, and nothing else that
// a terminal obeys.

#ifndef LEEWAY_CLI_TABLE_H_
#define LEEWAY_CLI_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace leeway::cli {

// Emphasis by escape sequences, or none.
class Ink {
 public:
  enum class Mode { kPlain, kColor };
  explicit Ink(Mode mode) : mode_(mode) {}

  std::string Bold(std::string_view text) const { return Inside(kBold, text); }
  std::string Faint(std::string_view text) const { return Inside(kFaint, text); }
  std::string Warning(std::string_view text) const { return Inside(kYellow, text); }
  std::string Error(std::string_view text) const { return Inside(kRed, text); }

  // The text with control characters shown as \xNN: names of plans, traffic and files may hold
  // any. Line ends stay, and so does emphasis where there is some.
  std::string Printable(std::string_view text) const;

 private:
  std::string Inside(std::string_view start, std::string_view text) const {
    if (mode_ == Mode::kPlain || text.empty()) return std::string(text);
    return std::string(start) + std::string(text) + std::string(kEnd);
  }
  // Bytes of the emphasis that begins or ends at the front of the text; 0 if none does.
  std::size_t EmphasisBytes(std::string_view text) const;

  static constexpr std::string_view kBold = "\x1b[1m", kFaint = "\x1b[2m", kYellow = "\x1b[33m",
                                    kRed = "\x1b[31m", kEnd = "\x1b[0m";
  Mode mode_;
};

// The first column is flush left and gives way when the table is too wide; the others are flush
// right.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{Row{std::move(heading), true}} {}

  void Add(std::vector<std::string> cells) { rows_.push_back({std::move(cells), false}); }
  // A row that stands for those below or above it.
  void AddStrong(std::vector<std::string> cells) { rows_.push_back({std::move(cells), true}); }

  std::string Render(const Ink& ink) const;

 private:
  struct Row {
    std::vector<std::string> cells;
    bool strong;
  };
  std::vector<std::size_t> Widths() const;

  std::vector<Row> rows_;
};

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_TABLE_H_
