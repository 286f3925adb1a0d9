#include "traffic/selection.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "base/status_macros.h"
#include "traffic/lazy_digest.h"
#include "traffic/windows.h"

namespace leeway::traffic {
namespace {

// The arrivals from `from` on and before `until`, at most `limit`, with times moved by -base; the
// first arrival's where there is no base.
class SelectedReader final : public Reader {
 public:
  struct Part {
    Nanos from{0};
    Nanos until = Nanos::max();
    std::uint64_t limit = ~std::uint64_t{0};
    std::optional<Nanos> base = Nanos(0);
  };

  SelectedReader(std::unique_ptr<Reader> reader, const Part& part)
      : reader_(std::move(reader)), part_(part) {}

  Result<std::optional<Arrival>> Next() override {
    while (part_.limit > 0) {
      LEEWAY_ASSIGN_OR_RETURN(std::optional<Arrival> arrival, reader_->Next());
      if (!arrival || arrival->at.since_origin() >= part_.until) break;
      if (arrival->at.since_origin() < part_.from) continue;
      if (!part_.base) part_.base = arrival->at.since_origin();
      arrival->at = arrival->at - *part_.base;
      --part_.limit;
      return arrival;
    }
    part_.limit = 0;
    return std::optional<Arrival>();
  }

 private:
  const std::unique_ptr<Reader> reader_;
  Part part_;
};

// The windows of a histogram between two bounds of windows.
class SelectedWindows final : public WindowReader {
 public:
  SelectedWindows(std::unique_ptr<WindowReader> windows, Nanos from, Nanos until)
      : windows_(std::move(windows)), from_(from), until_(until) {}

  Result<std::optional<LengthWindow>> Next() override {
    for (;;) {
      LEEWAY_ASSIGN_OR_RETURN(std::optional<LengthWindow> window, windows_->Next());
      if (!window || window->start.since_origin() >= until_) return std::optional<LengthWindow>();
      if (window->start.since_origin() < from_) continue;
      window->start = window->start - from_;
      window->end = window->end - from_;
      return window;
    }
  }

 private:
  const std::unique_ptr<WindowReader> windows_;
  const Nanos from_;
  const Nanos until_;
};

// What the selections have in common: everything but the arrivals is the whole trace's.
class SelectedBody : public Body {
 public:
  SelectedBody(std::shared_ptr<const Body> whole, std::string_view kind, std::uint64_t argument)
      : whole_(std::move(whole)), kind_(kind), argument_(argument) {}

  const std::string& name() const final { return whole_->name(); }
  const base::Digest& digest() const final {
    return digest_.Get([this]() -> base::Digest {
      const base::Digest& whole = whole_->digest();
      if (whole == base::Digest{}) return {};
      return SelectionDigest(kind_, whole, std::to_string(argument_));
    });
  }
  const std::vector<std::string>& dim_names() const final { return whole_->dim_names(); }
  const std::vector<StreamInfo>& streams() const final { return whole_->streams(); }

 protected:
  const Body& whole() const { return *whole_; }

  Result<std::unique_ptr<Reader>> Select(std::uint64_t seed,
                                         const SelectedReader::Part& part) const {
    LEEWAY_ASSIGN_OR_RETURN(auto reader, whole_->NewReader(seed));
    return std::unique_ptr<Reader>(std::make_unique<SelectedReader>(std::move(reader), part));
  }

  // The windows of a histogram within [from, until). A histogram cannot be cut inside a window.
  Result<std::unique_ptr<WindowReader>> SelectWindows(Nanos window, std::size_t dim,
                                                      std::uint64_t seed, Nanos from,
                                                      Nanos until) const {
    LEEWAY_RETURN_IF_ERROR(CheckWindows(*this, window, dim));
    const Nanos end = whole_->declared_span().value_or(until);
    for (const Nanos cut : {from, until}) {
      if (cut >= end || cut % window == Nanos(0)) continue;
      return base::InvalidArgument(name() +
                                   ": a part of a histogram must begin and end with a "
                                   "window: " +
                                   std::to_string(cut.count()) + " ns is not a multiple of " +
                                   std::to_string(window.count()) + " ns");
    }
    LEEWAY_ASSIGN_OR_RETURN(auto windows, whole_->NewWindows(window, dim, seed));
    return std::unique_ptr<WindowReader>(
        std::make_unique<SelectedWindows>(std::move(windows), from, until));
  }

 private:
  const std::shared_ptr<const Body> whole_;
  const std::string_view kind_;
  const std::uint64_t argument_;
  LazyDigest digest_;
};

class FirstBody final : public SelectedBody {
 public:
  FirstBody(std::shared_ptr<const Body> whole, Nanos span)
      : SelectedBody(std::move(whole), "first", static_cast<std::uint64_t>(span.count())),
        span_(span) {}

  std::optional<Nanos> declared_span() const override {
    const auto declared = whole().declared_span();
    return declared ? std::optional(std::min(*declared, span_)) : std::nullopt;
  }
  bool exact_windows() const override { return whole().exact_windows(); }
  Result<std::unique_ptr<Reader>> NewReader(std::uint64_t seed) const override {
    return Select(seed, {.until = span_});
  }
  Result<std::unique_ptr<WindowReader>> NewWindows(Nanos window, std::size_t dim,
                                                   std::uint64_t seed) const override {
    if (!exact_windows()) return CountWindows(*this, window, dim, seed);
    return SelectWindows(window, dim, seed, Nanos(0), span_);
  }

 private:
  const Nanos span_;
};

class LimitBody final : public SelectedBody {
 public:
  LimitBody(std::shared_ptr<const Body> whole, std::uint64_t requests)
      : SelectedBody(std::move(whole), "limit", requests), requests_(requests) {}

  // The last request kept ends it, wherever that is.
  std::optional<Nanos> declared_span() const override { return std::nullopt; }
  Result<std::unique_ptr<Reader>> NewReader(std::uint64_t seed) const override {
    return Select(seed, {.limit = requests_});
  }
  Result<std::unique_ptr<WindowReader>> NewWindows(Nanos window, std::size_t dim,
                                                   std::uint64_t seed) const override {
    return CountWindows(*this, window, dim, seed);
  }

 private:
  const std::uint64_t requests_;
};

class LastBody final : public SelectedBody {
 public:
  LastBody(std::shared_ptr<const Body> whole, Nanos span)
      : SelectedBody(std::move(whole), "last", static_cast<std::uint64_t>(span.count())),
        span_(span) {}

  std::optional<Nanos> declared_span() const override {
    const auto declared = whole().declared_span();
    return declared ? std::optional(std::min(*declared, span_)) : std::nullopt;
  }
  bool exact_windows() const override { return whole().exact_windows(); }

  Result<std::unique_ptr<Reader>> NewReader(std::uint64_t seed) const override {
    if (const auto declared = whole().declared_span()) {
      const Nanos from = From(*declared);
      return Select(seed, {.from = from, .base = from});
    }
    LEEWAY_ASSIGN_OR_RETURN(const auto end, EndOf(seed));
    // (end − span, end], as First takes [0, span).
    const Nanos from = end ? From(*end + Nanos(1)) : Nanos(0);
    return Select(seed, {.from = from, .base = std::nullopt});
  }

  Result<std::unique_ptr<WindowReader>> NewWindows(Nanos window, std::size_t dim,
                                                   std::uint64_t seed) const override {
    const auto declared = whole().declared_span();
    if (!exact_windows() || !declared) return CountWindows(*this, window, dim, seed);
    return SelectWindows(window, dim, seed, From(*declared), Nanos::max());
  }

 private:
  Nanos From(Nanos end) const { return end - std::clamp(span_, Nanos(0), end); }

  // Time of the last arrival, if there is one. It may depend on the seed, below a Limit.
  Result<std::optional<Nanos>> EndOf(std::uint64_t seed) const {
    absl::MutexLock lock(&mutex_);
    const auto known = ends_.find(seed);
    if (known != ends_.end()) return known->second;
    LEEWAY_ASSIGN_OR_RETURN(const auto reader, whole().NewReader(seed));
    std::optional<Nanos> end;
    for (;;) {
      LEEWAY_ASSIGN_OR_RETURN(const auto arrival, reader->Next());
      if (!arrival) break;
      end = arrival->at.since_origin();
    }
    ends_.emplace(seed, end);
    return end;
  }

  const Nanos span_;
  mutable absl::Mutex mutex_;
  mutable std::map<std::uint64_t, std::optional<Nanos>> ends_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::shared_ptr<const Body> First(std::shared_ptr<const Body> body, Nanos span) {
  return std::make_shared<FirstBody>(std::move(body), std::max(span, Nanos(0)));
}

std::shared_ptr<const Body> Last(std::shared_ptr<const Body> body, Nanos span) {
  return std::make_shared<LastBody>(std::move(body), std::max(span, Nanos(0)));
}

std::shared_ptr<const Body> Limit(std::shared_ptr<const Body> body, std::uint64_t requests) {
  return std::make_shared<LimitBody>(std::move(body), requests);
}

}  // namespace leeway::traffic
