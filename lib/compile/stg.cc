#include "compile/stg.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace leeway::compile {
namespace {

// What is left out between two tasks may not multiply the edges beyond this.
constexpr std::size_t kMaxJoined = TaskGraph::kMaxEdges;

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : text_(text), name_(name) {}

  Result<TaskGraph> Read();

 private:
  struct Row {
    std::int64_t time = 0;
    std::vector<std::uint32_t> before;
    bool listed = false;
  };

  bool SkipBlanks();
  Result<std::int64_t> Number(const std::string& what, std::int64_t most);
  Status ReadRow();
  Result<TaskGraph> WithoutIdle() const;

  Status Refused(std::string message) const {
    return base::InvalidArgument(absl::StrCat(name_, ":", line_, ": ", std::move(message)));
  }

  std::string_view text_;
  std::string name_;
  std::size_t at_ = 0, line_ = 1;
  std::vector<Row> rows_;
};

// Goes to the next word; false at the end.
bool Reader::SkipBlanks() {
  for (; at_ < text_.size(); ++at_) {
    const char c = text_[at_];
    if (c == '#') {
      while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
    } else if (c == '\n') {
      ++line_;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return true;
    }
  }
  return false;
}

Result<std::int64_t> Reader::Number(const std::string& what, std::int64_t most) {
  if (!SkipBlanks()) return Refused(absl::StrCat("the text ends where ", what, " should be"));
  std::int64_t value = 0;
  const char* const begin = text_.data() + at_;
  const char* const end = text_.data() + text_.size();
  const auto [past, error] = std::from_chars(begin, end, value);
  const bool whole = past == end || *past == ' ' || *past == '\t' || *past == '\r' || *past == '\n';
  if (error == std::errc::invalid_argument || (error == std::errc() && !whole)) {
    return Refused(absl::StrCat(what, " is no whole number"));
  }
  if (error != std::errc() || value < 0 || value > most) {
    return Refused(absl::StrCat(what, " is not between 0 and ", most));
  }
  at_ += static_cast<std::size_t>(past - begin);
  return value;
}

Status Reader::ReadRow() {
  const auto last = static_cast<std::int64_t>(rows_.size()) - 1;
  LEEWAY_ASSIGN_OR_RETURN(const std::int64_t id, Number("a task's number", last));
  Row& row = rows_[static_cast<std::size_t>(id)];
  if (row.listed) return Refused(absl::StrCat("task ", id, " is listed twice"));
  row.listed = true;
  LEEWAY_ASSIGN_OR_RETURN(row.time, Number(absl::StrCat("the time of task ", id),
                                           std::numeric_limits<std::int64_t>::max()));
  LEEWAY_ASSIGN_OR_RETURN(const std::int64_t count,
                          Number(absl::StrCat("the number of predecessors of task ", id), last));
  for (std::int64_t i = 0; i < count; ++i) {
    LEEWAY_ASSIGN_OR_RETURN(const std::int64_t before,
                            Number(absl::StrCat("a predecessor of task ", id), last));
    row.before.push_back(static_cast<std::uint32_t>(before));
  }
  return Status();
}

// Tasks that take time, each after those that it waits for, directly or through tasks of no time.
Result<TaskGraph> Reader::WithoutIdle() const {
  std::vector<std::vector<std::uint32_t>> before(rows_.size());
  std::vector<std::vector<std::uint32_t>> after(rows_.size());
  std::vector<std::size_t> waits(rows_.size());
  std::vector<std::uint32_t> order;
  for (std::uint32_t task = 0; task < rows_.size(); ++task) {
    waits[task] = rows_[task].before.size();
    for (const std::uint32_t b : rows_[task].before) after[b].push_back(task);
    if (waits[task] == 0) order.push_back(task);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::uint32_t next : after[order[i]]) {
      if (--waits[next] == 0) order.push_back(next);
    }
  }
  if (order.size() < rows_.size()) {
    const auto waiting =
        std::find_if(waits.begin(), waits.end(), [](std::size_t left) { return left > 0; });
    return base::InvalidArgument(absl::StrCat(name_, ": task ", waiting - waits.begin(),
                                              " waits for itself, through others"));
  }
  std::size_t joined = 0;
  for (const std::uint32_t task : order) {
    std::vector<std::uint32_t>& of_task = before[task];
    for (const std::uint32_t b : rows_[task].before) {
      if (rows_[b].time > 0) {
        of_task.push_back(b);
      } else {
        of_task.insert(of_task.end(), before[b].begin(), before[b].end());
      }
    }
    std::sort(of_task.begin(), of_task.end());
    of_task.erase(std::unique(of_task.begin(), of_task.end()), of_task.end());
    joined += of_task.size();
    if (joined > kMaxJoined) {
      return base::ResourceExhausted(
          absl::StrCat(name_, ": more than ", kMaxJoined, " edges between tasks that take time"));
    }
  }
  TaskGraph graph;
  std::vector<std::uint32_t> index(rows_.size());
  for (std::uint32_t task = 0; task < rows_.size(); ++task) {
    if (rows_[task].time == 0) continue;
    index[task] = static_cast<std::uint32_t>(graph.tasks.size());
    graph.tasks.push_back({std::to_string(task), Nanos{rows_[task].time}, std::move(before[task])});
  }
  for (Task& task : graph.tasks) {
    for (std::uint32_t& b : task.after) b = index[b];
  }
  return graph;
}

Result<TaskGraph> Reader::Read() {
  constexpr auto kMost = static_cast<std::int64_t>(TaskGraph::kMaxTasks);
  LEEWAY_ASSIGN_OR_RETURN(const std::int64_t count, Number("the number of tasks", kMost));
  // A row takes at least three digits and three blanks: no more memory than the text is long.
  if (static_cast<std::size_t>(count) > text_.size() / 5) {
    return Refused(absl::StrCat(count, " tasks do not fit into ", text_.size(), " bytes"));
  }
  rows_.resize(static_cast<std::size_t>(count) + 2);
  for (std::size_t row = 0; row < rows_.size(); ++row) LEEWAY_RETURN_IF_ERROR(ReadRow());
  if (SkipBlanks()) {
    return Refused(absl::StrCat("more follows after the ", rows_.size(), " lines of ", count,
                                " tasks and two dummies"));
  }
  return WithoutIdle();
}

}  // namespace

Result<TaskGraph> ParseStg(std::string_view text, std::string_view name) {
  return Reader(text, name).Read();
}

}  // namespace leeway::compile
