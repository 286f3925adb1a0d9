// The pages that `leeway help` prints, made from the same option tree that parses.

#ifndef LEEWAY_CLI_HELP_H_
#define LEEWAY_CLI_HELP_H_

#include <string>
#include <string_view>

#include "cli/command.h"

namespace leeway::cli {

std::string ProgramHelp(const Commands& commands);
std::string CommandHelp(const Command& command, const CLI::App& app);

// Returns the candidate that is the fewest edits away from `word`, or "" if none is close.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_HELP_H_
