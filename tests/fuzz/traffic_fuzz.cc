// Any bytes in any format end in arrivals or in an error: in bounded memory, sorted, dims >= 1.
// Seeds: plans/regress/traffic.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "leeway/traffic.h"
#include "traffic/body.h"

namespace {

constexpr std::uint64_t kRequests = 1000;

// A file in memory, because traffic is opened by path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : fd_(::memfd_create("traffic", MFD_CLOEXEC)) {
    if (fd_ < 0) std::abort();
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
      if (written <= 0) std::abort();
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
  }
  ~MemoryFile() { ::close(fd_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(fd_); }

 private:
  int fd_;
};

void Require(bool condition) {
  if (!condition) std::abort();
}

void ReadArrivals(const leeway::Traffic& traffic) {
  auto reader = traffic.body()->NewReader(1);
  if (!reader.ok()) return;
  leeway::Instant last;
  for (;;) {
    const auto next = (*reader)->Next();
    if (!next.ok() || !*next) return;
    Require((*next)->at >= last);
    last = (*next)->at;
    Require((*next)->stream < traffic.streams().size());
    for (std::size_t i = 0; i < traffic.dims().size(); ++i) Require((*next)->dims[i] >= 1);
  }
}

void ReadWindows(const leeway::Traffic& traffic) {
  if (traffic.dims().empty()) return;
  auto windows = traffic.body()->NewWindows(leeway::Nanos(3'600'000'000'000), 0, 1);
  if (!windows.ok()) return;
  for (;;) {
    const auto next = (*windows)->Next();
    if (!next.ok() || !*next) return;
    Require(!(*next)->lengths.empty());
  }
}

void Read(const std::string& path, const char* format, const char* map, std::uint64_t requests) {
  const auto traffic = leeway::Traffic::Open(
      path, {.format = format, .map = map, .requests = requests, .limit = kRequests});
  if (!traffic.ok()) {
    Require(!traffic.status().message().empty());
    return;
  }
  ReadArrivals(*traffic);
  ReadWindows(*traffic);
  ReadArrivals(traffic->Last(leeway::Nanos(1'000'000'000)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const MemoryFile file(bytes);
  Read(file.path(), "auto", "", 0);
  Read(file.path(), "csv", "arrival=t:ms,seq=len,stream=who", 0);
  Read(file.path(), "csv", "arrival=t,seq=len", 0);
  Read(file.path(), "jsonl", "arrival=t,seq=len,stream=who", 0);
  Read(file.path(), "length-histogram", "", kRequests);
  Read(file.path(), "leeway", "", kRequests);
  Read(file.path(), "leeway", "", 0);
  return 0;
}
