#include "cli/exit_code.h"

namespace leeway::cli {

ExitCode ExitCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return ExitCode::kOk;
    case StatusCode::kCancelled:
      return ExitCode::kInterrupted;
    case StatusCode::kNotFound:
    case StatusCode::kPermissionDenied:
    case StatusCode::kUnavailable:
    case StatusCode::kAlreadyExists:
    case StatusCode::kUnauthenticated:
      return ExitCode::kEnvironment;
    case StatusCode::kInvalidArgument:
    case StatusCode::kFailedPrecondition:
    case StatusCode::kOutOfRange:
    case StatusCode::kUnimplemented:
    case StatusCode::kResourceExhausted:
    case StatusCode::kDataLoss:
      return ExitCode::kBadInput;
    case StatusCode::kUnknown:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kAborted:
    case StatusCode::kInternal:
      return ExitCode::kInternal;
  }
  return ExitCode::kInternal;
}

Ending EndingOf(const Status& status) {
  return {ExitCodeOf(status.code()), std::string(status.message())};
}

Ending EndingOf(const Status& status, const std::string& input) {
  Ending ending = EndingOf(status);
  if (ending.message.find(input) == std::string::npos) {
    ending.message = input + ": " + ending.message;
  }
  return ending;
}

}  // namespace leeway::cli
