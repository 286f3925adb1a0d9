#include "report/markdown.h"

#include <cstdint>
#include <optional>

namespace leeway::report {
namespace {

constexpr std::size_t kLongest = 300;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

// A code point and its bytes.
struct Character {
  std::uint32_t code = 0;
  std::string_view bytes;
};

bool IsContinuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// The first character of `text`, or nothing if its first bytes are none.
std::optional<Character> First(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t size = lead < 0x80             ? 1
                           : (lead & 0xE0) == 0xC0 ? 2
                           : (lead & 0xF0) == 0xE0 ? 3
                           : (lead & 0xF8) == 0xF0 ? 4
                                                   : 0;
  if (size == 0 || text.size() < size) return std::nullopt;
  std::uint32_t code = size == 1 ? lead : lead & (0xFFu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if (!IsContinuation(text[i])) return std::nullopt;
    code = code << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (code < kLeast[size] || code > 0x10FFFF || surrogate) return std::nullopt;
  return Character{code, text.substr(0, size)};
}

bool IsHidden(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) ||  // control characters
         (code >= 0x200B && code <= 0x200F) ||            // of no width, marks of direction
         (code >= 0x2028 && code <= 0x202E) ||            // line ends, embeddings, overrides
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
}

bool IsWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool IsMarkup(std::string_view text, std::size_t at) {
  const bool last = at + 1 == text.size();
  // "http://" alone makes a link.
  if (text[at] == ':') return !last && text[at + 1] == '/';
  // An underscore inside a word begins no emphasis; elsewhere it may.
  if (text[at] == '_') return at == 0 || last || !IsWord(text[at - 1]) || !IsWord(text[at + 1]);
  return std::string_view("|`<>&*[]~\\$").find(text[at]) != std::string_view::npos;
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string out;
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++characters) {
    if (characters == kLongest) return out + "…";
    const std::optional<Character> character = First(text.substr(at));
    if (!character || IsHidden(character->code)) {
      out += kReplacement;
    } else if (character->bytes.size() == 1 && IsMarkup(text, at)) {
      out += "&#" + std::to_string(character->code) + ";";
    } else {
      out += character->bytes;
    }
    at += character ? character->bytes.size() : 1;
  }
  return out;
}

MarkdownTable::MarkdownTable(const std::vector<std::string>& heading, Cells cells)
    : columns_(heading.size()) {
  AddRow(heading);
  text_ += "|---|";
  for (std::size_t i = 1; i < columns_; ++i) text_ += cells == Cells::kWords ? "---|" : "---:|";
  text_ += "\n\n";
}

void MarkdownTable::Add(std::vector<std::string> cells) {
  cells.resize(columns_);
  text_.pop_back();  // the empty line comes behind the last row
  AddRow(cells);
  text_ += "\n";
  ++rows_;
}

void MarkdownTable::AddRow(const std::vector<std::string>& cells) {
  text_ += "|";
  for (const std::string& cell : cells) text_ += " " + cell + " |";
  text_ += "\n";
}

}  // namespace leeway::report
