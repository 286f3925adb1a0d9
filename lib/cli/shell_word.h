// Words of a command line, to be copied from the screen into a shell.

#ifndef LEEWAY_CLI_SHELL_WORD_H_
#define LEEWAY_CLI_SHELL_WORD_H_

#include <string>

namespace leeway::cli {

// The word as a shell takes it: in quotes where it needs them.
std::string ShellWord(const std::string& word);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_SHELL_WORD_H_
