#include "traffic/byte_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "base/status_macros.h"

namespace leeway::traffic {
namespace {

constexpr std::size_t kBlock = 64 * 1024;

Status SystemError(const std::string& path, int error) {
  std::string message = path + ": " + std::generic_category().message(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return base::NotFound(std::move(message));
    case EACCES:
    case EPERM:
      return Status(StatusCode::kPermissionDenied, std::move(message));
    default:
      return base::Unavailable(std::move(message));
  }
}

// Returns a descriptor that the caller closes.
Result<int> OpenRegular(const std::string& path) {
  // The system would read such a path only up to its zero byte: another file.
  if (path.find('\0') != std::string::npos) {
    return base::NotFound(path + ": a path with a zero byte");
  }
  int fd = -1;
  do {
    // A FIFO without a writer would block for ever otherwise; regular files do not care.
    fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return SystemError(path, errno);
  struct stat info {};
  const bool known = ::fstat(fd, &info) == 0;
  if (known && S_ISREG(info.st_mode)) return fd;
  ::close(fd);
  if (known && S_ISDIR(info.st_mode)) return SystemError(path, EISDIR);
  return base::InvalidArgument(path + ": not a regular file; traffic is read more than once");
}

}  // namespace

bool EndsInGz(const std::string& path) {
  return path.size() > 3 && path.compare(path.size() - 3, 3, ".gz") == 0;
}

void ByteSource::Close::operator()(gzFile_s* file) const { ::gzclose_r(file); }

Result<ByteSource> ByteSource::Open(const std::string& path) {
  LEEWAY_ASSIGN_OR_RETURN(const int fd, OpenRegular(path));
  gzFile file = ::gzdopen(fd, "rb");
  if (file == nullptr) {
    ::close(fd);
    return base::ResourceExhausted(path + ": no memory to read it");
  }
  ::gzbuffer(file, kBlock);
  return ByteSource(path, file);
}

Status ByteSource::Damage() const {
  int error = Z_OK;
  ::gzerror(file_.get(), &error);
  switch (error) {
    case Z_OK:
      return Status();
    case Z_BUF_ERROR:
      return base::DataLoss(path_ + ": the compressed data ends early");
    case Z_ERRNO:
      return SystemError(path_, errno);
    case Z_MEM_ERROR:
      return base::ResourceExhausted(path_ + ": no memory to read it");
    default:
      return base::DataLoss(path_ + ": the compressed data is damaged");
  }
}

Result<std::size_t> ByteSource::Read(char* into, std::size_t size) {
  const int got = ::gzread(file_.get(), into, static_cast<unsigned>(std::min(size, kBlock)));
  if (!started_ && EndsInGz(path_) && ::gzdirect(file_.get()) == 1) {
    return base::DataLoss(path_ + ": not compressed by gzip, or damaged");
  }
  started_ = true;
  if (got > 0) return static_cast<std::size_t>(got);
  LEEWAY_RETURN_IF_ERROR(Damage());
  return std::size_t{0};
}

Result<std::string> ReadWhole(const std::string& path, std::size_t limit) {
  LEEWAY_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(path));
  std::string bytes;
  std::vector<char> block(kBlock);
  for (;;) {
    LEEWAY_ASSIGN_OR_RETURN(const std::size_t got, source.Read(block.data(), block.size()));
    if (got == 0) return bytes;
    if (got > limit - bytes.size()) {
      return base::ResourceExhausted(path + ": larger than the limit of " + std::to_string(limit) +
                                     " bytes");
    }
    bytes.append(block.data(), got);
  }
}

Result<base::Digest> DigestOfFile(const std::string& path) {
  LEEWAY_ASSIGN_OR_RETURN(const int fd, OpenRegular(path));
  base::Sha256 sha;
  std::vector<char> block(kBlock);
  for (;;) {
    const ssize_t got = ::read(fd, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    const int error = errno;
    if (got <= 0) ::close(fd);
    if (got < 0) return SystemError(path, error);
    if (got == 0) return sha.Finish();
    sha.Update({block.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace leeway::traffic
