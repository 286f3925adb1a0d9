#include <unistd.h>

#include <cstdint>
#include <limits>
#include <string>

#include "tests/catch.h"
#include "tests/traffic/support/files.h"

namespace leeway::traffic::testing {
namespace {

TEST_CASE("a name that is neither a file nor shipped lists what ships", "[traffic][open]") {
  CHECK(Traffic::Open("no_such_traffic").status().ToString() ==
        "NOT_FOUND: no_such_traffic: no such file, and no traffic of that name ships (chat_14d, "
        "chat_1h)");
}

TEST_CASE("a file hides the shipped traffic of the same name", "[traffic][open]") {
  const TempFolder folder;
  char cwd[4096];
  REQUIRE(::getcwd(cwd, sizeof cwd) != nullptr);
  folder.Write("chat_1h", "t,len\n1,2\n");
  REQUIRE(::chdir(folder.path("").c_str()) == 0);
  const auto traffic = Traffic::Open("chat_1h", {.map = "arrival=t,seq=len"});
  const bool back = ::chdir(cwd) == 0;
  REQUIRE(back);
  REQUIRE(traffic.ok());
}

TEST_CASE("folders, pipes and files without permission are no traffic", "[traffic][open]") {
  const TempFolder folder;
  CHECK(ErrorOf(folder, folder.path(".")) == "UNAVAILABLE: .: Is a directory");
  CHECK(Traffic::Open("/dev/null").status().code() == StatusCode::kInvalidArgument);
  CHECK(Traffic::Open(std::string("a\0b", 3)).status().code() == StatusCode::kNotFound);
}

TEST_CASE("at most a hundred million requests are drawn, from whatever draws", "[traffic][bound]") {
  const TempFolder folder;
  const std::string source =
      GENERATE(true, false)
          ? std::string("chat_1h")
          : folder.Write("h.csv", "window_start_s,seq,count\n0,10,1\n3600,20,1\n");
  CAPTURE(source);
  // Nothing is drawn by opening.
  CHECK(Traffic::Open(source, {.requests = 100'000'000}).ok());
  const std::uint64_t more =
      GENERATE(std::uint64_t{100'000'001}, std::numeric_limits<std::uint64_t>::max());
  const Status refused = Traffic::Open(source, {.requests = more}).status();
  CHECK(refused.code() == StatusCode::kInvalidArgument);
  CHECK(refused.message() ==
        source + ": " + std::to_string(more) + " requests; at most 100000000 can be drawn");
}

TEST_CASE("a format is told by the name, then by the first line", "[traffic][open]") {
  const TempFolder folder;
  const TrafficOptions map{.map = "arrival=t:s,seq=len"};
  const std::string csv = "t,len\n1,2\n";
  const std::string json = "{\"t\":1,\"len\":2}\n";
  for (const char* name : {"a.csv", "a", "a.txt", "a.csv.gz", "b.gz"}) {
    const bool gz = std::string(name).find(".gz") != std::string::npos;
    CHECK(ErrorOf(folder, folder.Write(name, gz ? Gzip(csv) : csv), map) == "OK");
  }
  for (const char* name : {"a.jsonl", "a.ndjson", "a", "a.jsonl.gz"}) {
    const bool gz = std::string(name).find(".gz") != std::string::npos;
    CHECK(ErrorOf(folder, folder.Write(name, gz ? Gzip(json) : json), map) == "OK");
  }
  CHECK(ErrorOf(folder, folder.Write("a.textproto", "name: \"x\"\n")) ==
        "INVALID_ARGUMENT: a.textproto: the text form; convert it to the binary one first");
  CHECK(ErrorOf(folder, folder.Write("a", "hello\n")) ==
        "INVALID_ARGUMENT: a:1: neither CSV, JSON Lines nor a leeway.traffic message; name its "
        "format");
  CHECK(ErrorOf(folder, folder.Write("a", "")) ==
        "INVALID_ARGUMENT: a:1: neither CSV, JSON Lines nor a leeway.traffic message; name its "
        "format");
}

TEST_CASE("an option that does not apply is refused", "[traffic][open]") {
  const TempFolder folder;
  const std::string csv = folder.Write("a.csv", "t,len\n1,2\n");
  CHECK(ErrorOf(folder, csv, {.format = "parquet"}) ==
        "INVALID_ARGUMENT: format \"parquet\" is none of auto, csv, jsonl, leeway, "
        "length-histogram, azure-llm, mooncake");
  CHECK(ErrorOf(folder, csv, {.map = "arrival=t,seq=len", .requests = 5}) ==
        "INVALID_ARGUMENT: a.csv: requests is for what is drawn; a recorded trace takes a limit");
  const std::string histogram = folder.Write("h.csv", "window_start_s,seq,count\n0,5,1\n");
  CHECK(ErrorOf(folder, histogram, {.format = "length-histogram", .map = "arrival=t,seq=len"}) ==
        "INVALID_ARGUMENT: h.csv: a map is for CSV and JSON Lines files");
  CHECK(ErrorOf(folder, histogram, {.requests = 2'000'000'000}) ==
        "INVALID_ARGUMENT: h.csv: 2000000000 requests; at most 100000000 can be drawn");
  CHECK(ErrorOf(folder, "chat_1h", {.format = "csv"}) ==
        "INVALID_ARGUMENT: chat_1h: what ships takes neither a format nor a map");
  CHECK(ErrorOf(folder, "chat_1h", {.requests = 2'000'000'000}) ==
        "INVALID_ARGUMENT: chat_1h: 2000000000 requests; at most 100000000 can be drawn");
}

TEST_CASE("a histogram may be read as a table by its map", "[traffic][open]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(folder.Write("h.csv", "window_start_s,seq,count\n0,5,1\n"),
                                     {.map = "arrival=window_start_s,seq=seq"});
  REQUIRE(traffic.ok());
  CHECK(ReadAll(*traffic).arrivals.size() == 1);
}

}  // namespace
}  // namespace leeway::traffic::testing
