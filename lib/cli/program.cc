#include "cli/program.h"

#include <algorithm>
#include <exception>
#include <new>
#include <optional>

#include "cli/command.h"
#include "cli/file.h"
#include "cli/help.h"
#include "cli/interrupt.h"

namespace leeway::cli {
namespace {

using Words = std::vector<std::string>;

Ending Usage(std::string message) { return {ExitCode::kUsage, std::move(message)}; }

Ending Print(const std::string& text) {
  return EndingOf(WriteAll(kStandardOutput, text, "standard output"));
}

std::string Quoted(const std::string& word) { return "'" + word + "'"; }

// A command and how many of the words named it.
struct Found {
  Command* command = nullptr;
  std::size_t words = 0;
};

Found Find(const Commands& commands, const Words& words) {
  for (const auto& command : commands) {
    if (!words.empty() && command->name() == words[0]) return {command.get(), 1};
    if (words.size() > 1 && command->name() == words[0] + " " + words[1]) return {command.get(), 2};
  }
  return {};
}

// The second words of the commands that begin with `word`: "check" and "show" of "plan".
Words Members(const Commands& commands, const std::string& word) {
  Words members;
  for (const auto& command : commands) {
    const std::string name(command->name());
    if (name.rfind(word + " ", 0) == 0) members.push_back(name.substr(word.size() + 1));
  }
  return members;
}

std::string Suggestion(const std::string& word, const Words& candidates,
                       const std::string& before = "") {
  const std::string nearest = Nearest(word, candidates);
  return nearest.empty() ? "" : "; did you mean " + Quoted(before + nearest) + "?";
}

Ending NoSuchCommand(const Commands& commands, const Words& words) {
  const Words members = Members(commands, words[0]);
  if (!members.empty()) {
    std::string listed;
    for (const std::string& member : members) listed += (listed.empty() ? "" : ", ") + member;
    if (words.size() < 2 || words[1].rfind('-', 0) == 0) {
      return Usage(words[0] + " needs one of: " + listed);
    }
    const std::string suggestion = Suggestion(words[1], members, words[0] + " ");
    return Usage("no command " + Quoted(words[0] + " " + words[1]) +
                 (suggestion.empty() ? "; there is: " + listed : suggestion));
  }
  Words names = {"help"};
  for (const auto& command : commands) {
    const std::string name(command->name());
    names.push_back(name.substr(0, name.find(' ')));
  }
  const std::string suggestion = Suggestion(words[0], names);
  return Usage("no command " + Quoted(words[0]) +
               (suggestion.empty() ? "; 'leeway help' lists them" : suggestion));
}

std::string UnknownOption(const std::string& word, const Command& command, const CLI::App& app) {
  const std::string option = word.substr(0, word.find('='));
  Words names;
  for (const CLI::Option* known : app.get_options()) {
    for (const std::string& name : known->get_lnames()) names.push_back("--" + name);
  }
  const bool is_long = option.rfind("--", 0) == 0;
  const std::string suggestion = is_long ? Suggestion(option, names) : "";
  return "no option " + Quoted(option) + " in " + Quoted("leeway " + std::string(command.name())) +
         (suggestion.empty() ? "; 'leeway help " + std::string(command.name()) + "' lists them"
                             : suggestion);
}

// In our words what CLI11 says of an option with too few values or too many: "--k: 1 required …",
// "json was given a disallowed flag override".
std::string Mismatch(const std::string& what) {
  const std::size_t flag = what.find(" was given a disallowed flag override");
  if (flag == std::string::npos)
    return "option " + what.substr(0, what.find(':')) + " needs a value";
  const std::size_t start = what.rfind(' ', flag - 1);
  // Where there is no space, npos + 1 is the beginning.
  return "option --" + what.substr(start + 1, flag - start - 1) + " takes no value";
}

// Parses the command's own words. Returns what is wrong with them, or nothing.
std::optional<std::string> Parse(const Command& command, CLI::App& app, Words words) {
  std::reverse(words.begin(), words.end());  // the order that CLI11 takes
  try {
    app.parse(words);
  } catch (const UsageError& error) {
    return error.what();
  } catch (const CLI::ArgumentMismatch& error) {
    return Mismatch(error.what());
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  Words extras = app.remaining();
  // Where options end is said once; CLI11 hands it back with what it could not place.
  const auto end = std::find(extras.begin(), extras.end(), "--");
  const bool option =
      end != extras.begin() && !extras.empty() && extras[0].size() > 1 && extras[0][0] == '-';
  if (option) return UnknownOption(extras[0], command, app);
  if (end != extras.end()) extras.erase(end);
  if (extras.empty()) return std::nullopt;
  return "one argument too many: " + Quoted(extras[0]);
}

Ending RunCommand(Command& command, const Words& words) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  CommonOptions options;
  BeginGroup(app, "Options");
  command.Declare(app);
  options.Declare(app, command.output_form());
  if (const std::optional<std::string> objection = Parse(command, app, words)) {
    return Usage(*objection);
  }
  if (options.help) return Print(CommandHelp(command, app));
  if (const std::string objection = command.Objection(); !objection.empty()) {
    return Usage(objection);
  }
  const Invocation invocation(options);
  if (const Status writable = invocation.CheckOutput(); !writable.ok()) return EndingOf(writable);
  return command.Run(invocation);
}

Ending Help(const Commands& commands, const Words& words) {
  if (words.empty() || words[0] == "help") return Print(ProgramHelp(commands));
  const Found found = Find(commands, words);
  if (found.command != nullptr) return RunCommand(*found.command, {"--help"});
  const Words members = Members(commands, words[0]);
  if (members.empty() || words.size() > 1) return NoSuchCommand(commands, words);
  std::string text;
  for (const auto& command : commands) {
    if (command->name().rfind(words[0] + " ", 0) != 0) continue;
    text +=
        "leeway " + std::string(command->name()) + ": " + std::string(command->summary()) + "\n";
  }
  return Print(text);
}

Ending Dispatch(const Words& words) {
  const Commands commands = MakeCommands();
  if (words.empty()) return Usage("no command given; 'leeway help' lists them");
  const std::string& first = words[0];
  if (first == "--version") return Print("leeway " LEEWAY_VERSION "\n");
  if (first == "--help" || first == "-h") return Help(commands, {});
  if (first == "help") return Help(commands, Words(words.begin() + 1, words.end()));
  if (first.rfind('-', 0) == 0) {
    return Usage("the command comes first, then its options: " + Quoted(first) +
                 " stands before any command");
  }
  if (words.size() == 2 && (words[1] == "--help" || words[1] == "-h"))
    return Help(commands, {first});
  const Found found = Find(commands, words);
  if (found.command == nullptr) return NoSuchCommand(commands, words);
  return RunCommand(*found.command,
                    Words(words.begin() + static_cast<std::ptrdiff_t>(found.words), words.end()));
}

// No exception leaves the program as anything but an exit code.
Ending Guarded(const Words& words) {
  try {
    return Dispatch(words);
  } catch (const std::bad_alloc&) {
    return {ExitCode::kEnvironment, "out of memory"};
  } catch (const std::exception& error) {
    return {ExitCode::kInternal, std::string("internal error: ") + error.what()};
  }
}

}  // namespace

Commands MakeCommands() {
  Commands commands;
  commands.push_back(MakeLoopCommand());
  commands.push_back(MakeBucketsCommand());
  commands.push_back(MakeSimulateCommand());
  commands.push_back(MakeCompileCommand());
  commands.push_back(MakeScheduleCommand());
  commands.push_back(MakeCostCommand());
  commands.push_back(MakeValidateModelCommand());
  commands.push_back(MakePlanCheckCommand());
  commands.push_back(MakePlanShowCommand());
  commands.push_back(MakePlanDiffCommand());
  commands.push_back(MakePlanConvertCommand());
  return commands;
}

int RunProgram(const Words& words) {
  CatchInterrupts();
  const Ending ending = Guarded(words);
  if (!ending.message.empty()) SayError(ending.message, Ink(Ink::Mode::kPlain));
  return static_cast<int>(ending.code);
}

}  // namespace leeway::cli
