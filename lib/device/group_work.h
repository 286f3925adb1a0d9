// The operators of a group as numbers: every size evaluated, kinds of work reduced to the four that
// cost differently.
//
// Threading: values.

#ifndef LEEWAY_DEVICE_GROUP_WORK_H_
#define LEEWAY_DEVICE_GROUP_WORK_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/container/inlined_vector.h"
#include "device/spec.h"
#include "leeway/status.h"
#include "plan/body.h"

namespace leeway::device {

// No device runs a step of a larger size. Doubles count exactly up to 2⁵³.
inline constexpr std::int64_t kMaxExtent = std::int64_t{1} << 50;

// One operator. Bytes are doubles that hold whole numbers up to 2⁵³.
struct Piece {
  enum class Kind : std::uint8_t {
    kNone,    // no work of its own; what it reads and writes still moves
    kMatrix,  // `count` products [m, k] × [k, n]
    kVector,  // elementwise, any number of inputs
    kReduce,  // along rows: needs a row as a whole
    kMove,
    kCustom,
  };
  const plan::Operator* op = nullptr;
  Kind kind = Kind::kNone;
  std::int64_t m = 0, n = 0, k = 0, count = 1;
  std::int64_t taps = 1;  // equal parts of k that run one after another
  double density = 1;
  // Of a convolution, where the left operand is read as an image and not as im2col's matrix: bytes
  // of all of it, and of the rows of pixels that neighbouring row blocks both read.
  double image_bytes = 0, halo_bytes = 0;
  std::int64_t elements = 0;
  double ops = 0;          // of all elements
  double moved_bytes = 0;  // kMove, one side; kCustom
  double strided_bytes = 0;
  double flops = 0;  // kCustom
};

// What a step runs: a fusion group, or a single operator in the fallback.
struct StepSource {
  const plan::Body& plan;
  const plan::Entry& entry;
  std::span<const plan::Index> ops;
  std::span<const plan::Index> reads, writes;
  plan::Tiling tiling;
  const plan::GroupWork* work = nullptr;
  std::string_view what, name;  // "group", "ffn_0": for messages
  // Weights that the core holds before the step begins, rising.
  std::span<const plan::Index> resident = {};

  std::string Describe() const;
};

// Evaluates sizes; the first failure sticks.
class SizeReader {
 public:
  SizeReader(const StepSource& source, std::span<const std::int64_t> dims)
      : source_(source), dims_(dims) {}

  // Returns 0 once anything failed: a size below 0 or above `limit` is a failure.
  std::int64_t Size(const plan::Expr& expr, std::int64_t limit = kMaxExtent);
  // Returns the bytes of a declared tensor.
  double Bytes(plan::Index tensor);
  // Returns the bytes that pass through `tensor` on its way to `op`: more than it holds if its
  // producer writes it block by block (a declared row block of a larger product).
  double PassedBytes(const plan::Operator& op, plan::Index tensor);

  void Fail(Status status) {
    if (status_.ok()) status_ = std::move(status);
  }
  const Status& status() const { return status_; }
  const StepSource& source() const { return source_; }

 private:
  double PassedRatio(const plan::Operator& op, plan::Index tensor, int depth);

  const StepSource& source_;
  std::span<const std::int64_t> dims_;
  Status status_;
};

using Pieces = absl::InlinedVector<Piece, 8>;

// Reads every operator of the source, as it runs on `core`. kOutOfRange if an expression fails or a
// size is absurd, kUnimplemented for kinds of work that are not modelled.
Result<Pieces> ReadPieces(SizeReader& reader, const CoreClass& core);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_GROUP_WORK_H_
