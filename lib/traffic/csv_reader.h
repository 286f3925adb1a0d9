// Records of a CSV file with a header, by RFC 4180: fields in double quotes may hold commas, line
// ends and doubled quotes. LF or CR LF, a byte order mark and empty lines are accepted.
//
// Memory: as LineReader; no allocation for a record without quotes.

#ifndef LEEWAY_TRAFFIC_CSV_READER_H_
#define LEEWAY_TRAFFIC_CSV_READER_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leeway/status.h"
#include "traffic/line_reader.h"
#include "traffic/row_source.h"

namespace leeway::traffic {

class CsvReader {
 public:
  // Reads the header. kInvalidArgument if there is none or it names a column twice.
  static Result<CsvReader> Open(const std::string& path);

  const std::vector<std::string>& header() const { return header_; }
  std::uint64_t header_line() const { return header_line_; }
  const std::string& path() const { return lines_.path(); }

  // Returns the fields of the next record, as many as the header has, or nothing at the end. The
  // views live until the next call. kInvalidArgument for another number of fields and for wrong
  // quotes.
  Result<std::optional<Fields>> Next();

  // kInvalidArgument with the line on which the record last returned begins.
  Status Error(std::string_view problem) const { return lines_.Error(record_line_, problem); }

 private:
  explicit CsvReader(LineReader lines) : lines_(std::move(lines)) {}

  Status ReadHeader();
  // Reads a record of any number of fields; false at the end.
  Result<bool> ReadRecord();
  void SplitPlain(std::string_view line);
  Status SplitQuoted(std::string_view line);
  // Reads the rest of a quoted field, over line ends, and returns what follows it.
  Result<std::string_view> TakeQuoted(std::string_view rest);

  LineReader lines_;
  std::vector<std::string> header_;
  std::uint64_t header_line_ = 0;
  std::uint64_t record_line_ = 0;
  std::vector<std::string_view> fields_;
  // Of a record with quotes: the fields one after the other, and where each ends.
  std::string text_;
  std::vector<std::size_t> ends_;
};

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_CSV_READER_H_
