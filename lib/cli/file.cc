#include "cli/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <system_error>

namespace leeway::cli {
namespace {

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, mode_t mode = 0) {
    do {
      fd_ = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    } while (fd_ < 0 && errno == EINTR);
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool ok() const { return fd_ >= 0; }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

std::string Folder(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// The file that `path` stands for once symbolic links are followed.
std::string Target(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real == nullptr ? path : std::string(real.get());
}

// True for what exists and would be lost if a file took its place: /dev/null, a pipe.
bool IsSpecial(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

bool IsFolder(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

}  // namespace

namespace {
// What a plan or a device may take; a device file without an end is refused, too.
constexpr std::size_t kLargestFile = std::size_t{1} << 30;
}  // namespace

Status ErrorAt(const std::string& path, int error) {
  const StatusCode code = error == ENOENT || error == ENOTDIR ? StatusCode::kNotFound
                          : error == EACCES || error == EPERM ? StatusCode::kPermissionDenied
                                                              : StatusCode::kUnavailable;
  return Status(code, path + ": " + std::generic_category().message(error));
}

bool FileExists(const std::string& path) {
  struct stat info = {};
  return ::stat(path.c_str(), &info) == 0;
}

Result<std::string> ReadFile(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  if (!file.ok()) return ErrorAt(path, errno);
  std::string bytes;
  std::string chunk(256 * 1024, '\0');
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrorAt(path, errno);
    if (got == 0) return bytes;
    if (bytes.size() + static_cast<std::size_t>(got) > kLargestFile) {
      return Status(StatusCode::kResourceExhausted,
                    path + ": more than " + std::to_string(kLargestFile) + " bytes");
    }
    bytes.append(chunk, 0, static_cast<std::size_t>(got));
  }
}

Status WriteAll(int descriptor, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return ErrorAt(name, errno);
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return Status();
}

Status WriteFile(const std::string& path, std::string_view bytes) {
  if (IsSpecial(path)) {
    const Descriptor file(path, O_WRONLY);
    return file.ok() ? WriteAll(file.get(), bytes, path) : ErrorAt(path, errno);
  }
  if (IsFolder(path)) return ErrorAt(path, EISDIR);
  const std::string target = Target(path);
  const std::string partial = target + ".part-" + std::to_string(::getpid());
  Status written;
  {
    const Descriptor file(partial, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (!file.ok()) return ErrorAt(path, errno);
    written = WriteAll(file.get(), bytes, path);
    if (written.ok() && ::fsync(file.get()) != 0) written = ErrorAt(path, errno);
  }
  if (written.ok() && ::rename(partial.c_str(), target.c_str()) != 0) {
    written = ErrorAt(path, errno);
  }
  if (!written.ok()) ::unlink(partial.c_str());
  return written;
}

Status CheckWritable(const std::string& path) {
  if (IsFolder(path)) return ErrorAt(path, EISDIR);
  const std::string place = IsSpecial(path) ? path : Folder(Target(path));
  if (::access(place.c_str(), W_OK) != 0) return ErrorAt(path, errno);
  if (!IsSpecial(path) && !IsFolder(place)) return ErrorAt(path, ENOTDIR);
  return Status();
}

bool IsSamePlace(const std::string& a, const std::string& b) {
  const auto place = [](const std::string& path) {
    const std::string target = Target(path);
    const std::string name = target.substr(target.rfind('/') + 1);
    return Target(Folder(target)) + "/" + name;
  };
  return place(a) == place(b);
}

}  // namespace leeway::cli
