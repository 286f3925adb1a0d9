// Small value types that the other headers share.

#ifndef LEEWAY_TYPES_H_
#define LEEWAY_TYPES_H_

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

namespace leeway {
inline namespace v0 {

// Urgency of a stream: 1 is the most urgent, as with Triton, CUDA and vLLM.
class Priority {
 public:
  static constexpr int kMostUrgent = 1;
  static constexpr int kLeastUrgent = 63;

  // Out-of-range levels are clamped to [kMostUrgent, kLeastUrgent].
  constexpr explicit Priority(int level)
      : level_(level < kMostUrgent    ? kMostUrgent
               : level > kLeastUrgent ? kLeastUrgent
                                      : level) {}
  constexpr int level() const { return level_; }

  friend constexpr auto operator<=>(Priority, Priority) = default;

 private:
  int level_;
};

// A symbolic dimension bound to a number.
struct DimBinding {
  std::string dim;
  std::int64_t value = 0;
};
using Dims = std::vector<DimBinding>;

enum class DType {
  kF64 = 1,
  kF32,
  kF16,
  kBf16,
  kF8E4M3,
  kF8E5M2,
  kF4E2M1,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kInt4,
  kUint8,
  kUint4,
  kBool,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kTf32,  // a way to compute: stored as kF32
  kUint16,
  kUint32,
  kUint64,
  kC64,
};
// The last of them: they are numbered from 1 without a gap.
inline constexpr DType kLastDType = DType::kC64;

// Returns the bits one element occupies: 4 for kInt4.
int BitsPerElement(DType dtype);
// Returns the schema's name, e.g. "BF16".
const char* DTypeName(DType dtype);

// How a batch's value of a dimension follows from its members' values.
enum class BatchRule { kMax = 1, kSum, kCount, kEqual };

// Where a figure comes from.
enum class Origin { kMeasured = 1, kEmulated, kSimulatedCalibrated, kSimulatedUncalibrated };

// Why a request ended.
enum class Outcome { kOk = 0, kRejected, kExpired, kCancelled, kFailed };

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_TYPES_H_
