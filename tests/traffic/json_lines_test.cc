#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/traffic/support/files.h"

namespace leeway::traffic::testing {
namespace {

const TrafficOptions kPlain{.format = "jsonl", .map = "arrival=t:ms,seq=len"};

TEST_CASE("JSON Lines give their rows as arrivals", "[traffic][jsonl]") {
  const TempFolder folder;
  const std::string bytes =
      "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1]}\n"
      "\n"
      "{\"timestamp\": 3052, \"input_length\": 12, \"output_length\": 1, \"hash_ids\": []}\r\n";
  const std::string name = GENERATE(as<std::string>(), "m.jsonl", "mooncake");
  const auto traffic = Traffic::Open(folder.Write(name, bytes));
  REQUIRE(traffic.ok());
  CHECK(traffic->dims() == std::vector<std::string>{"seq"});
  const Reading reading = ReadAll(*traffic);
  REQUIRE(reading.status.ok());
  CHECK(Times(reading.arrivals) == std::vector<std::int64_t>{0, 3'052'000'000});
  CHECK(Lengths(reading.arrivals) == std::vector<std::int64_t>{6758, 12});
}

TEST_CASE("members that are not wanted are skipped whatever they hold", "[traffic][jsonl]") {
  const TempFolder folder;
  const std::string bytes =
      R"({"a": {"t": 9, "len": [{"len": 8}]}, "t": 1.5, "x": "\"len\": 7, \u007d\\", )"
      R"("len": 5, "z": null, "y": [true, [], {}]})"
      "\n"
      R"({"\u0074": "2.5", "l\u0065n": "6"})"
      "\n";
  const auto traffic = Traffic::Open(folder.Write("a.jsonl", bytes), kPlain);
  REQUIRE(traffic.ok());
  const Reading reading = ReadAll(*traffic);
  REQUIRE(reading.status.ok());
  CHECK(Times(reading.arrivals) == std::vector<std::int64_t>{0, 1'000'000});
  CHECK(Lengths(reading.arrivals) == std::vector<std::int64_t>{5, 6});
}

TEST_CASE("times keep digits that a double would lose", "[traffic][jsonl]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(folder.Write("a.jsonl",
                                                  "{\"t\": 1700158546.000000001, \"len\": 1}\n"
                                                  "{\"t\": 1700158546.000000002, \"len\": 1}\n"),
                                     {.map = "arrival=t:s,seq=len"});
  REQUIRE(traffic.ok());
  CHECK(Times(ReadAll(*traffic).arrivals) == std::vector<std::int64_t>{0, 1});
}

TEST_CASE("streams may come from a member", "[traffic][jsonl]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(folder.Write("a.jsonl",
                                                  "{\"t\":1,\"len\":1,\"who\":\"\\u00e9\"}\n"
                                                  "{\"who\":7,\"t\":1,\"len\":1}\n"),
                                     {.map = "arrival=t:s,seq=len,stream=who"});
  REQUIRE(traffic.ok());
  CHECK(traffic->streams() == std::vector<std::string>{"é", "7"});
}

TEST_CASE("a JSON line that cannot be read is named by file and line", "[traffic][jsonl]") {
  const std::string good = "{\"t\":1,\"len\":2}\n";
  struct Case {
    std::string line;
    const char* error;
  };
  const Case c = GENERATE_COPY(values<Case>({
      {"{\"t\":1}", "no \"len\""},
      {"{\"t\":null,\"len\":2}", "\"t\" is null"},
      {"{\"t\":true,\"len\":2}", "\"t\" is a boolean"},
      {"{\"t\":[1],\"len\":2}", "\"t\" is an array"},
      {"{\"t\":{},\"len\":2}", "\"t\" is an object"},
      {"{\"t\":1,\"len\":2.5}", "seq \"2.5\" is not an integer of at least 1"},
      {"{\"t\":1,\"len\":-2}", "seq \"-2\" is not an integer of at least 1"},
      {"{\"t\":0.5,\"len\":2}", "arrival \"0.5\" is before the arrival of the row before"},
      {"[1,2]", "not a JSON object"},
      {"17", "not a JSON object"},
      {"{\"t\":1,\"len\":2", "not valid JSON at byte 15"},
      {"{\"t\":1,\"len\":2} {", "not valid JSON at byte 17"},
      {"{\"t\":1,\"len\":02}", "not valid JSON at byte 15"},
      {"{\"t\":1,\"x\":\"\\q\",\"len\":2}", "not valid JSON at byte 14"},
      {"{\"x\":" + std::string(100000, '[') + "}", "nested deeper than 64"},
  }));
  CAPTURE(c.line);
  const TempFolder folder;
  const std::string path = folder.Write("a.jsonl", good + "\n" + c.line + "\n" + good);
  CHECK(ErrorOf(folder, path, kPlain) == std::string("INVALID_ARGUMENT: a.jsonl:3: ") + c.error);
}

TEST_CASE("members missing from the first line are named with those there are",
          "[traffic][jsonl]") {
  const TempFolder folder;
  CHECK(ErrorOf(folder, folder.Write("a.jsonl", "\n{\"time\":1,\"len\":2}\n"), kPlain) ==
        "INVALID_ARGUMENT: a.jsonl:2: no column \"t\"; there are \"time\", \"len\"");
  CHECK(ErrorOf(folder, folder.Write("a.jsonl", "{\"time\":1,\"len\":2}\n")) ==
        "INVALID_ARGUMENT: a.jsonl:1: no map says which columns hold arrival and dims, e.g. "
        "arrival=COLUMN,seq=COLUMN; there are \"time\", \"len\"");
  CHECK(ErrorOf(folder, folder.Write("a.jsonl", "")) ==
        "INVALID_ARGUMENT: a.jsonl:1: the file holds no line");
}

}  // namespace
}  // namespace leeway::traffic::testing
