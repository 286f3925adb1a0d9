#include "text/json_scan.h"

#include <algorithm>
#include <vector>

namespace leeway::text {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Walks JSON with a stack of its own: nesting costs no call depth.
class Scanner {
 public:
  Scanner(std::string_view json, int max_depth) : json_(json), max_depth_(max_depth) {}

  // The path of the value or key to look for, in protobuf's way: "a.b[2].c".
  void LookFor(std::string path) { wanted_ = std::move(path); }

  std::optional<JsonError> Run() {
    if (!Value()) return Error();
    while (!levels_.empty()) {
      if (!Next()) return Error();
    }
    Blank();
    if (at_ < json_.size()) Fail("expected the end");
    if (error_.empty()) return std::nullopt;
    return Error();
  }

  std::optional<std::size_t> found() const { return found_; }

  Position At(std::size_t offset) const {
    const std::string_view before = json_.substr(0, offset);
    const std::size_t line_start = before.rfind('\n');
    return {
        1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
        static_cast<int>(line_start == std::string_view::npos ? offset + 1 : offset - line_start)};
  }

 private:
  struct Level {
    char close;             // of what this level opened
    std::size_t path_size;  // of the level's own path
    int index = 0;
    bool first = true;
  };

  JsonError Error() const { return {At(std::min(at_, json_.size())), error_}; }

  bool Fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  char Blank() {
    while (at_ < json_.size() &&
           (json_[at_] == ' ' || json_[at_] == '\t' || json_[at_] == '\n' || json_[at_] == '\r')) {
      ++at_;
    }
    return at_ < json_.size() ? json_[at_] : '\0';
  }

  // Reads on in the innermost object or array: its end, or its next member.
  bool Next() {
    Level& level = levels_.back();
    path_.resize(level.path_size);
    char c = Blank();
    if (c == level.close) {
      if (!level.first && after_comma_) return Fail("expected a value after ','");
      ++at_;
      after_comma_ = false;
      levels_.pop_back();
      return true;
    }
    if (!level.first && !after_comma_) {
      if (c != ',') return Fail(std::string("expected ',' or '") + level.close + "'");
      ++at_;
      after_comma_ = true;
      return true;
    }
    level.first = false;
    after_comma_ = false;
    return level.close == '}' ? Member() : Element(level);
  }

  bool Element(Level& level) {
    path_ += "[" + std::to_string(level.index++) + "]";
    return Value();
  }

  bool Member() {
    const std::size_t start = at_;
    if (Blank() != '"') return Fail("expected a name in double quotes");
    if (!String()) return false;
    if (!path_.empty()) path_ += '.';
    path_ += json_.substr(start + 1, at_ - start - 2);
    if (path_ == wanted_ && !found_) found_ = start;
    if (Blank() != ':') return Fail("expected ':'");
    ++at_;
    return Value();
  }

  bool Value() {
    const char c = Blank();
    if (path_ == wanted_ && !found_ && !path_.empty()) found_ = at_;
    if (c == '{' || c == '[') {
      if (static_cast<int>(levels_.size()) >= max_depth_) {
        return Fail("nested deeper than " + std::to_string(max_depth_));
      }
      ++at_;
      levels_.push_back({c == '{' ? '}' : ']', path_.size()});
      return true;
    }
    if (c == '"') return String();
    if (c == '-' || IsDigit(c)) return Number();
    for (const std::string_view word : {"true", "false", "null"}) {
      if (json_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      return true;
    }
    return Fail("expected a value");
  }

  bool String() {
    for (++at_; at_ < json_.size(); ++at_) {
      const char c = json_[at_];
      if (c == '"') {
        ++at_;
        return true;
      }
      if (static_cast<unsigned char>(c) < 0x20) return Fail("control character in a string");
      if (c == '\\') ++at_;
    }
    return Fail("a string does not end");
  }

  bool Digits() {
    if (at_ >= json_.size() || !IsDigit(json_[at_])) return Fail("expected a digit");
    while (at_ < json_.size() && IsDigit(json_[at_])) ++at_;
    return true;
  }

  bool Number() {
    if (json_[at_] == '-') ++at_;
    const bool zero = at_ < json_.size() && json_[at_] == '0';
    const std::size_t start = at_;
    if (!Digits()) return false;
    if (zero && at_ > start + 1) return Fail("a number starts with 0");
    if (at_ < json_.size() && json_[at_] == '.') {
      ++at_;
      if (!Digits()) return false;
    }
    if (at_ < json_.size() && (json_[at_] == 'e' || json_[at_] == 'E')) {
      ++at_;
      if (at_ < json_.size() && (json_[at_] == '+' || json_[at_] == '-')) ++at_;
      return Digits();
    }
    return true;
  }

  std::string_view json_;
  int max_depth_;
  std::size_t at_ = 0;
  std::vector<Level> levels_;
  bool after_comma_ = false;
  std::string path_;
  std::string wanted_;
  std::optional<std::size_t> found_;
  std::string error_;
};

// "(a.b[1]) name: what is wrong" becomes "a.b[1].name": a name that the message at the path does
// not know follows it; where a value is wrong, none does.
std::string PathOf(std::string_view message) {
  std::string path;
  if (message.substr(0, 1) == "(") {
    const std::size_t close = message.find(')');
    path = message.substr(1, close - 1);
    message.remove_prefix(close == std::string_view::npos ? message.size() : close + 1);
  }
  while (message.substr(0, 1) == " ") message.remove_prefix(1);
  const std::string_view name = message.substr(0, message.find(':'));
  if (name.empty() || name.find(' ') != std::string_view::npos) return path;
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

}  // namespace

std::optional<JsonError> FindJsonError(std::string_view json, int max_depth) {
  return Scanner(json, max_depth).Run();
}

Position LocateJsonField(std::string_view json, std::string_view message) {
  Scanner scanner(json, static_cast<int>(json.size()));
  scanner.LookFor(PathOf(message));
  scanner.Run();
  return scanner.found() ? scanner.At(*scanner.found()) : Position{};
}

}  // namespace leeway::text
