#include "tests/support/child_cost.h"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace leeway::testing {
namespace {

// Returns e.g. "VmHWM" of this process in bytes.
std::size_t StatusBytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  std::size_t kilobytes = 0;
  for (std::string word; status >> word;) {
    if (word == field + ":" && status >> kilobytes) break;
  }
  return kilobytes * 1024;
}

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

ChildCost Run(const std::function<bool()>& work, std::size_t limit_bytes) {
  malloc_trim(0);
  const std::size_t before = StatusBytes("VmRSS");
  if (!IsSanitized()) {
    const rlim_t limit = StatusBytes("VmSize") + limit_bytes;
    const rlimit bound{limit, limit};
    setrlimit(RLIMIT_AS, &bound);
  }
  ChildCost cost;
  const double start = CpuSeconds();
  cost.ok = work();
  cost.cpu_seconds = CpuSeconds() - start;
  const std::size_t peak = StatusBytes("VmHWM");
  cost.peak_bytes = peak > before ? peak - before : 0;
  return cost;
}

}  // namespace

bool IsSanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#endif
#endif
  return false;
}

ChildCost CostOf(const std::function<bool()>& work, std::size_t limit_bytes) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    ChildCost cost;
    try {
      cost = Run(work, limit_bytes);
    } catch (...) {  // out of memory
    }
    const bool told = write(ends[1], &cost, sizeof cost) == sizeof cost;
    _exit(told ? 0 : 1);
  }
  close(ends[1]);
  ChildCost cost;
  if (child < 0 || read(ends[0], &cost, sizeof cost) != sizeof cost) cost = {};
  close(ends[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return cost;
}

}  // namespace leeway::testing
