#include "traffic/table_body.h"

#include <charconv>
#include <map>
#include <utility>

#include "base/status_macros.h"
#include "traffic/arrival_clock.h"
#include "traffic/byte_source.h"
#include "traffic/lazy_digest.h"
#include "traffic/quoted.h"
#include "traffic/windows.h"

namespace leeway::traffic {
namespace {

using StreamNumbers = std::map<std::string, std::uint32_t, std::less<>>;

class TableReader final : public Reader {
 public:
  // `body` keeps map and streams alive.
  TableReader(std::shared_ptr<const Body> body, const ColumnMap& map, const StreamNumbers& streams,
              std::unique_ptr<RowSource> rows)
      : body_(std::move(body)),
        map_(map),
        streams_(streams),
        rows_(std::move(rows)),
        clock_(map.unit) {}

  Result<std::optional<Arrival>> Next() override {
    LEEWAY_ASSIGN_OR_RETURN(const auto fields, rows_->Next());
    if (!fields) return std::optional<Arrival>();
    Arrival arrival;
    const auto at = clock_.Read((*fields)[0]);
    if (!at) return rows_->Error(clock_.problem());
    arrival.at = *at;
    for (std::size_t i = 0; i < map_.dims.size(); ++i) {
      const auto value = ParseLength((*fields)[1 + i]);
      if (!value) return DimError(i, (*fields)[1 + i]);
      arrival.dims[i] = *value;
    }
    if (map_.stream) {
      const auto stream = streams_.find((*fields)[1 + map_.dims.size()]);
      if (stream == streams_.end()) return rows_->Error("the file has changed since it was opened");
      arrival.stream = stream->second;
    }
    return std::optional(arrival);
  }

 private:
  Status DimError(std::size_t dim, std::string_view text) const {
    return rows_->Error(map_.dims[dim].first + " " + Quoted(text) +
                        " is not an integer of at least 1");
  }

  const std::shared_ptr<const Body> body_;
  const ColumnMap& map_;
  const StreamNumbers& streams_;
  const std::unique_ptr<RowSource> rows_;
  ArrivalClock clock_;
};

class TableBody final : public Body, public std::enable_shared_from_this<TableBody> {
 public:
  TableBody(std::string path, TableFormat format, ColumnMap map)
      : path_(std::move(path)), name_(BaseName(path_)), format_(format), map_(std::move(map)) {
    for (const auto& [dim, column] : map_.dims) dim_names_.push_back(dim);
  }

  // Finds the columns and the streams; called once, before anyone shares the body.
  Status Inspect() {
    if (!map_.stream) {
      LEEWAY_RETURN_IF_ERROR(OpenRows(path_, format_, map_.Columns()).status());
      streams_.push_back({"default"});
      return Status();
    }
    LEEWAY_ASSIGN_OR_RETURN(const auto rows, OpenRows(path_, format_, map_.Columns()));
    for (;;) {
      LEEWAY_ASSIGN_OR_RETURN(const auto fields, rows->Next());
      if (!fields) return Status();
      const std::string_view name = fields->back();
      if (numbers_.find(name) != numbers_.end()) continue;
      if (name.empty()) return rows->Error("an empty stream name");
      if (streams_.size() == kMaxStreams) {
        return rows->Error("more than " + std::to_string(kMaxStreams) + " streams");
      }
      numbers_.emplace(name, static_cast<std::uint32_t>(streams_.size()));
      streams_.push_back({std::string(name)});
    }
  }

  const std::string& name() const override { return name_; }
  const base::Digest& digest() const override {
    return digest_.Get([this] {
      return SelectionDigest(TableFormatName(format_), DigestOfFile(path_), map_.ToText());
    });
  }
  const std::vector<std::string>& dim_names() const override { return dim_names_; }
  const std::vector<StreamInfo>& streams() const override { return streams_; }
  std::optional<Nanos> declared_span() const override { return std::nullopt; }

  Result<std::unique_ptr<Reader>> NewReader(std::uint64_t) const override {
    LEEWAY_ASSIGN_OR_RETURN(auto rows, OpenRows(path_, format_, map_.Columns()));
    return std::unique_ptr<Reader>(
        std::make_unique<TableReader>(shared_from_this(), map_, numbers_, std::move(rows)));
  }
  Result<std::unique_ptr<WindowReader>> NewWindows(Nanos window, std::size_t dim,
                                                   std::uint64_t seed) const override {
    return CountWindows(*this, window, dim, seed);
  }

 private:
  const std::string path_;
  const std::string name_;
  const TableFormat format_;
  const ColumnMap map_;
  std::vector<std::string> dim_names_;
  std::vector<StreamInfo> streams_;
  StreamNumbers numbers_;
  LazyDigest digest_;
};

}  // namespace

std::optional<std::int64_t> ParseLength(std::string_view text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stopped != end || value < 1) return std::nullopt;
  return value;
}

std::string BaseName(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::shared_ptr<const Body>> OpenTable(const std::string& path, TableFormat format,
                                              const ColumnMap& map) {
  auto body = std::make_shared<TableBody>(path, format, map);
  LEEWAY_RETURN_IF_ERROR(body->Inspect());
  return std::shared_ptr<const Body>(std::move(body));
}

}  // namespace leeway::traffic
