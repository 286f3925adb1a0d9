#include "traffic/json_lines.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/status_macros.h"
#include "traffic/line_reader.h"
#include "traffic/quoted.h"

namespace leeway::traffic {
namespace {

constexpr std::size_t kMaxDepth = 64;

// Receives the events of one line and keeps the scalars of the outermost object. Any handler may
// end the parse by returning false with a problem.
class Collector final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Collector(const std::vector<std::string>* columns)
      : columns_(columns), values_(columns->size()), present_(columns->size()) {}

  // Forgets the line before. `keys` receives all keys of the outermost object, if not null.
  void Begin(std::vector<std::string>* keys) {
    keys_ = keys;
    depth_ = 0;
    current_ = kNone;
    problem_.clear();
    std::fill(present_.begin(), present_.end(), false);
  }

  const std::string& problem() const { return problem_; }
  bool present(std::size_t column) const { return present_[column]; }
  const std::string& value(std::size_t column) const { return values_[column]; }

  bool null() override { return Refuse("null"); }
  bool boolean(bool) override { return Refuse("a boolean"); }
  bool number_integer(number_integer_t value) override { return Keep(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return Keep(std::to_string(value)); }
  // The text, not the double: arrivals are read exactly.
  bool number_float(number_float_t, const string_t& text) override {
    std::string number = text;
    // The parser puts the point of the host's locale in.
    const std::size_t point = number.find_first_not_of("+-0123456789eE");
    if (point != std::string::npos) number[point] = '.';
    return Keep(number);
  }
  bool string(string_t& value) override { return Keep(value); }
  bool binary(binary_t&) override { return Refuse("binary"); }
  bool start_object(std::size_t) override { return Enter("an object"); }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return Fail("not a JSON object");
    return Enter("an array");
  }
  bool end_object() override { return Leave(); }
  bool end_array() override { return Leave(); }

  bool key(string_t& name) override {
    if (depth_ != 1) return true;
    if (keys_ != nullptr) keys_->push_back(name);
    current_ = kNone;
    // Maps are short. One member may serve several columns, so that all are looked at in Keep().
    for (std::size_t i = 0; i < columns_->size() && current_ == kNone; ++i) {
      if ((*columns_)[i] == name) current_ = i;
    }
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return Fail("not valid JSON at byte " + std::to_string(position));
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  bool Fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
    return false;
  }

  bool Keep(const std::string& text) {
    if (depth_ == 0) return Fail("not a JSON object");
    if (depth_ != 1 || current_ == kNone) return true;
    for (std::size_t i = current_; i < columns_->size(); ++i) {
      if ((*columns_)[i] != (*columns_)[current_]) continue;
      values_[i] = text;
      present_[i] = true;
    }
    return true;
  }

  bool Refuse(const char* kind) {
    if (depth_ == 0) return Fail("not a JSON object");
    if (depth_ != 1 || current_ == kNone) return true;
    return Fail(Quoted((*columns_)[current_]) + " is " + kind);
  }

  bool Enter(const char* kind) {
    if (depth_ > 0 && !Refuse(kind)) return false;
    if (++depth_ > kMaxDepth) return Fail("nested deeper than " + std::to_string(kMaxDepth));
    return true;
  }

  bool Leave() {
    --depth_;
    return true;
  }

  const std::vector<std::string>* columns_;
  std::vector<std::string> values_;
  std::vector<bool> present_;
  std::vector<std::string>* keys_ = nullptr;
  std::size_t depth_ = 0;
  std::size_t current_ = kNone;
  std::string problem_;
};

class JsonRows final : public RowSource {
 public:
  JsonRows(LineReader lines, std::vector<std::string> columns)
      : lines_(std::move(lines)),
        columns_(std::move(columns)),
        collector_(&columns_),
        fields_(columns_.size()) {}

  // Reads the first row, which Next() then returns.
  Status Start() {
    std::vector<std::string> keys;
    LEEWAY_ASSIGN_OR_RETURN(started_, Parse(&keys));
    if (!started_) return Status();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!collector_.present(i)) {
        return NoSuchColumn(lines_.path(), lines_.line(), columns_[i], keys);
      }
    }
    return Status();
  }

  // Parses the next line that is not empty; false at the end.
  Result<bool> Parse(std::vector<std::string>* keys) {
    std::string_view line;
    do {
      LEEWAY_ASSIGN_OR_RETURN(const auto next, lines_.Next());
      if (!next) return false;
      line = *next;
    } while (line.find_first_not_of(" \t") == std::string_view::npos);
    collector_.Begin(keys);
    if (!nlohmann::json::sax_parse(line.begin(), line.end(), &collector_)) {
      return Error(collector_.problem().empty() ? "not valid JSON" : collector_.problem());
    }
    return true;
  }

  Result<std::optional<Fields>> Next() override {
    if (!std::exchange(started_, false)) {
      LEEWAY_ASSIGN_OR_RETURN(const bool found, Parse(nullptr));
      if (!found) return std::optional<Fields>();
    }
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (!collector_.present(i)) return Error("no " + Quoted(columns_[i]));
      fields_[i] = collector_.value(i);
    }
    return std::optional<Fields>(fields_);
  }

  Status Error(std::string_view problem) const override { return lines_.Error(problem); }

 private:
  LineReader lines_;
  const std::vector<std::string> columns_;
  Collector collector_;
  std::vector<std::string_view> fields_;
  // The first row was read and not returned yet.
  bool started_ = false;
};

}  // namespace

Result<std::unique_ptr<RowSource>> OpenJsonLines(const std::string& path,
                                                 const std::vector<std::string>& columns) {
  LEEWAY_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  auto rows = std::make_unique<JsonRows>(std::move(lines), columns);
  LEEWAY_RETURN_IF_ERROR(rows->Start());
  return std::unique_ptr<RowSource>(std::move(rows));
}

Result<std::vector<std::string>> JsonLinesColumns(const std::string& path) {
  LEEWAY_ASSIGN_OR_RETURN(LineReader lines, LineReader::Open(path));
  JsonRows rows(std::move(lines), {});
  std::vector<std::string> keys;
  LEEWAY_ASSIGN_OR_RETURN(const bool found, rows.Parse(&keys));
  if (!found) return base::InvalidArgument(path + ":1: the file holds no line");
  return keys;
}

}  // namespace leeway::traffic
