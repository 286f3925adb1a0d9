// A command of the program.

#ifndef LEEWAY_CLI_COMMAND_H_
#define LEEWAY_CLI_COMMAND_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/exit_code.h"
#include "cli/invocation.h"

namespace leeway::cli {

class Command {
 public:
  virtual ~Command() = default;

  // One word, or two: "plan check".
  virtual std::string_view name() const = 0;
  // One line for the list of commands.
  virtual std::string_view summary() const = 0;
  // What the command's own help says: paragraphs, each one line.
  virtual std::vector<std::string_view> about() const = 0;
  // Lines to copy.
  virtual std::vector<std::string_view> examples() const = 0;

  // What -o names.
  virtual OutputForm output_form() const { return OutputForm::kFile; }
  // Declares arguments and options; the values live in the command.
  virtual void Declare(CLI::App& app) = 0;
  // Returns what is missing or does not fit together, or nothing.
  virtual std::string Objection() const = 0;
  virtual Ending Run(const Invocation& invocation) = 0;
};

std::unique_ptr<Command> MakeLoopCommand();
std::unique_ptr<Command> MakeSimulateCommand();
std::unique_ptr<Command> MakeBucketsCommand();
std::unique_ptr<Command> MakeCompileCommand();
std::unique_ptr<Command> MakeScheduleCommand();
std::unique_ptr<Command> MakeCostCommand();
std::unique_ptr<Command> MakeValidateModelCommand();
std::unique_ptr<Command> MakePlanCheckCommand();
std::unique_ptr<Command> MakePlanShowCommand();
std::unique_ptr<Command> MakePlanDiffCommand();
std::unique_ptr<Command> MakePlanConvertCommand();

// All of them, in the order of the list that help prints.
using Commands = std::vector<std::unique_ptr<Command>>;
Commands MakeCommands();

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_COMMAND_H_
