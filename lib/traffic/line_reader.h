// Lines of a text file, plain or .gz, numbered from 1.
//
// Memory: one block, or the longest line if that is longer.
// Errors: ByteSource's, with the line reached; kInvalidArgument for a line longer than 1 MiB.

#ifndef LEEWAY_TRAFFIC_LINE_READER_H_
#define LEEWAY_TRAFFIC_LINE_READER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/status.h"
#include "traffic/byte_source.h"

namespace leeway::traffic {

inline constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;

class LineReader {
 public:
  static Result<LineReader> Open(const std::string& path);

  // Returns the next line without its end (LF or CR LF) and, on line 1, without a byte order mark;
  // nothing at the end. The view lives until the next call.
  Result<std::optional<std::string_view>> Next();

  // Number of the line last returned.
  std::uint64_t line() const { return line_; }
  const std::string& path() const { return source_.path(); }
  // kInvalidArgument "path:17: problem"; `line` defaults to the current one.
  Status Error(std::string_view problem) const { return Error(line_, problem); }
  Status Error(std::uint64_t line, std::string_view problem) const;

 private:
  explicit LineReader(ByteSource source);

  std::string_view Take(std::size_t size, std::size_t end_bytes);
  // Reads one more block behind what is buffered.
  Status Refill();

  ByteSource source_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  bool at_end_ = false;
  std::uint64_t line_ = 0;
};

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_LINE_READER_H_
