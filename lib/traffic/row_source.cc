#include "traffic/row_source.h"

#include <utility>

#include "base/status_macros.h"
#include "traffic/csv_reader.h"
#include "traffic/json_lines.h"
#include "traffic/quoted.h"

namespace leeway::traffic {
namespace {

class CsvRows final : public RowSource {
 public:
  static Result<std::unique_ptr<RowSource>> Open(const std::string& path,
                                                 const std::vector<std::string>& columns) {
    LEEWAY_ASSIGN_OR_RETURN(CsvReader reader, CsvReader::Open(path));
    auto rows = std::make_unique<CsvRows>(std::move(reader));
    LEEWAY_RETURN_IF_ERROR(rows->Find(columns));
    return std::unique_ptr<RowSource>(std::move(rows));
  }

  explicit CsvRows(CsvReader reader) : reader_(std::move(reader)) {}

  Result<std::optional<Fields>> Next() override {
    LEEWAY_ASSIGN_OR_RETURN(const auto record, reader_.Next());
    if (!record) return std::optional<Fields>();
    for (std::size_t i = 0; i < indices_.size(); ++i) fields_[i] = (*record)[indices_[i]];
    return std::optional<Fields>(fields_);
  }
  Status Error(std::string_view problem) const override { return reader_.Error(problem); }

 private:
  Status Find(const std::vector<std::string>& columns) {
    const std::vector<std::string>& header = reader_.header();
    for (const std::string& wanted : columns) {
      std::size_t index = 0;
      while (index < header.size() && header[index] != wanted) ++index;
      if (index == header.size()) {
        return NoSuchColumn(reader_.path(), reader_.header_line(), wanted, header);
      }
      indices_.push_back(index);
    }
    fields_.resize(indices_.size());
    return Status();
  }

  CsvReader reader_;
  std::vector<std::size_t> indices_;
  std::vector<std::string_view> fields_;
};

}  // namespace

const char* TableFormatName(TableFormat format) {
  return format == TableFormat::kCsv ? "csv" : "jsonl";
}

Status NoSuchColumn(const std::string& path, std::uint64_t line, const std::string& wanted,
                    const std::vector<std::string>& columns) {
  return base::InvalidArgument(path + ":" + std::to_string(line) + ": no column " + Quoted(wanted) +
                               "; there are " + QuotedList(columns));
}

Result<std::unique_ptr<RowSource>> OpenRows(const std::string& path, TableFormat format,
                                            const std::vector<std::string>& columns) {
  return format == TableFormat::kCsv ? CsvRows::Open(path, columns) : OpenJsonLines(path, columns);
}

Result<std::vector<std::string>> ColumnsOf(const std::string& path, TableFormat format) {
  if (format == TableFormat::kJsonLines) return JsonLinesColumns(path);
  LEEWAY_ASSIGN_OR_RETURN(const CsvReader reader, CsvReader::Open(path));
  return reader.header();
}

}  // namespace leeway::traffic
