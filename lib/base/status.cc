#include "leeway/status.h"

namespace leeway {
inline namespace v0 {

const char* StatusCodeName(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return "OK";
    case StatusCode::kCancelled:
      return "CANCELLED";
    case StatusCode::kUnknown:
      return "UNKNOWN";
    case StatusCode::kInvalidArgument:
      return "INVALID_ARGUMENT";
    case StatusCode::kDeadlineExceeded:
      return "DEADLINE_EXCEEDED";
    case StatusCode::kNotFound:
      return "NOT_FOUND";
    case StatusCode::kAlreadyExists:
      return "ALREADY_EXISTS";
    case StatusCode::kPermissionDenied:
      return "PERMISSION_DENIED";
    case StatusCode::kResourceExhausted:
      return "RESOURCE_EXHAUSTED";
    case StatusCode::kFailedPrecondition:
      return "FAILED_PRECONDITION";
    case StatusCode::kAborted:
      return "ABORTED";
    case StatusCode::kOutOfRange:
      return "OUT_OF_RANGE";
    case StatusCode::kUnimplemented:
      return "UNIMPLEMENTED";
    case StatusCode::kInternal:
      return "INTERNAL";
    case StatusCode::kUnavailable:
      return "UNAVAILABLE";
    case StatusCode::kDataLoss:
      return "DATA_LOSS";
    case StatusCode::kUnauthenticated:
      return "UNAUTHENTICATED";
  }
  // A code of a later version, or a cast integer from across the C ABI.
  return "UNKNOWN";
}

Status::Status(StatusCode code, std::string message) {
  // OK carries no message, so that it stays one null pointer and all OKs are equal.
  if (code == StatusCode::kOk) return;
  state_ = std::make_shared<const State>(State{code, std::move(message)});
}

std::string Status::ToString() const {
  std::string text = StatusCodeName(code());
  if (message().empty()) return text;
  return text.append(": ").append(message());
}

}  // namespace v0
}  // namespace leeway
