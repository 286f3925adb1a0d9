// How a command ended, and the number that the program exits with.

#ifndef LEEWAY_CLI_EXIT_CODE_H_
#define LEEWAY_CLI_EXIT_CODE_H_

#include <string>

#include "leeway/status.h"

namespace leeway::cli {

enum class ExitCode : int {
  kOk = 0,
  kNo = 1,  // the check said no
  kUsage = 2,
  kBadInput = 3,
  kEnvironment = 4,  // a file is missing or cannot be read or written
  kInternal = 70,
  kInterrupted = 130,
};

struct Ending {
  ExitCode code = ExitCode::kOk;
  // For standard error; nothing is said if empty.
  std::string message;
};

// Sorts the library's codes into the program's.
ExitCode ExitCodeOf(StatusCode code);
// An ending with the status's code and message.
Ending EndingOf(const Status& status);
// The same, with the input's name before a message that does not hold it.
Ending EndingOf(const Status& status, const std::string& input);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_EXIT_CODE_H_
