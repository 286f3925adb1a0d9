// Bad files once found, or made to be found: each must end in a clear error, however it is read.

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/traffic/support/files.h"

namespace leeway::traffic::testing {
namespace {

std::vector<std::string> BadFiles() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(LEEWAY_SOURCE_DIR "/plans/regress/traffic")) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST_CASE("a bad file ends in an error that names it", "[traffic][regress]") {
  const std::vector<std::string> paths = BadFiles();
  REQUIRE(paths.size() >= 20);
  for (const std::string& path : paths) {
    CAPTURE(path);
    const auto opened = Traffic::Open(path);
    const Status status = opened.ok() ? ReadAll(*opened).status : opened.status();
    CHECK_FALSE(status.ok());
    CHECK((status.code() == StatusCode::kInvalidArgument ||
           status.code() == StatusCode::kDataLoss || status.code() == StatusCode::kUnimplemented));
    CHECK(status.message().substr(0, path.size()) == path);
  }
}

TEST_CASE("a bad file is survived in every format", "[traffic][regress]") {
  const char* const formats[] = {"auto",      "csv",     "jsonl", "leeway", "length-histogram",
                                 "azure-llm", "mooncake"};
  for (const std::string& path : BadFiles()) {
    for (const char* format : formats) {
      CAPTURE(path, format);
      const auto opened = Traffic::Open(path, {.format = format, .limit = 1000});
      if (!opened.ok()) continue;
      const Reading reading = ReadAll(*opened);
      CHECK(reading.arrivals.size() <= 1000);
    }
  }
}

}  // namespace
}  // namespace leeway::traffic::testing
