// What an operator does, in numbers that a cost model can use. plan.proto has the definitions.
//
// Threading: values.

#ifndef LEEWAY_WORK_H_
#define LEEWAY_WORK_H_

#include <cstdint>
#include <string>
#include <variant>

#include "leeway/size.h"

namespace leeway {
inline namespace v0 {

// `count` products [m, k] × [k, n], of which a mask leaves the share `density`.
struct Gemm {
  Size m, n, k;
  Size count = 1;
  double density = 1;
};

// n images of h × w × c, `filters` kernels.
struct Conv {
  Size n, h, w, c, filters, kernel_h, kernel_w;
  std::uint32_t stride = 1;
  std::uint32_t dilation = 1;
  std::uint32_t padding = 0;  // on all four sides
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

using Work = std::variant<Gemm, Conv, Vector, Reduce, Move, Call, Custom>;

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_WORK_H_
