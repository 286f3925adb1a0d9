// --stream NAME:KEY=VALUE,…: how one stream is served otherwise than the traffic and the other
// options say.

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include "cli/options.h"
#include "cli/units.h"

namespace leeway::cli {
namespace {

// Reads a value into the stream; false if it is none.
using StreamKey = std::function<bool(const std::string& value, StreamOptions& stream)>;

std::optional<int> LevelWithin(const std::string& text, int low, int high) {
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number >= low && number <= high ? std::optional(number) : std::nullopt;
}

std::optional<bool> Truth(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<TimeoutAction> Action(const std::string& text) {
  if (text == "reject") return TimeoutAction::kReject;
  if (text == "delay") return TimeoutAction::kDelay;
  return std::nullopt;
}

template <typename T>
bool Put(std::optional<T> value, std::optional<T>& target) {
  if (value) target = value;
  return value.has_value();
}

struct NamedKey {
  const char* name;
  const char* form;
  StreamKey read;
};

const std::vector<NamedKey>& StreamKeys() {
  static const auto* const kKeys = new std::vector<NamedKey>{
      {"priority", "from 1 to 63",
       [](const std::string& value, StreamOptions& stream) {
         const auto level = LevelWithin(value, Priority::kMostUrgent, Priority::kLeastUrgent);
         if (level) stream.priority = Priority(*level);
         return level.has_value();
       }},
      {"weight", "from 1 to 1000000",
       [](const std::string& value, StreamOptions& stream) {
         const auto weight = LevelWithin(value, 1, StreamOptions::kMaxWeight);
         if (weight) stream.weight = *weight;
         return weight.has_value();
       }},
      {"preserve_ordering", "true or false",
       [](const std::string& value, StreamOptions& stream) {
         return Put(Truth(value), stream.preserve_ordering);
       }},
      {"max_queue_size", "from 0, no bound, to 1073741824",
       [](const std::string& value, StreamOptions& stream) {
         return Put(LevelWithin(value, 0, 1 << 30), stream.max_queue_size);
       }},
      {"default_timeout", "a time such as 1s",
       [](const std::string& value, StreamOptions& stream) {
         return Put(ParseDuration(value), stream.default_timeout);
       }},
      {"timeout_action", "reject or delay",
       [](const std::string& value, StreamOptions& stream) {
         return Put(Action(value), stream.timeout_action);
       }},
      {"allow_timeout_override", "true or false",
       [](const std::string& value, StreamOptions& stream) {
         return Put(Truth(value), stream.allow_timeout_override);
       }},
  };
  return *kKeys;
}

[[noreturn]] void RefuseStream(const std::string& text, const std::string& why) {
  std::string form = "of the form NAME:KEY=VALUE,KEY=VALUE with ";
  for (const NamedKey& key : StreamKeys()) {
    form +=
        std::string(&key == &StreamKeys().front() ? "" : ", ") + key.name + " (" + key.form + ")";
  }
  throw UsageError("option --stream: '" + text + "' is not " + form + why);
}

StreamOptions ParseStream(const std::string& text) {
  // Names may hold colons; what is asked of the stream has none.
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) RefuseStream(text, "");
  StreamOptions stream;
  stream.name = text.substr(0, colon);
  std::set<std::string> given;
  for (std::size_t start = colon + 1; start <= text.size();) {
    const std::size_t comma = std::min(text.find(',', start), text.size());
    const std::string part = text.substr(start, comma - start);
    start = comma + 1;
    const std::size_t equals = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, equals);
    const auto key = std::find_if(StreamKeys().begin(), StreamKeys().end(),
                                  [&](const NamedKey& k) { return k.name == name; });
    const std::string value = equals < part.size() ? part.substr(equals + 1) : "";
    if (key == StreamKeys().end() || !key->read(value, stream)) RefuseStream(text, "");
    if (!given.insert(name).second) RefuseStream(text, "; " + name + " is given twice");
  }
  return stream;
}

}  // namespace

void AddStreams(CLI::App& app, std::vector<StreamOptions>* target) {
  app.add_option_function<std::vector<std::string>>(
         "--stream",
         [target](const std::vector<std::string>& streams) {
           target->clear();
           for (const std::string& text : streams) {
             StreamOptions stream = ParseStream(text);
             for (const StreamOptions& other : *target) {
               if (other.name != stream.name) continue;
               throw UsageError("option --stream: stream '" + stream.name + "' is given twice");
             }
             target->push_back(std::move(stream));
           }
         },
         "Serve a stream of the traffic otherwise than it and the other options say: "
         "batch:priority=4,weight=10,preserve_ordering=true. The weight is its share under "
         "--policy wfq (default 1024 for priority 1, half for each level below); the other keys "
         "are max_queue_size, default_timeout, timeout_action and allow_timeout_override. May be "
         "given once for each stream.")
      ->type_name("NAME:KEY=VALUE,…")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

}  // namespace leeway::cli
