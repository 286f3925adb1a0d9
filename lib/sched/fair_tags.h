// Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): each request gets a start tag, and
// the smallest goes first. A stream's tags are as far apart as its requests are long, divided by
// its weight; one that was idle begins at the virtual time, so that it neither saves up nor owes.
//
// Virtual time is the largest start tag that has been taken into service, as is usual where several
// are in service at once (Jin, Chase and Kaur, SIGMETRICS 2004). While streams a and b both wait, a
// server that serves D requests at once gives them work, each divided by its weight, that differs
// by at most (D + 1)(longest a / weight a + longest b / weight b).
//
// Threading: one thread at a time.

#ifndef LEEWAY_SCHED_FAIR_TAGS_H_
#define LEEWAY_SCHED_FAIR_TAGS_H_

#include <cstdint>
#include <vector>

#include "leeway/time.h"
#include "sched/request.h"

namespace leeway::sched {

class FairTags {
 public:
  // Tags stay below; one that would pass is this, and its stream's requests tie from there on.
  static constexpr std::uint64_t kLast = std::uint64_t{1} << 57;

  // The start tag of the stream's next request.
  std::uint64_t Next(StreamId stream) const;
  // The stream's next request is admitted: the one after starts `work` / `weight` later. Requires
  // a weight of at least 1.
  void Charge(StreamId stream, std::uint32_t weight, Nanos work);
  // A request of this start tag is taken into service.
  void Serve(std::uint64_t start);
  // Nothing waits and nothing is in service: what was served before counts no more.
  void Idle();

 private:
  struct Stream {
    std::uint64_t finish = 0;
    std::uint64_t rest = 0;  // what divisions by the weight have left: nothing is lost
  };
  std::vector<Stream> streams_;
  std::uint64_t now_ = 0;
  std::uint64_t last_finish_ = 0;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_FAIR_TAGS_H_
