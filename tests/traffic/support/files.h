// Files that a test writes, and traffic read whole.

#ifndef LEEWAY_TESTS_TRAFFIC_SUPPORT_FILES_H_
#define LEEWAY_TESTS_TRAFFIC_SUPPORT_FILES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/traffic.h"
#include "traffic/body.h"

namespace leeway::traffic::testing {

// A folder of its own, removed in the end.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  // Writes a file and returns its path.
  std::string Write(const std::string& name, std::string_view bytes) const;
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
};

std::string Gzip(std::string_view bytes);

// Every arrival up to the end or the first error.
struct Reading {
  std::vector<Arrival> arrivals;
  Status status;
};
Reading ReadAll(const Traffic& traffic, std::uint64_t seed = 1);

// The error of opening the file or of reading it, as "INVALID_ARGUMENT: csv:17: …" with the folder
// taken out; "OK" if there is none.
std::string ErrorOf(const TempFolder& folder, const std::string& path,
                    const TrafficOptions& options = {});

// "at_ns stream dims… deadline_ns" a line: to compare two readings byte by byte.
std::string ToText(const std::vector<Arrival>& arrivals);
// Times, and values of the first dim.
std::vector<std::int64_t> Times(const std::vector<Arrival>& arrivals);
std::vector<std::int64_t> Lengths(const std::vector<Arrival>& arrivals);

struct WindowsReading {
  std::vector<LengthWindow> windows;
  Status status;
};
WindowsReading ReadWindows(const Traffic& traffic, Nanos window, std::uint64_t seed = 1,
                           std::size_t dim = 0);

}  // namespace leeway::traffic::testing

#endif  // LEEWAY_TESTS_TRAFFIC_SUPPORT_FILES_H_
