// The program: finds the command, parses its options, runs it.

#ifndef LEEWAY_CLI_PROGRAM_H_
#define LEEWAY_CLI_PROGRAM_H_

#include <string>
#include <vector>

namespace leeway::cli {

// Runs the program with the words after its name; returns the number to exit with.
int RunProgram(const std::vector<std::string>& words);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_PROGRAM_H_
