// How a loop experiment's replays share threads, and how far they are.

#ifndef LEEWAY_RETUNE_LOOP_JOBS_H_
#define LEEWAY_RETUNE_LOOP_JOBS_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "leeway/loop.h"
#include "leeway/status.h"
#include "oneapi/tbb/info.h"
#include "oneapi/tbb/parallel_for.h"
#include "oneapi/tbb/task_arena.h"

namespace leeway::retune {

// Progress of the stages, added to from any thread. The caller's function is called by one thread
// at a time, without a lock: a thread that finds another telling goes on.
class StageProgress {
 public:
  explicit StageProgress(const LoopOptions& options) : options_(options) {}

  void Enter(LoopProgress::Stage stage, std::uint64_t expected) {
    const absl::MutexLock lock(&mutex_);
    progress_.stage = stage;
    progress_.requests = 0;
    expected_ = std::max<std::uint64_t>(1, expected);
  }
  // False once the caller wants no more.
  bool Add(std::uint64_t requests, std::uint64_t steps) {
    const LoopProgress now = Added(requests, steps);
    // Acquire and release: what the function writes in one call, the next one sees.
    if (options_.progress && !telling_.test_and_set(std::memory_order_acquire)) {
      if (going_.load() && !options_.progress(now)) going_.store(false);
      telling_.clear(std::memory_order_release);
    }
    return going_.load();
  }

 private:
  LoopProgress Added(std::uint64_t requests, std::uint64_t steps) {
    const absl::MutexLock lock(&mutex_);
    progress_.requests += requests;
    progress_.steps += steps;
    progress_.done =
        std::min(1.0, static_cast<double>(progress_.requests) / static_cast<double>(expected_));
    return progress_;
  }

  const LoopOptions& options_;
  absl::Mutex mutex_;
  LoopProgress progress_ ABSL_GUARDED_BY(mutex_);
  std::uint64_t expected_ ABSL_GUARDED_BY(mutex_) = 1;
  std::atomic_flag telling_;
  std::atomic<bool> going_ = true;
};

// Calls work(i) for each i, on up to `jobs` threads, and returns the first error by index.
template <typename Work>
Status ForEach(std::size_t count, int jobs, Work work) {
  std::vector<Status> statuses(count);
  if (jobs <= 1 || count <= 1) {
    for (std::size_t i = 0; i < count; ++i) LEEWAY_RETURN_IF_ERROR(work(i));
    return Status();
  }
  // More than there are would be refused with a warning on standard error.
  oneapi::tbb::task_arena arena(std::min(jobs, oneapi::tbb::info::default_concurrency()));
  arena.execute([&] {
    oneapi::tbb::parallel_for(
        std::size_t{0}, count, [&](std::size_t i) { statuses[i] = work(i); },
        oneapi::tbb::simple_partitioner());
  });
  for (Status& status : statuses) LEEWAY_RETURN_IF_ERROR(status);
  return Status();
}

}  // namespace leeway::retune

#endif  // LEEWAY_RETUNE_LOOP_JOBS_H_
