// Which of a fixed number of instants is the earliest: a winner tree (Knuth, The Art of Computer
// Programming, vol. 3, section 5.4.1). Setting one costs log2(n) comparisons, without a branch that
// the processor would have to foresee; the earliest is read off the root.
//
// Threading: one thread at a time.

#ifndef LEEWAY_EXEC_EARLIEST_H_
#define LEEWAY_EXEC_EARLIEST_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "leeway/time.h"

namespace leeway::exec {

class Earliest {
 public:
  // All are Instant::Max() at first. Requires count >= 1.
  explicit Earliest(std::size_t count)
      : leaves_(std::bit_ceil(count)), tree_(2 * leaves_, Entry{Instant::Max(), 0}) {
    for (std::size_t i = 0; i < leaves_; ++i) tree_[leaves_ + i].index = i;
    for (std::size_t node = leaves_ - 1; node >= 1; --node) tree_[node] = tree_[2 * node];
  }

  // The winner goes up in registers: read back from the tree, each level would wait for the one
  // below to be stored.
  void Set(std::size_t index, Instant at) {
    std::size_t node = leaves_ + index;
    tree_[node].at = at;
    std::size_t winner = index;
    for (; node > 1; node /= 2) {
      const Entry& other = tree_[node ^ 1];
      // Of equals the one on the left wins.
      const bool loses = (other.at < at) | ((other.at == at) & ((node & 1) != 0));
      at = loses ? other.at : at;
      winner = loses ? other.index : winner;
      tree_[node / 2] = Entry{at, winner};
    }
  }

  Instant at(std::size_t index) const { return tree_[leaves_ + index].at; }
  Instant first() const { return tree_[1].at; }
  // The smallest on ties.
  std::size_t first_index() const { return tree_[1].index; }

 private:
  struct Entry {
    Instant at;
    std::size_t index;
  };

  std::size_t leaves_;
  std::vector<Entry> tree_;  // the root is 1, the children of n are 2n and 2n + 1
};

}  // namespace leeway::exec

#endif  // LEEWAY_EXEC_EARLIEST_H_
