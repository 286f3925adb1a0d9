// How an operation ended: Status, or Result<T> where there is a value.
//
// Threading: values; distinct objects may be used from distinct threads.
// Errors:    returned, never thrown. Codes equal the canonical ones that gRPC and Abseil use, by
//            number. A message is lower case and names the object and the bound.

#ifndef LEEWAY_STATUS_H_
#define LEEWAY_STATUS_H_

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace leeway {
inline namespace v0 {

enum class StatusCode : int {
  kOk = 0,
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

// Returns the canonical name, e.g. "INVALID_ARGUMENT".
const char* StatusCodeName(StatusCode code);

class [[nodiscard]] Status {
 public:
  // OK. Allocates nothing.
  Status() = default;
  Status(StatusCode code, std::string message);

  bool ok() const { return state_ == nullptr; }
  StatusCode code() const { return ok() ? StatusCode::kOk : state_->code; }
  std::string_view message() const { return ok() ? std::string_view() : state_->message; }
  // Returns "OK" or "INVALID_ARGUMENT: message".
  std::string ToString() const;

  friend bool operator==(const Status& a, const Status& b) {
    return a.code() == b.code() && a.message() == b.message();
  }

 private:
  struct State {
    StatusCode code;
    std::string message;
  };
  std::shared_ptr<const State> state_;
};

// A T, or the reason why there is none. value(), * and -> require ok(): calling them on an error
// is a bug of the caller and ends the process with the status on stderr.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : value_(std::move(value)) {}         // NOLINT: implicit by design
  Result(Status status) : status_(std::move(status)) {  // NOLINT: implicit by design
    if (status_.ok()) status_ = Status(StatusCode::kInternal, "a result without a value");
  }

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Status& status() const { return status_; }

  T& value() & { return Require(), *value_; }
  const T& value() const& { return Require(), *value_; }
  T&& value() && { return Require(), std::move(*value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  template <typename U>
  T value_or(U&& otherwise) const& {
    return ok() ? *value_ : static_cast<T>(std::forward<U>(otherwise));
  }

 private:
  void Require() const {
    if (value_.has_value()) return;
    std::fprintf(stderr, "value() of a failed result: %s\n", status_.ToString().c_str());
    std::abort();
  }

  Status status_;
  std::optional<T> value_;
};

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_STATUS_H_
