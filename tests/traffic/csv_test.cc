#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/traffic/support/files.h"

namespace leeway::traffic::testing {
namespace {

const TrafficOptions kPlain{.format = "csv", .map = "arrival=t:ms,seq=len"};

TEST_CASE("a CSV file gives its rows as arrivals since the first", "[traffic][csv]") {
  const TempFolder folder;
  const auto traffic =
      Traffic::Open(folder.Write("a.csv", "t,len,x\n100,5,a\n100,7,b\n250.5,1,c\n"),
                    {.map = "arrival=t:ms,seq=len"});
  REQUIRE(traffic.ok());
  CHECK(traffic->name() == "a.csv");
  CHECK(traffic->dims() == std::vector<std::string>{"seq"});
  CHECK(traffic->streams() == std::vector<std::string>{"default"});
  const Reading reading = ReadAll(*traffic);
  REQUIRE(reading.status.ok());
  CHECK(Times(reading.arrivals) == std::vector<std::int64_t>{0, 0, 150'500'000});
  CHECK(Lengths(reading.arrivals) == std::vector<std::int64_t>{5, 7, 1});
}

TEST_CASE("line ends, byte order mark, empty lines and a missing last line end do not matter",
          "[traffic][csv]") {
  const TempFolder folder;
  const std::string bytes = GENERATE(
      as<std::string>(), "t,len\n1,5\n2,6\n", "t,len\r\n1,5\r\n2,6\r\n", "t,len\n1,5\n2,6",
      "\xEF\xBB\xBFt,len\n1,5\n2,6\n", "\n\nt,len\r\n\r\n1,5\n\n\n2,6\n\n", "t,len\n1,5\n2,6\r");
  const auto traffic = Traffic::Open(folder.Write("a.csv", bytes), kPlain);
  REQUIRE(traffic.ok());
  const Reading reading = ReadAll(*traffic);
  REQUIRE(reading.status.ok());
  CHECK(Times(reading.arrivals) == std::vector<std::int64_t>{0, 1'000'000});
  CHECK(Lengths(reading.arrivals) == std::vector<std::int64_t>{5, 6});
}

TEST_CASE("quoted fields hold commas, line ends and quotes", "[traffic][csv]") {
  const TempFolder folder;
  const std::string bytes =
      "\"the \"\"time\"\"\",\"a,b\",len\n"
      "\"1\",\"x,\n\r\ny\"\"\",\"5\"\n"
      "2,\"\",6\n";
  const auto traffic = Traffic::Open(folder.Write("a.csv", bytes),
                                     {.format = "csv", .map = "arrival=the \"time\":s,seq=len"});
  REQUIRE(traffic.ok());
  const Reading reading = ReadAll(*traffic);
  REQUIRE(reading.status.ok());
  CHECK(Times(reading.arrivals) == std::vector<std::int64_t>{0, 1'000'000'000});
  CHECK(Lengths(reading.arrivals) == std::vector<std::int64_t>{5, 6});
}

TEST_CASE("streams are numbered in the order in which they appear", "[traffic][csv]") {
  const TempFolder folder;
  const auto traffic =
      Traffic::Open(folder.Write("a.csv", "t,len,who\n1,5,zoe\n2,6,\"a,b\"\n3,7,zoe\n4,8,bob\n"),
                    {.map = "arrival=t,seq=len,stream=who"});
  REQUIRE(traffic.ok());
  CHECK(traffic->streams() == std::vector<std::string>{"zoe", "a,b", "bob"});
  const Reading reading = ReadAll(*traffic);
  REQUIRE(reading.arrivals.size() == 4);
  CHECK(reading.arrivals[1].stream == 1);
  CHECK(reading.arrivals[2].stream == 0);
  CHECK(reading.arrivals[3].stream == 2);
}

TEST_CASE("several dims come in the order of the map", "[traffic][csv]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(folder.Write("a.csv", "b,t,len\n3,1,5\n"),
                                     {.map = "seq=len,arrival=t,batch=b,again=len"});
  REQUIRE(traffic.ok());
  CHECK(traffic->dims() == std::vector<std::string>{"seq", "batch", "again"});
  const Reading reading = ReadAll(*traffic);
  REQUIRE(reading.arrivals.size() == 1);
  CHECK(reading.arrivals[0].dims[0] == 5);
  CHECK(reading.arrivals[0].dims[1] == 3);
  CHECK(reading.arrivals[0].dims[2] == 5);
}

TEST_CASE("the columns of the Azure trace are found without a map", "[traffic][csv]") {
  const TempFolder folder;
  const std::string bytes =
      "TIMESTAMP,ContextTokens,GeneratedTokens\r\n"
      "2023-11-16 18:15:46.6805900,374,44\r\n"
      "2023-11-16 18:15:50.9951690,396,109\r\n";
  const std::string format = GENERATE(as<std::string>(), "auto", "azure-llm");
  const auto traffic = Traffic::Open(folder.Write("azure", bytes), {.format = format});
  REQUIRE(traffic.ok());
  const Reading reading = ReadAll(*traffic);
  CHECK(Times(reading.arrivals) == std::vector<std::int64_t>{0, 4'314'579'000});
  CHECK(Lengths(reading.arrivals) == std::vector<std::int64_t>{374, 396});
}

TEST_CASE("a header without rows is traffic without arrivals", "[traffic][csv]") {
  const TempFolder folder;
  const auto traffic = Traffic::Open(folder.Write("a.csv", "t,len\n"), kPlain);
  REQUIRE(traffic.ok());
  const Reading reading = ReadAll(*traffic);
  CHECK(reading.status.ok());
  CHECK(reading.arrivals.empty());
  CHECK(ReadWindows(*traffic, 1s).windows.empty());
}

TEST_CASE("a row that cannot be read is named by file and line", "[traffic][csv]") {
  struct Case {
    const char* bytes;
    const char* error;
  };
  const Case c = GENERATE(values<Case>({
      {"", "a.csv:1: no header: the file holds no line"},
      {"t,length\n1,2\n", "a.csv:1: no column \"len\"; there are \"t\", \"length\""},
      {"\n\nt,length\n", "a.csv:3: no column \"len\"; there are \"t\", \"length\""},
      {"t,len,t\n1,2,3\n", "a.csv:1: two columns are named \"t\""},
      {"t,len\n1,2\n2\n", "a.csv:3: 1 field where the header has 2"},
      {"t,len\n1,2,3\n", "a.csv:2: 3 fields where the header has 2"},
      {"t,len\n1,0\n", "a.csv:2: seq \"0\" is not an integer of at least 1"},
      {"t,len\n1,-4\n", "a.csv:2: seq \"-4\" is not an integer of at least 1"},
      {"t,len\n1,5.5\n", "a.csv:2: seq \"5.5\" is not an integer of at least 1"},
      {"t,len\n1,\n", "a.csv:2: seq \"\" is not an integer of at least 1"},
      {"t,len\n1,99999999999999999999\n",
       "a.csv:2: seq \"99999999999999999999\" is not an integer of at least 1"},
      {"t,len\n1,2\n\n0.5,2\n", "a.csv:4: arrival \"0.5\" is before the arrival of the row before"},
      {"t,len\n-1,2\n", "a.csv:2: arrival \"-1\" is negative"},
      {"t,len\nnoon,2\n", "a.csv:2: arrival \"noon\" is not a number of ms below 2^63 ns"},
      {"t,len\n1e99,2\n", "a.csv:2: arrival \"1e99\" is not a number of ms below 2^63 ns"},
      {"t,len\n2023-11-16 18:15:46,2\n",
       "a.csv:2: arrival \"2023-11-16 18:15:46\" is not a number of ms below 2^63 ns"},
      {"t,len\n1,\"2\n", "a.csv:2: a quoted field without an end"},
      {"t,len\n1,\"2\"x\n", "a.csv:2: text after a closing quote"},
      {"t,len\n1,2\"2\n", "a.csv:2: a quote inside a field that does not begin with one"},
      {"t,len\n\"1\",\"2\n\n\"\n0,0\n", "a.csv:2: seq \"2\n\n\" is not an integer of at least 1"},
  }));
  CAPTURE(c.bytes);
  const TempFolder folder;
  CHECK(ErrorOf(folder, folder.Write("a.csv", c.bytes), kPlain) ==
        std::string("INVALID_ARGUMENT: ") + c.error);
}

TEST_CASE("arrivals without a unit are all dates or all seconds", "[traffic][csv]") {
  struct Case {
    const char* bytes;
    const char* error;
  };
  const Case c = GENERATE(values<Case>({
      {"t,len\nsoon,2\n",
       "a.csv:2: arrival \"soon\" is neither a number of seconds nor a date and time"},
      {"t,len\n2023-11-16 18:15:46,2\n7,2\n", "a.csv:3: arrival \"7\" is not a date and time"},
      {"t,len\n7,2\n2023-11-16 18:15:46,2\n",
       "a.csv:3: arrival \"2023-11-16 18:15:46\" is not a number of s below 2^63 ns"},
      {"t,len\n2023-11-16 18:15:46,2\n2023-11-16 18:15:45.9,2\n",
       "a.csv:3: arrival \"2023-11-16 18:15:45.9\" is before the arrival of the row before"},
      {"t,len\n1700-01-01 00:00:00,2\n2200-01-01 00:00:00,2\n",
       "a.csv:3: arrival \"2200-01-01 00:00:00\" is more than 292 years after the first"},
  }));
  const TempFolder folder;
  CHECK(ErrorOf(folder, folder.Write("a.csv", c.bytes), {.map = "arrival=t,seq=len"}) ==
        std::string("INVALID_ARGUMENT: ") + c.error);
}

TEST_CASE("a line longer than 1 MiB is refused, one of 1 MiB is read", "[traffic][csv]") {
  const TempFolder folder;
  const std::string mebibyte(std::size_t{1} << 20, 'x');
  const std::string fits = "t,len,x\n1,2,a\n2,3," + mebibyte.substr(4) + "\n3,4,a\n";
  CHECK(ErrorOf(folder, folder.Write("a.csv", fits), kPlain) == "OK");
  const std::string refused = "INVALID_ARGUMENT: a.csv:3: a line longer than 1 MiB";
  const std::string longer = "t,len,x\n1,2,a\n2,3," + mebibyte + "\n3,4,a\n";
  CHECK(ErrorOf(folder, folder.Write("a.csv", longer), kPlain) == refused);
  CHECK(ErrorOf(folder, folder.Write("a.csv.gz", Gzip(longer)), kPlain) ==
        "INVALID_ARGUMENT: a.csv.gz:3: a line longer than 1 MiB");
  const std::string no_end = "t,len,x\n1,2,a\n2,3," + mebibyte;
  CHECK(ErrorOf(folder, folder.Write("a.csv", no_end), kPlain) == refused);
  std::string record = "t,len,x\n1,2,\"";
  for (int i = 0; i < 2000; ++i) record += std::string(1000, 'y') + "\n";
  CHECK(ErrorOf(folder, folder.Write("a.csv", record), kPlain) ==
        "INVALID_ARGUMENT: a.csv:2: a record longer than 1 MiB");
}

TEST_CASE("more than 1,024 streams and streams without a name are refused", "[traffic][csv]") {
  const TempFolder folder;
  const TrafficOptions options{.map = "arrival=t,seq=len,stream=who"};
  std::string bytes = "t,len,who\n";
  for (int i = 0; i < 1024; ++i) bytes += "1,2,s" + std::to_string(i) + "\n";
  CHECK(ErrorOf(folder, folder.Write("a.csv", bytes), options) == "OK");
  CHECK(ErrorOf(folder, folder.Write("a.csv", bytes + "1,2,one more\n"), options) ==
        "INVALID_ARGUMENT: a.csv:1026: more than 1024 streams");
  CHECK(ErrorOf(folder, folder.Write("a.csv", "t,len,who\n1,2,\n"), options) ==
        "INVALID_ARGUMENT: a.csv:2: an empty stream name");
}

TEST_CASE("a map that does not fit says which part", "[traffic][csv]") {
  const TempFolder folder;
  const std::string path = folder.Write("a.csv", "t,len\n1,2\n");
  const auto error = [&](const char* map) {
    return ErrorOf(folder, path, {.format = "csv", .map = map});
  };
  CHECK(error("seq=len") == "INVALID_ARGUMENT: map \"seq=len\": no arrival=COLUMN");
  CHECK(error("arrival=t") == "INVALID_ARGUMENT: map \"arrival=t\": no dim, e.g. seq=COLUMN");
  CHECK(error("arrival=t,len") == "INVALID_ARGUMENT: map \"arrival=t,len\": \"len\" has no '='");
  CHECK(error("arrival=t,seq=") ==
        "INVALID_ARGUMENT: map \"arrival=t,seq=\": \"seq=\" is not KEY=COLUMN");
  CHECK(error("arrival=t,seq=len,seq=t") ==
        "INVALID_ARGUMENT: map \"arrival=t,seq=len,seq=t\": \"seq\" is given twice");
  CHECK(error("arrival=t,a=t,b=t,c=t,d=t,e=t,f=t,g=t,h=t,i=t").find("9 dims; at most 8") !=
        std::string::npos);
  CHECK(error("arrival=t:min,seq=len") ==
        "INVALID_ARGUMENT: a.csv:1: no column \"t:min\"; there are \"t\", \"len\"");
  CHECK(error("") ==
        "INVALID_ARGUMENT: a.csv:1: no map says which columns hold arrival and dims, e.g. "
        "arrival=COLUMN,seq=COLUMN; there are \"t\", \"len\"");
}

}  // namespace
}  // namespace leeway::traffic::testing
