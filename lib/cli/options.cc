#include "cli/options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <functional>

#include "cli/units.h"

namespace leeway::cli {
namespace {

[[noreturn]] void Refuse(const std::string& name, const std::string& value,
                         const std::string& accepted) {
  throw UsageError("option " + name + ": '" + value + "' is not " + accepted);
}

std::string LongName(const std::string& names) {
  const std::size_t comma = names.find("--");
  return comma == std::string::npos ? names : names.substr(comma);
}

template <typename T>
std::optional<T> ParseWhole(const std::string& text) {
  T value{};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string Plain(double bound) {
  char text[64];
  std::snprintf(text, sizeof text, "%.10g", bound);
  return text;
}

template <typename T>
std::string Range(const Bounds<T>& bounds) {
  const bool low = bounds.low != Bounds<T>().low;
  const bool high = bounds.high != Bounds<T>().high;
  if (low && high) return " from " + Plain(bounds.low) + " to " + Plain(bounds.high);
  if (low) return " of at least " + Plain(bounds.low);
  if (high) return " of at most " + Plain(bounds.high);
  return "";
}

using Setter = std::function<void(const std::string&)>;

void AddOption(CLI::App& app, const std::string& name, const std::string& form, const Setter& set,
               const std::string& about) {
  app.add_option_function<std::string>(name, set, about)
      ->type_name(form)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

}  // namespace

void BeginGroup(CLI::App& app, const std::string& title) { app.option_defaults()->group(title); }

void AddFlag(CLI::App& app, const std::string& names, bool* target, const std::string& about) {
  app.add_flag(names, *target, about)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)
      ->disable_flag_override();
}

void AddText(CLI::App& app, const std::string& name, const std::string& form, std::string* target,
             const std::string& about) {
  const std::string shown = LongName(name);
  AddOption(
      app, name, form,
      [target, shown](const std::string& value) {
        if (value.empty()) throw UsageError("option " + shown + " needs a value that is not empty");
        *target = value;
      },
      about);
}

void AddInteger(CLI::App& app, const std::string& name, Bounds<std::int64_t> bounds,
                std::int64_t* target, const std::string& about) {
  AddOption(
      app, name, "N",
      [=](const std::string& value) {
        const std::optional<std::int64_t> number = ParseWhole<std::int64_t>(value);
        if (!number || *number < bounds.low || *number > bounds.high) {
          Refuse(name, value, "a whole number" + Range(bounds));
        }
        *target = *number;
      },
      about);
}

void AddIntegers(CLI::App& app, const std::string& name, std::vector<std::int64_t>* target,
                 const std::string& about) {
  AddOption(
      app, name, "N,N,...",
      [=](const std::string& value) {
        target->clear();
        for (std::size_t start = 0; start <= value.size();) {
          const std::size_t comma = std::min(value.find(',', start), value.size());
          const auto number = ParseWhole<std::int64_t>(value.substr(start, comma - start));
          if (!number) Refuse(name, value, "a list of whole numbers, such as 128,512");
          target->push_back(*number);
          start = comma + 1;
        }
      },
      about);
}

void AddCount(CLI::App& app, const std::string& name, std::uint64_t* target,
              const std::string& about) {
  AddOption(
      app, name, "N",
      [=](const std::string& value) {
        const std::optional<std::uint64_t> number = ParseWhole<std::uint64_t>(value);
        if (!number) Refuse(name, value, "a whole number from 0 to 18446744073709551615");
        *target = *number;
      },
      about);
}

void AddNumber(CLI::App& app, const std::string& name, Bounds<double> bounds, double* target,
               const std::string& about) {
  AddOption(
      app, name, "X",
      [=](const std::string& value) {
        const std::optional<double> number = ParseNumber(value);
        if (!number || *number < bounds.low || *number > bounds.high) {
          Refuse(name, value, "a number" + Range(bounds));
        }
        *target = *number;
      },
      about);
}

void AddDuration(CLI::App& app, const std::string& name, Zero zero, std::optional<Nanos>* target,
                 const std::string& about) {
  AddOption(
      app, name, "TIME",
      [=](const std::string& value) {
        const std::optional<Nanos> duration = ParseDuration(value);
        if (!duration) Refuse(name, value, "a duration: " + std::string(kDurationForm));
        if (zero == Zero::kRefused && duration->count() == 0) {
          Refuse(name, value, "a duration above zero");
        }
        *target = *duration;
      },
      about);
}

namespace {

void AddOneOf(CLI::App& app, const std::string& name, const std::vector<std::string>& choices,
              const std::function<void(const std::string&)>& take, const std::string& about) {
  std::string form;
  std::string listed;
  for (const std::string& choice : choices) {
    form += (form.empty() ? "" : "|") + choice;
    listed += (listed.empty() ? "one of " : ", ") + choice;
  }
  AddOption(
      app, name, form,
      [=](const std::string& value) {
        if (std::find(choices.begin(), choices.end(), value) == choices.end()) {
          Refuse(name, value, listed);
        }
        take(value);
      },
      about);
}

}  // namespace

void AddChoice(CLI::App& app, const std::string& name, const std::vector<std::string>& choices,
               std::string* target, const std::string& about) {
  AddOneOf(
      app, name, choices, [target](const std::string& value) { *target = value; }, about);
}

void AddPolicy(CLI::App& app, Policy* target) {
  std::vector<std::string> names;
  for (const Policy policy : kPolicies) names.emplace_back(PolicyName(policy));
  AddOneOf(
      app, "--policy", names, [target](const std::string& name) { *target = *PolicyNamed(name); },
      "What decides who goes first (default leeway; the others to compare).");
}

void AddDims(CLI::App& app, const std::string& name, Dims* target, const std::string& about) {
  AddOption(
      app, name, "DIM=N,...",
      [=](const std::string& value) {
        target->clear();
        for (std::size_t start = 0; start <= value.size();) {
          const std::size_t comma = std::min(value.find(',', start), value.size());
          const std::string part = value.substr(start, comma - start);
          const std::size_t equals = part.find('=');
          const auto number = equals == std::string::npos
                                  ? std::nullopt
                                  : ParseWhole<std::int64_t>(part.substr(equals + 1));
          if (!number || equals == 0) {
            Refuse(name, value, "a list of dimensions with whole numbers, such as seq=128,batch=1");
          }
          target->push_back({part.substr(0, equals), *number});
          start = comma + 1;
        }
      },
      about);
}

void AddShare(CLI::App& app, const std::string& name, double* target, const std::string& about) {
  AddOption(
      app, name, "SHARE",
      [=](const std::string& value) {
        const bool percent = !value.empty() && value.back() == '%';
        const auto number = ParseNumber(percent ? value.substr(0, value.size() - 1) : value);
        if (!number || *number < 0)
          Refuse(name, value, "a share of at least 0, such as 5% or 0.05");
        *target = percent ? *number / 100 : *number;
      },
      about);
}

void AddArgument(CLI::App& app, const std::string& name, std::string* target,
                 const std::string& about) {
  app.add_option(name, *target, about)->type_name(name);
}

void AddArguments(CLI::App& app, const std::string& name, std::vector<std::string>* target,
                  const std::string& about) {
  app.add_option(name, *target, about)->type_name(name);
}

void CommonOptions::Declare(CLI::App& app, OutputForm form) {
  BeginGroup(app, "Common options");
  AddFlag(app, "--json", &json, "Print one JSON document instead of the screen.");
  if (form == OutputForm::kFile) {
    AddText(app, "-o,--output", "FILE", &output,
            "Write the result to FILE instead of standard output; the file appears whole or not at "
            "all.");
  } else {
    AddText(app, "-o,--output", "DIR", &folder,
            "Folder for the files of the run (default leeway-run); it appears whole or not at all, "
            "and one that exists is left alone without --force.");
  }
  AddCount(app, "--seed", &seed,
           "Seed of everything drawn at random (default 0). Equal seeds give equal results.");
  AddFlag(app, "-q,--quiet", &quiet, "Say nothing on standard error but errors.");
  AddFlag(app, "-v,--verbose", &verbose, "Say more on standard error.");
  AddChoice(app, "--color", {"auto", "always", "never"}, &color,
            "Emphasis on the screen (default auto: on terminals, unless NO_COLOR is set or TERM is "
            "dumb).");
  AddFlag(app, "-h,--help", &help, "Print this help.");
}

void TrafficArguments::Declare(CLI::App& app) {
  BeginGroup(app, "Traffic");
  AddChoice(app, "--format",
            {"auto", "csv", "jsonl", "leeway", "length-histogram", "azure-llm", "mooncake"},
            &options.format,
            "Format of the traffic file (default auto: by its name and first line).");
  AddText(app, "--map", "MAP", &options.map,
          "Which columns are what in CSV and JSON Lines: arrival=TIMESTAMP,seq=Tokens, and if "
          "wanted stream=COLUMN. A unit may follow the arrival's column, as in arrival=t:ms.");
  AddCount(app, "--limit", &options.limit, "Stop after N requests (default 0: no limit).");
  AddCount(app, "--requests", &options.requests,
           "Requests to draw from a length histogram or a generator (default 0: as many as it "
           "declares).");
}

std::pair<std::string, std::string> ParseBinding(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size() ||
      text.find('=', equals + 1) != std::string::npos) {
    Refuse("--bind", text, "of the form DIM=COLUMN, such as seq=max_seq_len_in_batch");
  }
  return {text.substr(equals + 1), text.substr(0, equals)};
}

void AddBindings(CLI::App& app, std::vector<std::pair<std::string, std::string>>* target) {
  app.add_option_function<std::vector<std::string>>(
         "--bind",
         [target](const std::vector<std::string>& bindings) {
           for (const std::string& text : bindings) target->push_back(ParseBinding(text));
         },
         "Tie a dimension of the plan to one of the traffic: seq=max_seq_len_in_batch. May be "
         "given more than once.")
      ->type_name("DIM=COLUMN")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace leeway::cli
