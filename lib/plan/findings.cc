#include "plan/findings.h"

#include <utility>

namespace leeway::plan {

std::string Path::ToString() const {
  std::string text = parent_ == nullptr ? "" : parent_->ToString();
  if (!text.empty() && !field_.empty()) text += '.';
  text += field_;
  if (index_ != kNoIndex) text.append("[").append(std::to_string(index_)).append("]");
  return text;
}

void Findings::Add(Severity severity, const Path& path, std::string message) {
  ++result_.total;
  if (severity == Severity::kError) result_.ok = false;
  if (full()) return;
  result_.findings.push_back({path.ToString(), std::move(message), severity});
}

void Findings::Error(const Path& path, std::string message) {
  Add(Severity::kError, path, std::move(message));
}

void Findings::Warning(const Path& path, std::string message) {
  Add(Severity::kWarning, path, std::move(message));
}

void Findings::CountOnly(std::size_t more) {
  result_.total += more;
  if (more > 0) result_.ok = false;
}

std::string Quote(std::string_view name) {
  constexpr std::size_t kMaxShown = 80;
  constexpr char kHex[] = "0123456789abcdef";
  std::string text = "\"";
  for (const char c : name.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || byte >= 0x80) {
      text.append("\\x").append(1, kHex[byte >> 4]).append(1, kHex[byte & 15]);
    } else {
      text += c;
    }
  }
  if (name.size() > kMaxShown) text += "...";
  return text + "\"";
}

std::string Describe(const CheckResult& result, std::string_view name) {
  std::string text;
  for (const Finding& finding : result.findings) {
    if (!text.empty()) text += '\n';
    text.append(name).append(": ");
    if (finding.severity == Severity::kWarning) text += "warning: ";
    if (!finding.path.empty()) text.append(finding.path).append(": ");
    text += finding.message;
  }
  if (result.total > result.findings.size()) {
    text.append("\n").append(name).append(": ");
    text += std::to_string(result.total - result.findings.size()) + " more findings";
  }
  return text;
}

}  // namespace leeway::plan
