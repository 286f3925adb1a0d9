#include "program.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/catch.h"

extern char** environ;

namespace leeway::testing {
namespace {

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> Environment(const std::vector<std::string>& added) {
  // Without what would change the program's output.
  std::vector<std::string> lines = {"TERM=dumb"};
  for (char** line = environ; *line != nullptr; ++line) {
    const std::string_view text = *line;
    const bool ours = text.rfind("TERM=", 0) == 0 || text.rfind("NO_COLOR=", 0) == 0 ||
                      text.rfind("GLIBC_TUNABLES=", 0) == 0;
    if (!ours) lines.emplace_back(text);
  }
  lines.insert(lines.end(), added.begin(), added.end());
  return lines;
}

pid_t Start(const std::vector<std::string>& words, const std::vector<std::string>& environment,
            const Scratch& scratch) {
  std::vector<std::string> arguments = {LEEWAY_PROGRAM};
  arguments.insert(arguments.end(), words.begin(), words.end());
  std::vector<std::string> lines = Environment(environment);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC;
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, scratch.Path("out").c_str(), kFlags, 0600);
  posix_spawn_file_actions_addopen(&actions, 2, scratch.Path("err").c_str(), kFlags, 0600);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, LEEWAY_PROGRAM, &actions, nullptr, Pointers(arguments).data(),
                                Pointers(lines).data());
  posix_spawn_file_actions_destroy(&actions);
  REQUIRE(error == 0);
  return pid;
}

Said Finish(pid_t pid, const Scratch& scratch) {
  int status = 0;
  REQUIRE(::waitpid(pid, &status, 0) == pid);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, ReadAll(scratch.Path("out")), ReadAll(scratch.Path("err"))};
}

}  // namespace

Said RunLeeway(const std::vector<std::string>& words, const std::vector<std::string>& environment) {
  const Scratch scratch;
  return Finish(Start(words, environment, scratch), scratch);
}

Said InterruptLeeway(const std::vector<std::string>& words) {
  const Scratch scratch;
  const pid_t pid = Start(words, {}, scratch);
  // The program says on standard error that it begins; until then it may not catch the signal.
  siginfo_t ended = {};
  while (ReadAll(scratch.Path("err")).empty() && ended.si_pid == 0) {
    ::sched_yield();
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid), &ended, WEXITED | WNOHANG | WNOWAIT) == 0);
  }
  ::kill(pid, SIGINT);
  return Finish(pid, scratch);
}

Scratch::Scratch() {
  std::string pattern = (std::filesystem::temp_directory_path() / "leeway-cli-XXXXXX").string();
  REQUIRE(::mkdtemp(pattern.data()) != nullptr);
  folder_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string Scratch::Write(std::string_view name, std::string_view bytes) const {
  const std::string path = Path(name);
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  REQUIRE(file.good());
  return path;
}

std::vector<std::string> Scratch::Files() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace leeway::testing
