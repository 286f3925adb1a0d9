// What an operator does, in numbers that a cost model can use. plan.proto has the definitions.
//
// Threading: values.

#ifndef LEEWAY_WORK_H_
#define LEEWAY_WORK_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "leeway/size.h"
#include "leeway/time.h"

namespace leeway {
inline namespace v0 {

// `count` products [m, k] × [k, n], of which a mask leaves the share `density`.
struct Gemm {
  Size m, n, k;
  Size count = 1;
  double density = 1;
};

// Of rows and of columns; one number is both.
struct Extents {
  Extents(std::uint32_t both) : h(both), w(both) {}  // NOLINT: 2 is 2 x 2
  Extents(std::uint32_t height, std::uint32_t width) : h(height), w(width) {}
  std::uint32_t h, w;
};

// On the four sides; one number is all of them.
struct Padding {
  Padding(std::uint32_t all) : top(all), left(all), bottom(all), right(all) {}  // NOLINT
  Padding(std::uint32_t top, std::uint32_t left, std::uint32_t bottom, std::uint32_t right)
      : top(top), left(left), bottom(bottom), right(right) {}
  std::uint32_t top, left, bottom, right;
};

// n images of h × w × c, `filters` kernels.
struct Conv {
  Size n, h, w, c, filters, kernel_h, kernel_w;
  Extents stride = 1;
  Extents dilation = 1;
  Padding padding = 0;
  std::uint32_t groups = 1;
};

// Element-wise.
struct Vector {
  Size elements;
  double ops_per_element = 1;
};

struct Reduce {
  Size elements, outputs;
  double ops_per_element = 1;
};

struct Move {
  Size bytes;
  // Bytes that are contiguous in the strided side; 0: all.
  Size contiguous_bytes = 0;
};

enum class CollectiveKind {
  kAllReduce = 1,
  kAllGather,
  kReduceScatter,
  kAllToAll,
  kBroadcast,
  kPermute,
};

struct Collective {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Size bytes, participants;
  // Replicas that take part together; none: all. Those of a permutation are {source, target}.
  std::vector<std::vector<std::uint32_t>> groups = {};
};

struct Send {
  Size bytes;
  std::string peer = {}, channel = {};
};

struct Receive {
  Size bytes;
  std::string peer = {}, channel = {};
};

// On the host, in a time that does not depend on the shape.
struct HostWork {
  Nanos duration{0};
};

// Runs another entry `times` times: a loop, or with Min(x, 1) a conditional.
struct Call {
  std::string entry;
  Size times = 1;
};

// Anything else.
struct Custom {
  Size flops, bytes;
};

using Work = std::variant<Gemm, Conv, Vector, Reduce, Move, Collective, Send, Receive, HostWork,
                          Call, Custom>;

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_WORK_H_
