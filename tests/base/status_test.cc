#include "leeway/status.h"

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "base/status_macros.h"
#include "tests/catch.h"

namespace leeway {
namespace {

TEST_CASE("codes equal Abseil's by number and by name", "[base][oracle]") {
  for (int code = 0; code <= 16; ++code) {
    CAPTURE(code);
    const auto theirs = static_cast<absl::StatusCode>(code);
    CHECK(StatusCodeName(static_cast<StatusCode>(code)) == absl::StatusCodeToString(theirs));
  }
  CHECK(StatusCodeName(static_cast<StatusCode>(17)) == std::string("UNKNOWN"));
  CHECK(StatusCodeName(static_cast<StatusCode>(-1)) == std::string("UNKNOWN"));
}

TEST_CASE("a status is OK unless it was made with an error code", "[base][unit]") {
  CHECK(Status().ok());
  CHECK(Status().code() == StatusCode::kOk);
  CHECK(Status().message().empty());
  CHECK_FALSE(Status(StatusCode::kAborted, "").ok());
  const Status ok(StatusCode::kOk, "dropped");
  CHECK(ok.ok());
  CHECK(ok == Status());
}

TEST_CASE("the text of a status is its code's name and, if there is one, its message",
          "[base][unit]") {
  CHECK(Status().ToString() == "OK");
  CHECK(base::NotFound("plan x").ToString() == "NOT_FOUND: plan x");
  CHECK(Status(StatusCode::kAborted, "").ToString() == "ABORTED");
}

TEST_CASE("statuses are equal when code and message are", "[base][unit]") {
  CHECK(base::NotFound("a") == base::NotFound("a"));
  CHECK_FALSE(base::NotFound("a") == base::NotFound("b"));
  CHECK_FALSE(base::NotFound("a") == base::OutOfRange("a"));
}

TEST_CASE("a copy of a status outlives the original", "[base][unit]") {
  auto original = std::make_unique<Status>(StatusCode::kInternal, "lost");
  const Status copy = *original;
  original.reset();
  CHECK(copy.ToString() == "INTERNAL: lost");
}

TEST_CASE("each maker of a status sets its own code", "[base][unit]") {
  CHECK(base::InvalidArgument("m").code() == StatusCode::kInvalidArgument);
  CHECK(base::NotFound("m").code() == StatusCode::kNotFound);
  CHECK(base::OutOfRange("m").code() == StatusCode::kOutOfRange);
  CHECK(base::FailedPrecondition("m").code() == StatusCode::kFailedPrecondition);
  CHECK(base::ResourceExhausted("m").code() == StatusCode::kResourceExhausted);
  CHECK(base::Unimplemented("m").code() == StatusCode::kUnimplemented);
  CHECK(base::DataLoss("m").code() == StatusCode::kDataLoss);
  CHECK(base::Unavailable("m").code() == StatusCode::kUnavailable);
}

TEST_CASE("a result holds a value or an error, never an OK without a value", "[base][unit]") {
  const Result<int> seven = 7;
  REQUIRE(seven.ok());
  CHECK(*seven == 7);
  CHECK(seven.status().ok());
  CHECK(seven.value_or(1) == 7);

  const Result<int> failed = base::NotFound("core 9");
  CHECK_FALSE(failed.ok());
  CHECK(failed.status().message() == "core 9");
  CHECK(failed.value_or(1) == 1);

  const Result<int> empty = Status();
  CHECK_FALSE(empty.ok());
  CHECK(empty.status().code() == StatusCode::kInternal);
}

TEST_CASE("a result gives up a value that can only be moved", "[base][unit]") {
  Result<std::unique_ptr<int>> boxed = std::make_unique<int>(3);
  const std::unique_ptr<int> taken = std::move(boxed).value();
  CHECK(*taken == 3);
}

Result<int> Half(int n) {
  if (n % 2 != 0) return base::InvalidArgument(std::to_string(n) + ": odd");
  return n / 2;
}

Result<int> Quarter(int n) {
  LEEWAY_ASSIGN_OR_RETURN(const int half, Half(n));
  LEEWAY_ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

Status CheckQuarter(int n) {
  LEEWAY_RETURN_IF_ERROR(Quarter(n).status());
  return base::DataLoss("reached");
}

TEST_CASE("the macros return the first error and pass values on", "[base][unit]") {
  CHECK(Quarter(12).value() == 3);
  CHECK(Quarter(7).status().message() == "7: odd");
  CHECK(Quarter(6).status().message() == "3: odd");
  CHECK(CheckQuarter(6).message() == "3: odd");
  CHECK(CheckQuarter(12).message() == "reached");
}

// Runs `body` in a child whose stderr it returns; the child must die of SIGABRT.
template <typename Body>
std::string StderrOfAbort(Body body) {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    // Catch handles SIGABRT by reporting a failure of the child's own.
    std::signal(SIGABRT, SIG_DFL);
    body();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char chunk[256];
  for (ssize_t n = 0; (n = ::read(ends[0], chunk, sizeof chunk)) > 0;) text.append(chunk, n);
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK((WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
  return text;
}

TEST_CASE("taking the value of an error ends the process with the status on stderr",
          "[base][death]") {
  const Result<int> failed = base::NotFound("core 9");
  const std::string text = StderrOfAbort([&] { ::_exit(failed.value()); });
  CHECK(text.find("NOT_FOUND: core 9") != std::string::npos);
}

}  // namespace
}  // namespace leeway
