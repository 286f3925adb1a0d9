#include "traffic/open.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/status_macros.h"
#include "traffic/byte_source.h"
#include "traffic/column_map.h"
#include "traffic/draw.h"
#include "traffic/generated_body.h"
#include "traffic/histogram_body.h"
#include "traffic/histogram_rows.h"
#include "traffic/line_reader.h"
#include "traffic/quoted.h"
#include "traffic/recorded_body.h"
#include "traffic/selection.h"
#include "traffic/table_body.h"
#include "traffic/traffic_proto.h"

namespace leeway::traffic {
namespace {

constexpr std::size_t kMaxMessageBytes = std::size_t{256} << 20;

enum class Format { kCsv, kJsonLines, kLeeway, kHistogram };

// How to read a file: the format, and the map that comes with it.
struct Reading {
  Format format = Format::kCsv;
  std::string map;
};

bool EndsIn(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

bool Contains(const std::vector<std::string>& columns, const char* column) {
  return std::find(columns.begin(), columns.end(), column) != columns.end();
}

std::optional<Reading> NamedFormat(std::string_view format) {
  if (format == "csv") return Reading{Format::kCsv, ""};
  if (format == "jsonl") return Reading{Format::kJsonLines, ""};
  if (format == "leeway") return Reading{Format::kLeeway, ""};
  if (format == "length-histogram") return Reading{Format::kHistogram, ""};
  if (format == "azure-llm") return Reading{Format::kCsv, std::string(kAzureLlmMap)};
  if (format == "mooncake") return Reading{Format::kJsonLines, std::string(kMooncakeMap)};
  return std::nullopt;
}

// What the name says, else what the first line looks like.
Result<Format> GuessFormat(const std::string& path) {
  const std::string plain = EndsInGz(path) ? path.substr(0, path.size() - 3) : path;
  if (EndsIn(plain, ".csv")) return Format::kCsv;
  if (EndsIn(plain, ".jsonl") || EndsIn(plain, ".ndjson")) return Format::kJsonLines;
  if (EndsIn(plain, ".pb") || EndsIn(plain, ".binpb")) return Format::kLeeway;
  if (EndsIn(plain, ".textproto")) {
    return base::InvalidArgument(path + ": the text form; convert it to the binary one first");
  }
  LEEWAY_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open(path));
  char block[4096];
  LEEWAY_ASSIGN_OR_RETURN(const std::size_t size, source.Read(block, sizeof block));
  const std::string_view start(block, size);
  const std::string_view line = start.substr(0, start.find('\n'));
  if (!line.empty() && line.front() == '{') return Format::kJsonLines;
  const auto is_control = [](char c) { return c >= 0 && c < ' ' && c != '\t' && c != '\r'; };
  if (std::any_of(line.begin(), line.end(), is_control)) return Format::kLeeway;
  if (line.find(',') != std::string_view::npos) return Format::kCsv;
  return base::InvalidArgument(path +
                               ":1: neither CSV, JSON Lines nor a leeway.traffic message; name "
                               "its format");
}

// Picks a map for a table by its columns, and tells a length histogram from other CSV files.
Status GuessMap(const std::string& path, Reading& reading) {
  const bool csv = reading.format == Format::kCsv;
  LEEWAY_ASSIGN_OR_RETURN(const std::vector<std::string> columns,
                          ColumnsOf(path, csv ? TableFormat::kCsv : TableFormat::kJsonLines));
  if (csv && HistogramRows::Matches(columns)) {
    reading.format = Format::kHistogram;
  } else if (csv && Contains(columns, "TIMESTAMP") && Contains(columns, "ContextTokens")) {
    reading.map = kAzureLlmMap;
  } else if (!csv && Contains(columns, "timestamp") && Contains(columns, "input_length")) {
    reading.map = kMooncakeMap;
  }
  return Status();
}

Result<Reading> ChooseReading(const std::string& path, const TrafficOptions& options) {
  Reading reading;
  if (options.format == "auto" || options.format.empty()) {
    LEEWAY_ASSIGN_OR_RETURN(reading.format, GuessFormat(path));
    const bool table = reading.format == Format::kCsv || reading.format == Format::kJsonLines;
    if (table && options.map.empty()) LEEWAY_RETURN_IF_ERROR(GuessMap(path, reading));
  } else if (const auto named = NamedFormat(options.format)) {
    reading = *named;
  } else {
    return base::InvalidArgument("format " + Quoted(options.format) +
                                 " is none of auto, csv, jsonl, leeway, length-histogram, "
                                 "azure-llm, mooncake");
  }
  if (options.map.empty()) return reading;
  if (reading.format == Format::kLeeway || reading.format == Format::kHistogram) {
    return base::InvalidArgument(path + ": a map is for CSV and JSON Lines files");
  }
  reading.map = options.map;
  return reading;
}

Status NoMap(const std::string& path, TableFormat format) {
  LEEWAY_ASSIGN_OR_RETURN(const std::vector<std::string> columns, ColumnsOf(path, format));
  return base::InvalidArgument(path + ":1: no map says which columns hold arrival and dims, e.g. " +
                               "arrival=COLUMN,seq=COLUMN; there are " + QuotedList(columns));
}

Status NothingToDraw(const std::string& name) {
  return base::InvalidArgument(name +
                               ": requests is for what is drawn; a recorded trace takes a limit");
}

Result<std::shared_ptr<const Body>> OpenFile(const std::string& path,
                                             const TrafficOptions& options) {
  LEEWAY_ASSIGN_OR_RETURN(const Reading reading, ChooseReading(path, options));
  if (reading.format == Format::kHistogram) return OpenHistogram(path, options.requests);
  if (reading.format == Format::kLeeway) {
    LEEWAY_ASSIGN_OR_RETURN(const std::string bytes, ReadWhole(path, kMaxMessageBytes));
    return ParseBody(bytes, path, options.requests);
  }
  const auto format = reading.format == Format::kCsv ? TableFormat::kCsv : TableFormat::kJsonLines;
  if (options.requests != 0) return NothingToDraw(path);
  if (reading.map.empty()) return NoMap(path, format);
  LEEWAY_ASSIGN_OR_RETURN(const ColumnMap map, ParseColumnMap(reading.map));
  return OpenTable(path, format, map);
}

Status NoSuchTraffic(const std::string& name) {
  std::string shipped;
  for (const base::ShippedFile& file : base::ListShipped(base::ShippedKind::kTraffic)) {
    shipped += (shipped.empty() ? "" : ", ") + std::string(file.name);
  }
  return base::NotFound(name + ": no such file, and no traffic of that name ships (" +
                        (shipped.empty() ? "none does" : shipped) + ")");
}

Result<std::shared_ptr<const Body>> OpenShipped(const std::string& name,
                                                const TrafficOptions& options) {
  const auto shipped = base::FindShipped(base::ShippedKind::kTraffic, name);
  if (!shipped) return NoSuchTraffic(name);
  const bool leeway =
      options.format.empty() || options.format == "auto" || options.format == "leeway";
  if (!leeway || !options.map.empty()) {
    return base::InvalidArgument(name + ": what ships takes neither a format nor a map");
  }
  return ParseBody(shipped->bytes, name, options.requests);
}

}  // namespace

Result<std::shared_ptr<const Body>> ParseBody(std::string_view bytes, const std::string& name,
                                              std::uint64_t requests) {
  LEEWAY_ASSIGN_OR_RETURN(TrafficMessage message, ParseTrafficMessage(bytes, name));
  const base::Digest content = base::DigestOf(bytes);
  if (auto* recorded = std::get_if<RecordedArrivals>(&message.arrivals)) {
    if (requests != 0) return NothingToDraw(name);
    return MakeRecorded(BaseName(name), content, std::move(message.streams), std::move(*recorded));
  }
  if (requests > kMaxRequests) {
    return base::InvalidArgument(name + ": " + std::to_string(requests) + " requests; at most " +
                                 std::to_string(kMaxRequests) + " can be drawn");
  }
  return MakeGenerated(BaseName(name), content, std::move(message.streams),
                       std::get<GeneratedTraffic>(std::move(message.arrivals)), requests);
}

Result<std::shared_ptr<const Body>> Open(const std::string& path_or_name,
                                         const TrafficOptions& options) {
  const Result<ByteSource> file = ByteSource::Open(path_or_name);
  const bool missing = !file.ok() && file.status().code() == StatusCode::kNotFound;
  if (!file.ok() && !missing) return file.status();
  LEEWAY_ASSIGN_OR_RETURN(
      auto body, missing ? OpenShipped(path_or_name, options) : OpenFile(path_or_name, options));
  return options.limit == 0 ? body : Limit(std::move(body), options.limit);
}

}  // namespace leeway::traffic
