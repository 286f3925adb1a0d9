#include "traffic/histogram_rows.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/status_macros.h"
#include "traffic/quoted.h"
#include "traffic/table_body.h"
#include "traffic/time_text.h"

namespace leeway::traffic {
namespace {

// A sum of fewer than 2^40 such counts stays finite.
constexpr double kMaxCount = 1e280;

std::optional<double> ParseCount(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  // The first comparison is false for a NaN.
  if (error != std::errc() || stopped != end || !(value >= 0) || value > kMaxCount) {
    return std::nullopt;
  }
  return value;
}

// Sorts by length and adds up the counts of equal ones.
void Canonicalize(std::vector<std::pair<std::int64_t, double>>& lengths) {
  const auto rises = [](const auto& a, const auto& b) { return a.first >= b.first; };
  if (std::adjacent_find(lengths.begin(), lengths.end(), rises) == lengths.end()) return;
  // Stable: equal lengths are summed in the file's order, because sums of doubles depend on it.
  std::stable_sort(lengths.begin(), lengths.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < lengths.size(); ++i) {
    if (lengths[i].first == lengths[kept].first) {
      lengths[kept].second += lengths[i].second;
    } else {
      lengths[++kept] = lengths[i];
    }
  }
  lengths.resize(kept + 1);
}

}  // namespace

bool HistogramRows::Matches(const std::vector<std::string>& header) {
  return header.size() == 3 && header[0] == "window_start_s" && !header[1].empty() &&
         header[2] == "count";
}

Result<HistogramRows> HistogramRows::Open(const std::string& path) {
  LEEWAY_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
  if (!Matches(reader.header())) {
    return reader.Error(
        "not a length histogram: its header must be window_start_s,<dim>,count, e.g. "
        "window_start_s,seq,count");
  }
  return HistogramRows(std::move(reader));
}

Result<std::optional<HistogramRows::Row>> HistogramRows::ReadRow() {
  LEEWAY_ASSIGN_OR_RETURN(const auto fields, reader_.Next());
  if (!fields) return std::optional<Row>();
  const auto start = ParseDecimalNanos((*fields)[0], TimeUnit::kSeconds);
  if (!start || *start < 0) {
    return reader_.Error("window_start_s " + Quoted((*fields)[0]) +
                         " is not a number of seconds from 0 to 2^63 ns");
  }
  const auto length = ParseLength((*fields)[1]);
  if (!length) {
    return reader_.Error(dim() + " " + Quoted((*fields)[1]) + " is not an integer of at least 1");
  }
  const auto count = ParseCount((*fields)[2]);
  if (!count) {
    return reader_.Error("count " + Quoted((*fields)[2]) + " is not a finite number of at least 0");
  }
  if (row_ && *start < row_->start.count()) {
    return reader_.Error("window_start_s " + Quoted((*fields)[0]) +
                         " is before the window of the row before");
  }
  return std::optional(Row{Nanos(*start), *length, *count});
}

Result<HistogramWindow> HistogramRows::ReadWindow() {
  HistogramWindow window;
  window.start = row_->start;
  while (row_ && row_->start == window.start) {
    if (row_->count > 0) window.lengths.emplace_back(row_->length, row_->count);
    LEEWAY_ASSIGN_OR_RETURN(row_, ReadRow());
  }
  Canonicalize(window.lengths);
  for (const auto& [length, count] : window.lengths) window.total += count;
  return window;
}

Result<std::optional<HistogramWindow>> HistogramRows::Next() {
  if (!started_) {
    LEEWAY_ASSIGN_OR_RETURN(row_, ReadRow());
    started_ = true;
  }
  if (!row_) return std::optional<HistogramWindow>();
  LEEWAY_ASSIGN_OR_RETURN(HistogramWindow window, ReadWindow());
  return std::optional(std::move(window));
}

}  // namespace leeway::traffic
