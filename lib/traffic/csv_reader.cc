#include "traffic/csv_reader.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <utility>

#include "base/status_macros.h"
#include "traffic/quoted.h"

namespace leeway::traffic {
namespace {

constexpr std::size_t kMaxColumns = 4096;

}  // namespace

Result<CsvReader> CsvReader::Open(const std::string& path) {
  LEEWAY_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  CsvReader reader(std::move(lines));
  LEEWAY_RETURN_IF_ERROR(reader.ReadHeader());
  return reader;
}

Status CsvReader::ReadHeader() {
  LEEWAY_ASSIGN_OR_RETURN(const bool found, ReadRecord());
  if (!found) return lines_.Error(1, "no header: the file holds no line");
  header_line_ = record_line_;
  if (fields_.size() > kMaxColumns) {
    return Error("more than " + std::to_string(kMaxColumns) + " columns");
  }
  std::set<std::string_view> names;
  for (const std::string_view name : fields_) {
    if (!name.empty() && !names.insert(name).second) {
      return Error("two columns are named " + Quoted(name));
    }
  }
  header_.assign(fields_.begin(), fields_.end());
  return Status();
}

Result<std::optional<Fields>> CsvReader::Next() {
  LEEWAY_ASSIGN_OR_RETURN(const bool found, ReadRecord());
  if (!found) return std::optional<Fields>();
  if (fields_.size() != header_.size()) {
    return Error(std::to_string(fields_.size()) + (fields_.size() == 1 ? " field" : " fields") +
                 " where the header has " + std::to_string(header_.size()));
  }
  return std::optional<Fields>(fields_);
}

Result<bool> CsvReader::ReadRecord() {
  std::string_view line;
  do {
    LEEWAY_ASSIGN_OR_RETURN(const auto next, lines_.Next());
    if (!next) return false;
    line = *next;
  } while (line.empty());
  record_line_ = lines_.line();
  if (std::memchr(line.data(), '"', line.size()) == nullptr) {
    SplitPlain(line);
  } else {
    LEEWAY_RETURN_IF_ERROR(SplitQuoted(line));
  }
  return true;
}

void CsvReader::SplitPlain(std::string_view line) {
  fields_.clear();
  std::size_t begin = 0;
  for (;;) {
    const std::size_t comma = std::min(line.find(',', begin), line.size());
    fields_.push_back(line.substr(begin, comma - begin));
    if (comma == line.size()) return;
    begin = comma + 1;
  }
}

Status CsvReader::SplitQuoted(std::string_view line) {
  text_.clear();
  ends_.clear();
  std::string_view rest = line;
  for (;;) {
    if (!rest.empty() && rest.front() == '"') {
      LEEWAY_ASSIGN_OR_RETURN(rest, TakeQuoted(rest.substr(1)));
      if (!rest.empty() && rest.front() != ',') return Error("text after a closing quote");
    } else {
      const std::size_t comma = std::min(rest.find(','), rest.size());
      const std::string_view field = rest.substr(0, comma);
      if (field.find('"') != std::string_view::npos) {
        return Error("a quote inside a field that does not begin with one");
      }
      text_ += field;
      rest.remove_prefix(comma);
    }
    ends_.push_back(text_.size());
    if (rest.empty()) break;
    rest.remove_prefix(1);
  }
  fields_.clear();
  std::size_t begin = 0;
  for (const std::size_t end : ends_) {
    fields_.push_back(std::string_view(text_).substr(begin, end - begin));
    begin = end;
  }
  return Status();
}

Result<std::string_view> CsvReader::TakeQuoted(std::string_view rest) {
  for (;;) {
    const std::size_t quote = rest.find('"');
    if (quote == std::string_view::npos) {
      text_ += rest;
      text_ += '\n';
      if (text_.size() > kMaxLineBytes) return Error("a record longer than 1 MiB");
      LEEWAY_ASSIGN_OR_RETURN(const auto next, lines_.Next());
      if (!next) return Error("a quoted field without an end");
      rest = *next;
      continue;
    }
    text_ += rest.substr(0, quote);
    rest.remove_prefix(quote + 1);
    if (rest.empty() || rest.front() != '"') return rest;
    text_ += '"';
    rest.remove_prefix(1);
  }
}

}  // namespace leeway::traffic
