#include "traffic/windows.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/math.h"
#include "base/status_macros.h"

namespace leeway::traffic {
namespace {

using Lengths = std::vector<std::pair<std::int64_t, double>>;

// Sorts `values` and counts equal ones.
Lengths Counted(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  Lengths counts;
  for (const std::int64_t value : values) {
    if (counts.empty() || counts.back().first != value) counts.emplace_back(value, 0);
    counts.back().second += 1;
  }
  return counts;
}

Lengths Sum(const Lengths& a, const Lengths& b) {
  Lengths sum;
  sum.reserve(a.size() + b.size());
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() || right != b.end()) {
    if (right == b.end() || (left != a.end() && left->first < right->first)) {
      sum.push_back(*left++);
    } else if (left == a.end() || right->first < left->first) {
      sum.push_back(*right++);
    } else {
      sum.emplace_back(left->first, left->second + right->second);
      ++left;
      ++right;
    }
  }
  return sum;
}

class CountedWindows final : public WindowReader {
 public:
  CountedWindows(std::unique_ptr<Reader> reader, Nanos window, std::size_t dim)
      : reader_(std::move(reader)), window_(window), dim_(dim) {}

  Result<std::optional<LengthWindow>> Next() override {
    if (!pending_) {
      LEEWAY_ASSIGN_OR_RETURN(pending_, reader_->Next());
      if (!pending_) return std::optional<LengthWindow>();
    }
    const std::int64_t index = pending_->at.count() / window_.count();
    halves_[0].clear();
    halves_[1].clear();
    for (std::size_t position = 0; pending_; ++position) {
      if (pending_->at.count() / window_.count() != index) break;
      halves_[position % 2].push_back(pending_->dims[dim_]);
      LEEWAY_ASSIGN_OR_RETURN(pending_, reader_->Next());
    }
    LengthWindow window;
    window.start = Instant(window_ * index);
    const auto end = base::CheckedAdd(window.start.count(), window_.count());
    window.end = end ? Instant(Nanos(*end)) : Instant::Max();
    window.even = Counted(halves_[0]);
    window.odd = Counted(halves_[1]);
    window.lengths = Sum(window.even, window.odd);
    return std::optional(std::move(window));
  }

 private:
  std::unique_ptr<Reader> reader_;
  Nanos window_;
  std::size_t dim_;
  std::optional<Arrival> pending_;
  std::vector<std::int64_t> halves_[2];
};

}  // namespace

Status CheckWindows(const Body& body, Nanos window, std::size_t dim) {
  if (window <= Nanos(0)) {
    return base::InvalidArgument("a window of " + std::to_string(window.count()) +
                                 " ns is not positive");
  }
  if (dim >= body.dim_names().size()) {
    return base::InvalidArgument("dim " + std::to_string(dim) + " of " + body.name() +
                                 ", which has " + std::to_string(body.dim_names().size()));
  }
  return Status();
}

Result<std::unique_ptr<WindowReader>> CountWindows(const Body& body, Nanos window, std::size_t dim,
                                                   std::uint64_t seed) {
  LEEWAY_RETURN_IF_ERROR(CheckWindows(body, window, dim));
  LEEWAY_ASSIGN_OR_RETURN(std::unique_ptr<Reader> reader, body.NewReader(seed));
  return std::unique_ptr<WindowReader>(
      std::make_unique<CountedWindows>(std::move(reader), window, dim));
}

}  // namespace leeway::traffic
