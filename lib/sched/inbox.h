// The completions of one core, from whoever tells of them to the core's Pump, their only reader.
//
// Threading: Put() from any thread. Take() by one thread at a time.

#ifndef LEEWAY_SCHED_INBOX_H_
#define LEEWAY_SCHED_INBOX_H_

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "sched/run_pool.h"

namespace leeway::sched {

enum class StepOutcome : std::uint8_t { kDone, kFailed };

struct Completion {
  StepRef step;
  StepOutcome outcome = StepOutcome::kDone;
};

class Inbox {
 public:
  // From now on one thread does all, and nothing is locked.
  void UseByOneThread() { shared_ = false; }

  void Put(const Completion& completion) {
    Lock();
    waiting_.push_back(completion);
    // Relaxed: published by Unlock(), and whoever put it wakes the reader afterwards.
    any_.store(true, std::memory_order_relaxed);
    Unlock();
  }

  // Moves all that is here to `taken`, which must be empty; its memory is used for what comes next.
  void Take(std::vector<Completion>& taken) {
    // Relaxed: what is not seen yet comes with the wake-up that follows it.
    if (!any_.load(std::memory_order_relaxed)) return;
    Lock();
    waiting_.swap(taken);
    any_.store(false, std::memory_order_relaxed);
    Unlock();
  }

 private:
  // Held for a push or a swap: shorter than putting a thread to sleep would take.
  void Lock() {
    if (!shared_) return;
    // Acquire pairs with the release in Unlock(): the holder sees what earlier ones wrote.
    while (busy_.test_and_set(std::memory_order_acquire)) {
      // Relaxed: only a hint that another try may succeed.
      while (busy_.test(std::memory_order_relaxed)) {
      }
    }
  }
  void Unlock() {
    if (shared_) busy_.clear(std::memory_order_release);
  }

  bool shared_ = true;
  std::atomic_flag busy_;
  std::atomic<bool> any_ = false;
  std::vector<Completion> waiting_;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_INBOX_H_
