#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "base/shipped_files.h"
#include "base/status_macros.h"

namespace leeway::base {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const char* path) {
    do {
      fd_ = ::open(path, O_RDONLY | O_CLOEXEC);
    } while (fd_ < 0 && errno == EINTR);
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }

 private:
  int fd_;
};

Status FileError(const std::string& path, int error) {
  std::string message = path + ": " + std::generic_category().message(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return NotFound(std::move(message));
    case EACCES:
    case EPERM:
      return Status(StatusCode::kPermissionDenied, std::move(message));
    default:
      return Unavailable(std::move(message));
  }
}

Status OverLimit(const std::string& path, std::uint64_t limit) {
  return ResourceExhausted(path + ": larger than the limit of " + std::to_string(limit) + " bytes");
}

// Reads to the end. `expected` only sizes the buffer: /proc and pipes report 0, and a file may
// grow meanwhile.
Result<std::string> ReadAll(const std::string& path, int fd, std::uint64_t expected,
                            std::uint64_t limit) {
  constexpr std::size_t kChunk = 64 * 1024;
  std::string bytes;
  std::size_t used = 0;
  // One byte more than expected, so that the end is seen without growing the buffer.
  bytes.resize(static_cast<std::size_t>(expected) + 1);
  for (;;) {
    if (used == bytes.size()) bytes.resize(used + std::max(kChunk, used / 2));
    const ssize_t got = ::read(fd, bytes.data() + used, bytes.size() - used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return FileError(path, errno);
    if (got == 0) break;
    used += static_cast<std::size_t>(got);
    if (used > limit) return OverLimit(path, limit);
  }
  bytes.resize(used);
  return bytes;
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, std::uint64_t limit) {
  // The system would read such a path only up to its zero byte: another file.
  if (path.find('\0') != std::string::npos) return NotFound(path + ": a path with a zero byte");
  const Descriptor file(path.c_str());
  if (file.get() < 0) return FileError(path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return FileError(path, errno);
  if (S_ISDIR(info.st_mode)) return FileError(path, EISDIR);
  const std::uint64_t size = S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0;
  if (size > limit) return OverLimit(path, limit);
  return ReadAll(path, file.get(), size, limit);
}

std::optional<ShippedFile> FindShipped(ShippedKind kind, std::string_view name) {
  for (const ShippedFile& file : ShippedFiles()) {
    if (file.kind == kind && file.name == name) return file;
  }
  return std::nullopt;
}

std::vector<ShippedFile> ListShipped(ShippedKind kind) {
  std::vector<ShippedFile> files;
  for (const ShippedFile& file : ShippedFiles()) {
    if (file.kind == kind) files.push_back(file);
  }
  return files;
}

}  // namespace leeway::base
