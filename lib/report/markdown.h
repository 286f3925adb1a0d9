// Markdown that no name can break: GitHub's dialect, and the HTML that is made of it.

#ifndef LEEWAY_REPORT_MARKDOWN_H_
#define LEEWAY_REPORT_MARKDOWN_H_

#include <string>
#include <string_view>
#include <vector>

namespace leeway::report {

// The text on one line, as itself wherever it stands: what Markdown or HTML would read as markup
// becomes a character reference, control characters and marks that turn the direction of writing
// become U+FFFD, and so do bytes that are no UTF-8. More than 300 characters are cut with "…".
std::string Escaped(std::string_view text);

// A table. Cells are Markdown already; what comes from outside must be Escaped.
class MarkdownTable {
 public:
  // Behind the first column, which is flush left: figures flush right, or words flush left.
  enum class Cells { kFigures, kWords };
  explicit MarkdownTable(const std::vector<std::string>& heading, Cells cells = Cells::kFigures);

  void Add(std::vector<std::string> cells);
  bool empty() const { return rows_ == 0; }
  // With an empty line behind it.
  const std::string& text() const { return text_; }

 private:
  void AddRow(const std::vector<std::string>& cells);

  std::size_t columns_;
  std::size_t rows_ = 0;
  std::string text_;
};

}  // namespace leeway::report

#endif  // LEEWAY_REPORT_MARKDOWN_H_
