// The dims of a plan as one bucket of a variant binds them: the bucketed dim up to the bucket's
// edge, batch dims up to a batch, every other dim over its domain.
//
// Threading: immutable.

#ifndef LEEWAY_COMPILE_BUCKET_DIMS_H_
#define LEEWAY_COMPILE_BUCKET_DIMS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "leeway/status.h"
#include "plan/body.h"

namespace leeway::compile {

class BucketDims {
 public:
  // kNotFound for a dim that the model lacks; kInvalidArgument for one that is a batch dim or not
  // bound at submit, where an empty name is ambiguous, and for max_batch < 1.
  static Result<BucketDims> Create(const plan::Body& model, const std::string& dim,
                                   std::int64_t max_batch);

  plan::Index dim() const { return dim_; }
  const plan::Dim& domain() const { return dims_[dim_]; }
  // The largest batch that any batch dim has room for; 1 without batch dims.
  std::int64_t max_batch() const { return max_batch_; }

  // Returns the upper bound of the octave that `length` lies in, clamped to the domain.
  std::int64_t Octave(std::int64_t length) const;
  // Returns what a batch of `batch` runs at, padded: dims that are no batch dims at their end.
  std::vector<std::int64_t> At(std::int64_t length, std::int64_t batch) const;
  // Returns the envelope of a bucket for batches of up to `batch`.
  std::vector<plan::Range> Envelope(std::int64_t edge, std::int64_t batch) const;

 private:
  // The value of a batch dim for `batch`: within its domain and, where it counts requests, within
  // what was asked for. A sum of the members' values may be large for one request already.
  std::int64_t BatchValue(plan::Index dim, std::int64_t batch) const;

  std::vector<plan::Dim> dims_;
  plan::Index dim_ = 0;
  std::vector<std::int64_t> most_;  // by dim: of batch dims
  std::int64_t max_batch_ = 1;
};

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_BUCKET_DIMS_H_
