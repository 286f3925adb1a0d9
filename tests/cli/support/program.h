// Runs the built program as a user would, and keeps what it said.

#ifndef LEEWAY_TESTS_CLI_SUPPORT_PROGRAM_H_
#define LEEWAY_TESTS_CLI_SUPPORT_PROGRAM_H_

#include <string>
#include <string_view>
#include <vector>

namespace leeway::testing {

struct Said {
  int exit_code = -1;  // 128 + n where signal n ended it
  std::string out;
  std::string err;
};

// Runs it with standard output and error caught. `environment` holds NAME=VALUE lines that are
// added to ours.
Said RunLeeway(const std::vector<std::string>& words,
               const std::vector<std::string>& environment = {});

// As RunLeeway, with an interrupt once the program has had time to begin.
Said InterruptLeeway(const std::vector<std::string>& words);

// A folder of its own that goes away at the end.
class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::string Path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  // Returns the path of a file with these bytes.
  std::string Write(std::string_view name, std::string_view bytes) const;
  std::vector<std::string> Files() const;

 private:
  std::string folder_;
};

std::string ReadAll(const std::string& path);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_CLI_SUPPORT_PROGRAM_H_
