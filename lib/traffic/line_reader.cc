#include "traffic/line_reader.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/status_macros.h"

namespace leeway::traffic {
namespace {

constexpr std::size_t kReadSize = 64 * 1024;
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

LineReader::LineReader(ByteSource source) : source_(std::move(source)), buffer_(2 * kReadSize) {}

Result<LineReader> LineReader::Open(const std::string& path) {
  LEEWAY_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(path));
  return LineReader(std::move(source));
}

Status LineReader::Error(std::uint64_t line, std::string_view problem) const {
  return base::InvalidArgument(path() + ":" + std::to_string(line) + ": " + std::string(problem));
}

std::string_view LineReader::Take(std::size_t size, std::size_t end_bytes) {
  std::string_view text(buffer_.data() + begin_, size);
  begin_ += size + end_bytes;
  ++line_;
  if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
  if (line_ == 1 && text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  return text;
}

Status LineReader::Refill() {
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() - end_ < kReadSize) buffer_.resize(2 * buffer_.size());
  Result<std::size_t> got = source_.Read(buffer_.data() + end_, kReadSize);
  if (!got.ok()) {
    // "path: problem" becomes "path:17: problem".
    const std::string_view problem = got.status().message().substr(path().size());
    return Status(got.status().code(),
                  path() + ":" + std::to_string(line_ + 1) + std::string(problem));
  }
  end_ += *got;
  at_end_ = *got == 0;
  return Status();
}

Result<std::optional<std::string_view>> LineReader::Next() {
  std::size_t scanned = 0;
  for (;;) {
    const char* from = buffer_.data() + begin_ + scanned;
    const std::size_t left = end_ - begin_ - scanned;
    const void* found = left == 0 ? nullptr : std::memchr(from, '\n', left);
    if (found != nullptr) {
      const auto size =
          static_cast<std::size_t>(static_cast<const char*>(found) - (buffer_.data() + begin_));
      if (size > kMaxLineBytes) return Error(line_ + 1, "a line longer than 1 MiB");
      return std::optional(Take(size, 1));
    }
    scanned = end_ - begin_;
    if (scanned > kMaxLineBytes) return Error(line_ + 1, "a line longer than 1 MiB");
    if (at_end_ && scanned == 0) return std::optional<std::string_view>();
    if (at_end_) return std::optional(Take(scanned, 0));
    LEEWAY_RETURN_IF_ERROR(Refill());
  }
}

}  // namespace leeway::traffic
