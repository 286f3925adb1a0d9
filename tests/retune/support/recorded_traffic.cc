#include "tests/retune/support/recorded_traffic.h"

#include <zlib.h>

#include <cinttypes>
#include <cstdio>
#include <functional>

#include "base/check.h"

namespace leeway::retune::testing {
namespace {

// Calls `row` with each line after the header.
void ForEachRow(const std::string& path, const std::function<void(const char*)>& row) {
  gzFile file = gzopen(path.c_str(), "rb");
  LEEWAY_CHECK(file != nullptr);
  char line[256];
  LEEWAY_CHECK(gzgets(file, line, sizeof line) != nullptr);
  while (gzgets(file, line, sizeof line) != nullptr) row(line);
  gzclose(file);
}

}  // namespace

Windows ReadLengthHistograms(const std::string& path) {
  Windows windows;
  std::int64_t open = -1;
  ForEachRow(path, [&](const char* line) {
    std::int64_t start = 0;
    std::int64_t length = 0;
    double count = 0;
    LEEWAY_CHECK(std::sscanf(line, "%" SCNd64 ",%" SCNd64 ",%lf", &start, &length, &count) == 3);
    if (start != open) windows.emplace_back();
    open = start;
    windows.back().lengths.Add(length, count);
  });
  return windows;
}

Windows ReadAzureArrivals(const std::string& path, double window_s) {
  Windows windows;
  double origin = -1;
  std::int64_t open = -1;
  bool even = true;
  ForEachRow(path, [&](const char* line) {
    int day = 0;
    int hour = 0;
    int minute = 0;
    double second = 0;
    std::int64_t length = 0;
    // The trace lies within one month.
    LEEWAY_CHECK(std::sscanf(line, "%*d-%*d-%d %d:%d:%lf,%" SCNd64, &day, &hour, &minute, &second,
                             &length) == 5);
    const double at = ((day * 24.0 + hour) * 60 + minute) * 60 + second;
    if (origin < 0) origin = at;
    const auto index = static_cast<std::int64_t>((at - origin) / window_s);
    if (index != open) {
      windows.emplace_back();
      even = true;
    }
    open = index;
    windows.back().lengths.Add(length);
    (even ? windows.back().even : windows.back().odd).Add(length);
    even = !even;
  });
  return windows;
}

}  // namespace leeway::retune::testing
