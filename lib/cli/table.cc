#include "cli/table.h"

#include <algorithm>

#include "cli/units.h"

namespace leeway::cli {
namespace {

constexpr std::size_t kScreen = 80;
constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowest = 6;

}  // namespace

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
