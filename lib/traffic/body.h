// What a Traffic is made of: a source of arrivals and the part of it that is wanted.
//
// Threading: a Body is immutable; a Reader belongs to one thread at a time.
// Lifetime:  a Reader keeps what it reads from.

#ifndef LEEWAY_TRAFFIC_BODY_H_
#define LEEWAY_TRAFFIC_BODY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "leeway/status.h"
#include "leeway/time.h"

namespace leeway::traffic {

inline constexpr std::size_t kMaxDims = 8;

struct Arrival {
  Instant at;
  std::uint32_t stream = 0;
  // By the body's dim_names().
  std::array<std::int64_t, kMaxDims> dims{};
  // Time the caller allows from arrival; Nanos::max() for none.
  Nanos deadline = Nanos::max();
  // When the caller gave up, from arrival; Nanos::max() for never.
  Nanos cancel_after = Nanos::max();
};

// Arrivals in order of time, one at a time.
class Reader {
 public:
  virtual ~Reader() = default;
  // Returns the next arrival or nothing at the end. Errors name file and line: kInvalidArgument a
  // row that cannot be read, times that go back, a dim below 1; kDataLoss a truncated file.
  virtual Result<std::optional<Arrival>> Next() = 0;
};

struct StreamInfo {
  std::string name;
  std::optional<int> priority_level = {};  // nothing where the traffic states none
};

// The requests of one window by the value of one dim. Counts are exact: expected ones, possibly
// fractional, where the source is a histogram; whole ones where arrivals were counted.
struct LengthWindow {
  Instant start, end;
  // Distinct lengths, rising, with counts.
  std::vector<std::pair<std::int64_t, double>> lengths;
  // The halves at even and odd positions in arrival order; empty where there is no such order.
  std::vector<std::pair<std::int64_t, double>> even, odd;
};

// Windows in order, one at a time; empty windows are skipped, a partial last one is delivered.
class WindowReader {
 public:
  virtual ~WindowReader() = default;
  virtual Result<std::optional<LengthWindow>> Next() = 0;
};

// So many requests from `start` on, until the next of a list.
struct WindowDraw {
  Instant start;
  std::uint64_t requests = 0;
};

class Body {
 public:
  virtual ~Body() = default;

  virtual const std::string& name() const = 0;
  // All zeros where the source can no longer be read.
  virtual const base::Digest& digest() const = 0;
  const std::string& digest_hex() const;
  virtual const std::vector<std::string>& dim_names() const = 0;
  virtual const std::vector<StreamInfo>& streams() const = 0;
  // Span of the whole trace where it is declared (histograms, generators).
  virtual std::optional<Nanos> declared_span() const = 0;
  // Whether NewWindows gives a histogram's own counts and does not draw.
  virtual bool exact_windows() const { return false; }

  // Starts reading. `seed` decides the draws of histograms and generators and nothing else.
  virtual Result<std::unique_ptr<Reader>> NewReader(std::uint64_t seed) const = 0;

  // Starts reading by windows of length `window`, counted from the first arrival, by dim number
  // `dim`. A length histogram gives its own exact counts without drawing; its windows merge when
  // `window` is a multiple of its own, else kInvalidArgument.
  virtual Result<std::unique_ptr<WindowReader>> NewWindows(Nanos window, std::size_t dim,
                                                           std::uint64_t seed) const = 0;

  // Where arrivals are drawn, how many and from windows of what length; nothing where they were
  // recorded.
  struct Drawing {
    std::uint64_t requests = 0;
    Nanos window{0};
  };
  virtual std::optional<Drawing> drawing() const { return std::nullopt; }
  // Starts a drawing of so many requests in each of the windows, which start at rising times: a
  // window's requests spread over those of the source that start in it, in proportion to their own.
  // kUnimplemented for recorded traffic; kInvalidArgument where a window that asks for requests has
  // none to draw from.
  virtual Result<std::unique_ptr<Reader>> NewDraw(std::span<const WindowDraw> windows,
                                                  std::uint64_t seed) const;

 private:
  mutable std::once_flag hex_once_;
  mutable std::string hex_;
};

}  // namespace leeway::traffic

#endif  // LEEWAY_TRAFFIC_BODY_H_
