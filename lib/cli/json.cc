#include "cli/json.h"

#include <cmath>
#include <cstdint>

namespace leeway::cli {
namespace {

std::int64_t ToNanos(double seconds) {
  return static_cast<std::int64_t>(std::llround(seconds * 1e9));
}

}  // namespace

Json NewDocument(std::string_view name) {
  Json document;
  document["schema"] = "leeway." + std::string(name) + ".v1";
  document["version"] = LEEWAY_VERSION;
  return document;
}

void SetAbsent(Json& object, const std::string& key, std::string_view reason) {
  object[key] = nullptr;
  object[key + "_reason"] = reason;
}

Json HostFigures(const Stopwatch& watch) {
  Json host;
  host["wall_ns"] = ToNanos(watch.wall_seconds());
  host["cpu_ns"] = ToNanos(watch.cpu_seconds());
  return host;
}

std::string JsonText(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace leeway::cli
