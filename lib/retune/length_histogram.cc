#include "retune/length_histogram.h"

#include <algorithm>

#include "base/check.h"

namespace leeway::retune {
namespace {

bool ShorterThan(const LengthWeight& a, const LengthWeight& b) { return a.length < b.length; }

// A double at or past 2^53 has no fraction to speak of either.
bool IsCount(double weight) {
  return weight >= 0x1p53 || weight == static_cast<double>(static_cast<std::uint64_t>(weight));
}

}  // namespace

LengthHistogram::LengthHistogram(std::vector<LengthWeight> entries) {
  // Stable, so that the order of summation is the caller's.
  std::stable_sort(entries.begin(), entries.end(), ShorterThan);
  for (const LengthWeight& e : entries) Add(e.length, e.weight);
}

void LengthHistogram::Add(std::int64_t length, double weight) {
  LEEWAY_CHECK(length >= 1 && weight >= 0);
  if (entries_.empty() || length > entries_.back().length) {
    entries_.push_back({length, weight});
    return;
  }
  const auto at =
      std::lower_bound(entries_.begin(), entries_.end(), LengthWeight{length, 0}, ShorterThan);
  if (at->length == length) {
    at->weight += weight;
  } else {
    entries_.insert(at, {length, weight});
  }
}

void LengthHistogram::Merge(const LengthHistogram& other) { *this = Blend(1, *this, 1, other); }

void LengthHistogram::Scale(double factor) {
  for (LengthWeight& e : entries_) e.weight *= factor;
}

void LengthHistogram::DropBelow(double weight) {
  std::erase_if(entries_, [weight](const LengthWeight& e) { return e.weight < weight; });
}

LengthHistogram LengthHistogram::Normalised() const {
  const double sum = total();
  if (!(sum > 0)) return {};
  LengthHistogram out = *this;
  for (LengthWeight& e : out.entries_) e.weight /= sum;
  return out;
}

double LengthHistogram::total() const {
  double sum = 0;
  for (const LengthWeight& e : entries_) sum += e.weight;
  return sum;
}

LengthHistogram Blend(double a, const LengthHistogram& left, double b,
                      const LengthHistogram& right) {
  std::vector<LengthWeight> out;
  out.reserve(left.size() + right.size());
  auto l = left.begin();
  auto r = right.begin();
  while (l != left.end() && r != right.end()) {
    if (l->length < r->length) {
      out.push_back({l->length, a * l->weight});
      ++l;
    } else if (r->length < l->length) {
      out.push_back({r->length, b * r->weight});
      ++r;
    } else {
      out.push_back({l->length, a * l->weight + b * r->weight});
      ++l;
      ++r;
    }
  }
  for (; l != left.end(); ++l) out.push_back({l->length, a * l->weight});
  for (; r != right.end(); ++r) out.push_back({r->length, b * r->weight});
  LengthHistogram blend;
  blend.entries_ = std::move(out);
  return blend;
}

std::int64_t LengthAt(const LengthHistogram& lengths, double q) {
  double seen = 0;
  const double total = lengths.total();
  for (const LengthWeight& entry : lengths) {
    seen += entry.weight;
    if (seen >= q * total) return entry.length;
  }
  return lengths.max_length();
}

std::pair<LengthHistogram, LengthHistogram> Thin(const LengthHistogram& whole, base::Prng& prng) {
  std::pair<LengthHistogram, LengthHistogram> halves;
  for (const LengthWeight& e : whole) {
    double first = 0;
    double second = 0;
    if (IsCount(e.weight)) {
      const auto count = static_cast<std::uint64_t>(e.weight);
      first = static_cast<double>(prng.Binomial(count, 0.5));
      second = static_cast<double>(count) - first;
    } else {
      first = static_cast<double>(prng.Poisson(e.weight / 2));
      second = static_cast<double>(prng.Poisson(e.weight / 2));
    }
    if (first > 0) halves.first.Add(e.length, first);
    if (second > 0) halves.second.Add(e.length, second);
  }
  return halves;
}

void LengthHistory::Fold(const LengthHistogram& window) {
  if (!(window.total() > 0)) return;
  if (mean_.empty()) {
    mean_ = window;
    return;
  }
  constexpr double kForgotten = 1e-12;
  mean_ = Blend(1 - alpha_, mean_, alpha_, window);
  mean_.DropBelow(kForgotten * mean_.total());
}

}  // namespace leeway::retune
