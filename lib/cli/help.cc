#include "cli/help.h"

#include <algorithm>
#include <numeric>

#include "cli/units.h"

namespace leeway::cli {
namespace {

constexpr std::size_t kColumn = 28;

constexpr std::string_view kExitCodes =
    "Exit codes\n"
    "  0    done\n"
    "  1    the check said no\n"
    "  2    the command line is wrong\n"
    "  3    bad input: the message names the file and the field or line\n"
    "  4    a file is missing, or cannot be read or written\n"
    "  70   internal error\n"
    "  130  interrupted\n";

std::string Entry(const std::string& left, std::string_view right) {
  std::string line = "  " + left;
  const std::size_t width = DisplayWidth(line);
  line +=
      width + 2 > kColumn ? "\n" + std::string(kColumn, ' ') : std::string(kColumn - width, ' ');
  return line + Wrapped(right, kColumn) + "\n";
}

// "-o, --output FILE"
std::string Spelled(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  std::string names;
  for (const std::string& name : option.get_snames()) names += "-" + name + ", ";
  for (const std::string& name : option.get_lnames()) names += "--" + name;
  const bool has_value = option.get_items_expected_max() > 0;
  return has_value ? names + " " + option.get_type_name() : names;
}

std::string Section(const std::string& title, const std::vector<const CLI::Option*>& options) {
  std::string text;
  for (const CLI::Option* option : options) {
    text += Entry(Spelled(*option), option->get_description());
  }
  return text.empty() ? "" : title + "\n" + text + "\n";
}

std::vector<const CLI::Option*> Arguments(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<const CLI::Option*> OptionsOf(const CLI::App& app, const std::string& group) {
  return app.get_options([&group](const CLI::Option* option) {
    return !option->get_positional() && option->get_group() == group;
  });
}

// Titles of the groups of options, in order of declaration.
std::vector<std::string> Groups(const CLI::App& app) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : app.get_options()) {
    const std::string& group = option->get_group();
    const bool listed = std::find(groups.begin(), groups.end(), group) != groups.end();
    if (!option->get_positional() && !listed) groups.push_back(group);
  }
  return groups;
}

std::string Usage(const Command& command, const CLI::App& app) {
  std::string line = "Usage: leeway " + std::string(command.name());
  for (const CLI::Option* option : Arguments(app)) line += " " + option->get_name(true);
  return line + " [OPTIONS]\n\n";
}

std::size_t Distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string ProgramHelp(const Commands& commands) {
  std::string text =
      "Leeway schedules compiled models on accelerators, and measures what a plan's shapes cost on "
      "real traffic.\n\nUsage: leeway COMMAND [ARGUMENTS] [OPTIONS]\n\nCommands\n";
  text.replace(0, text.find('\n'), Wrapped(text.substr(0, text.find('\n')), 0));
  for (const auto& command : commands) {
    text += Entry(std::string(command->name()), command->summary());
  }
  text += Entry("help [COMMAND]", "print this page, or a command's own");
  text += "\n";
  text += Entry("-h, --help", "Print this page.");
  text += Entry("--version", "Print the version.");
  return text + "\n" + std::string(kExitCodes);
}

std::string CommandHelp(const Command& command, const CLI::App& app) {
  std::string text = Usage(command, app);
  for (const std::string_view paragraph : command.about()) {
    text += Wrapped(paragraph, 0) + "\n\n";
  }
  text += Section("Arguments", Arguments(app));
  for (const std::string& group : Groups(app)) text += Section(group, OptionsOf(app, group));
  text += "Examples\n";
  for (const std::string_view example : command.examples()) {
    text += "  " + std::string(example) + "\n";
  }
  return text;
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t least = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = Distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

}  // namespace leeway::cli
