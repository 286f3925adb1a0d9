// The windows of a length histogram: a CSV file with the header "window_start_s,<dim>,count" and
// the rows of a window one after the other.
//
// Memory: one window.
// Errors: "path:17: …", kInvalidArgument, for a window that begins before the one above it, a
// length
//         below 1, a count that is negative or not finite; and CsvReader's.

#ifndef LEEWAY_TRAFFIC_HISTOGRAM_ROWS_H_
#define LEEWAY_TRAFFIC_HISTOGRAM_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "leeway/status.h"
#include "leeway/time.h"
#include "traffic/csv_reader.h"

namespace leeway::traffic {

struct HistogramWindow {
  // As the file gives it.
  Nanos start{0};
  // Distinct lengths, rising, with counts above 0.
  std::vector<std::pair<std::int64_t, double>> lengths;
  double total = 0;
};

class HistogramRows {
 public:
  // kInvalidArgument if the header is another one.
  static Result<HistogramRows> Open(const std::string& path);
  // Whether a table with this header is a length histogram.
  static bool Matches(const std::vector<std::string>& header);

  const std::string& dim() const { return reader_.header()[1]; }
  const std::string& path() const { return reader_.path(); }
  // Returns the next window, which may hold no requests, or nothing at the end.
  Result<std::optional<HistogramWindow>> Next();

 private:
  struct Row {
    Nanos start{0};
    std::int64_t length = 0;
    double count = 0;
  };

  explicit HistogramRows(CsvReader reader) : reader_(std::move(reader)) {}

  Result<std::optional<Row>> ReadRow();
  // Reads the rows of the window that begins with row_, and the first of the next into row_.
  Result<HistogramWindow> ReadWindow();

  CsvReader reader_;
  bool started_ = false;
  std::optional<Row> row_;
};

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_HISTOGRAM_ROWS_H_
