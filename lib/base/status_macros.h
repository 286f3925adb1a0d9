// Early return on an error, and construction of the common ones.

#ifndef LEEWAY_BASE_STATUS_MACROS_H_
#define LEEWAY_BASE_STATUS_MACROS_H_

#include <string>
#include <utility>

#include "leeway/status.h"

#define LEEWAY_CONCAT_INNER(a, b) a##b
#define LEEWAY_CONCAT(a, b) LEEWAY_CONCAT_INNER(a, b)

#define LEEWAY_RETURN_IF_ERROR(expr)                                                    \
  do {                                                                                  \
    if (::leeway::Status leeway_returned_status = (expr); !leeway_returned_status.ok()) \
      return leeway_returned_status;                                                    \
  } while (false)

// LEEWAY_ASSIGN_OR_RETURN(auto x, Compute());
#define LEEWAY_ASSIGN_OR_RETURN(lhs, expr) \
  LEEWAY_ASSIGN_OR_RETURN_INNER(LEEWAY_CONCAT(result_, __LINE__), lhs, expr)
// `result` and `lhs` are declared, which parentheses would forbid.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define LEEWAY_ASSIGN_OR_RETURN_INNER(result, lhs, expr) \
  auto result = (expr);                                  \
  if (!result.ok()) return result.status();              \
  lhs = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)

namespace leeway::base {

inline Status InvalidArgument(std::string m) {
  return Status(StatusCode::kInvalidArgument, std::move(m));
}
inline Status NotFound(std::string m) { return Status(StatusCode::kNotFound, std::move(m)); }
inline Status OutOfRange(std::string m) { return Status(StatusCode::kOutOfRange, std::move(m)); }
inline Status FailedPrecondition(std::string m) {
  return Status(StatusCode::kFailedPrecondition, std::move(m));
}
inline Status ResourceExhausted(std::string m) {
  return Status(StatusCode::kResourceExhausted, std::move(m));
}
inline Status Unimplemented(std::string m) {
  return Status(StatusCode::kUnimplemented, std::move(m));
}
inline Status DataLoss(std::string m) { return Status(StatusCode::kDataLoss, std::move(m)); }
inline Status Unavailable(std::string m) { return Status(StatusCode::kUnavailable, std::move(m)); }

}  // namespace leeway::base

#endif  // LEEWAY_BASE_STATUS_MACROS_H_
