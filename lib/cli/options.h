// Declares options on CLI11's tree, with messages that name the option, the value and what is
// accepted.

#ifndef LEEWAY_CLI_OPTIONS_H_
#define LEEWAY_CLI_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "leeway/policy.h"
#include "leeway/simulate.h"
#include "leeway/time.h"
#include "leeway/traffic.h"
#include "leeway/types.h"

namespace leeway::cli {

// What the command line asked cannot be meant. Thrown only out of CLI11's callbacks, which know no
// other way, and caught where the command line is parsed.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
struct Bounds {
  T low = std::numeric_limits<T>::lowest();
  T high = std::numeric_limits<T>::max();
};

// Options declared from here on are listed under this title.
void BeginGroup(CLI::App& app, const std::string& title);

// Options below belong to `app` until it ends; the target must outlive it. An option given twice
// takes the last value.
void AddFlag(CLI::App& app, const std::string& names, bool* target, const std::string& about);
void AddText(CLI::App& app, const std::string& name, const std::string& form, std::string* target,
             const std::string& about);
void AddInteger(CLI::App& app, const std::string& name, Bounds<std::int64_t> bounds,
                std::int64_t* target, const std::string& about);
// Whole numbers with commas between them: "128,512".
void AddIntegers(CLI::App& app, const std::string& name, std::vector<std::int64_t>* target,
                 const std::string& about);
void AddCount(CLI::App& app, const std::string& name, std::uint64_t* target,
              const std::string& about);
void AddNumber(CLI::App& app, const std::string& name, Bounds<double> bounds, double* target,
               const std::string& about);
enum class Zero { kAllowed, kRefused };
void AddDuration(CLI::App& app, const std::string& name, Zero zero, std::optional<Nanos>* target,
                 const std::string& about);
void AddChoice(CLI::App& app, const std::string& name, const std::vector<std::string>& choices,
               std::string* target, const std::string& about);

// "seq=128,batch=1"
void AddDims(CLI::App& app, const std::string& name, Dims* target, const std::string& about);
// A share as "5%" or "0.05", at least 0.
void AddShare(CLI::App& app, const std::string& name, double* target, const std::string& about);

// What the command takes besides options.
void AddArgument(CLI::App& app, const std::string& name, std::string* target,
                 const std::string& about);
// One or more.
void AddArguments(CLI::App& app, const std::string& name, std::vector<std::string>* target,
                  const std::string& about);

// What -o names.
enum class OutputForm { kFile, kFolder };

struct CommonOptions {
  bool json = false;
  bool quiet = false;
  bool verbose = false;
  bool help = false;
  std::uint64_t seed = 0;
  // The result's file; standard output if empty.
  std::string output;
  // Where a command leaves the files of a run.
  std::string folder = "leeway-run";
  std::string color = "auto";

  void Declare(CLI::App& app, OutputForm form);
};

// Which arrivals a command reads, and how.
struct TrafficArguments {
  std::string path;
  TrafficOptions options;

  void Declare(CLI::App& app);
};

// "seq=length" as {"length", "seq"}: the plan's dim comes first on the command line, the traffic's
// first in the library.
std::pair<std::string, std::string> ParseBinding(const std::string& text);
// --bind, which may be given more than once and keeps all.
void AddBindings(CLI::App& app, std::vector<std::pair<std::string, std::string>>* target);

// --policy.
void AddPolicy(CLI::App& app, Policy* target);

// --stream, which may be given once for each stream (stream_option.cc).
void AddStreams(CLI::App& app, std::vector<StreamOptions>* target);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_OPTIONS_H_
