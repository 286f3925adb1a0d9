#include "cli/table.h"

#include <algorithm>

#include "cli/units.h"

namespace leeway::cli {
namespace {

constexpr std::size_t kScreen = 80;
constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 6;

std::string Escaped(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
  }
  return text;
}

// Bytes of the control character at the front, 0 if it is none: C0 and DEL are one byte, C1
// (U+0080 to U+009F) are two.
std::size_t ControlBytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x20 || byte(0) == 0x7f) return 1;
  return byte(0) == 0xc2 && text.size() > 1 && byte(1) >= 0x80 && byte(1) < 0xa0 ? 2 : 0;
}

}  // namespace

std::size_t Ink::EmphasisBytes(std::string_view text) const {
  if (mode_ == Mode::kPlain) return 0;
  for (const std::string_view known : {kBold, kFaint, kYellow, kRed, kEnd}) {
    if (text.substr(0, known.size()) == known) return known.size();
  }
  return 0;
}

std::string Ink::Printable(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t control = text[0] == '\n' ? 0 : ControlBytes(text);
    const std::size_t emphasis = control > 0 ? EmphasisBytes(text) : 0;
    const std::size_t size = std::max({std::size_t{1}, control, emphasis});
    const std::string_view bytes = text.substr(0, size);
    out += control > 0 && emphasis == 0 ? Escaped(bytes) : std::string(bytes);
    text.remove_prefix(size);
  }
  return out;
}

std::vector<std::size_t> Table::Widths() const {
  std::vector<std::size_t> widths;
  for (const Row& row : rows_) {
    widths.resize(std::max(widths.size(), row.cells.size()));
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      widths[i] = std::max(widths[i], DisplayWidth(row.cells[i]));
    }
  }
  std::size_t total = kGap * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  if (total > kScreen) {
    const std::size_t over = total - kScreen;
    widths[0] = widths[0] > over + kNarrowest ? widths[0] - over : std::min(widths[0], kNarrowest);
  }
  return widths;
}

std::string Table::Render(const Ink& ink) const {
  const std::vector<std::size_t> widths = Widths();
  std::string out;
  for (const Row& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const std::string cell = i == 0 ? Shortened(row.cells[0], widths[0]) : row.cells[i];
      const std::string fill(widths[i] - DisplayWidth(cell), ' ');
      if (i > 0) line.append(kGap, ' ');
      line += i == 0 ? cell + fill : fill + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += (row.strong ? ink.Bold(line) : line) + "\n";
  }
  return out;
}

}  // namespace leeway::cli
