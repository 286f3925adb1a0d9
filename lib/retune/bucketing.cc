#include "retune/bucketing.h"

#include <algorithm>
#include <cstddef>

#include "base/check.h"
#include "base/math.h"

namespace leeway::retune {
namespace {

// The instance after alignment: point i is a possible edge, and stands for the lengths between the
// one before it and itself.
struct Points {
  Edges edge;
  std::vector<double> cost;    // f(edge)
  std::vector<double> prefix;  // weight up to and including the point
  std::vector<double> tail;  // Σ w times what the fallback costs, over the lengths past the point
  double all_fallback = 0;   // the same over all lengths
};

std::int64_t RoundUp(std::int64_t x, std::int64_t quantum) {
  return base::CeilDiv(x, quantum) * quantum;
}

Points MakePoints(const LengthHistogram& lengths, const BucketSpec& spec) {
  Points p;
  std::vector<double> fallback;  // of the lengths of each point
  double weight = 0;
  for (const LengthWeight& e : lengths) {
    const std::int64_t edge = RoundUp(e.length, spec.align);
    if (p.edge.empty() || p.edge.back() != edge) {
      p.edge.push_back(edge);
      p.cost.push_back(spec.cost(edge));
      p.prefix.push_back(weight);
      fallback.push_back(0);
    }
    weight += e.weight;
    p.prefix.back() = weight;
    const double useful = spec.align == 1 ? p.cost.back() : spec.cost(e.length);
    fallback.back() += e.weight * spec.Fallback(e.length, useful);
  }
  p.tail.resize(p.edge.size());
  double beyond = 0;
  for (std::size_t i = p.edge.size(); i-- > 0;) {
    p.tail[i] = beyond;
    beyond += fallback[i];
  }
  p.all_fallback = beyond;
  return p;
}

struct Line {
  double slope;
  double intercept;
  std::int32_t from;  // the point j it stands for, −1: no edge yet

  double At(double x) const { return slope * x + intercept; }
};

// The lower envelope of lines added in order of descending slope and asked at ascending x.
class Hull {
 public:
  void Clear() {
    lines_.clear();
    front_ = 0;
  }

  void Add(const Line& line) {
    if (!lines_.empty() && lines_.back().slope == line.slope) {
      if (line.intercept >= lines_.back().intercept) return;
      lines_.pop_back();
    }
    while (lines_.size() >= 2 && Hidden(lines_[lines_.size() - 2], lines_.back(), line)) {
      lines_.pop_back();
    }
    lines_.push_back(line);
    front_ = std::min(front_, lines_.size() - 1);
  }

  const Line& Best(double x) {
    // Strict: of equal lines the one of the smaller j stays.
    while (front_ + 1 < lines_.size() && lines_[front_ + 1].At(x) < lines_[front_].At(x)) ++front_;
    return lines_[front_];
  }

 private:
  // Whether b is nowhere strictly below both a and c, their slopes descending in that order.
  static bool Hidden(const Line& a, const Line& b, const Line& c) {
    return (c.intercept - a.intercept) * (a.slope - b.slope) <=
           (b.intercept - a.intercept) * (a.slope - c.slope);
  }

  std::vector<Line> lines_;
  std::size_t front_ = 0;
};

// One row of the recurrence: best[i] of at most k edges from that of k − 1. `from[i]` is where the
// last but one edge lies.
void Relax(const Points& p, std::vector<double>& best, std::int32_t* from, Hull& hull) {
  hull.Clear();
  hull.Add({0, 0, -1});
  for (std::size_t i = 0; i < p.edge.size(); ++i) {
    const Line& line = hull.Best(p.cost[i]);
    const double before = best[i];
    best[i] = p.cost[i] * p.prefix[i] + line.At(p.cost[i]);
    from[i] = line.from;
    hull.Add({-p.prefix[i], before, static_cast<std::int32_t>(i)});
  }
}

// The point of the top edge, −1 if a plan without edges is cheaper than any.
std::int32_t BestTop(const Points& p, const std::vector<double>& best, const BucketSpec& spec) {
  auto top = static_cast<std::int32_t>(p.edge.size()) - 1;
  if (spec.tail == Tail::kCovered) return top;
  double least = best.back();
  for (std::size_t i = p.edge.size() - 1; i-- > 0 && p.edge[i] >= spec.covers;) {
    // Not strict: of equal costs the lowest top edge is kept.
    if (best[i] + p.tail[i] <= least) {
      least = best[i] + p.tail[i];
      top = static_cast<std::int32_t>(i);
    }
  }
  // Alignment may pad everything to more than phi.
  return p.all_fallback < least && spec.covers == 0 ? -1 : top;
}

Edges OptimalEdges(const Points& p, const BucketSpec& spec) {
  const std::size_t n = p.edge.size();
  const std::size_t k = std::min(static_cast<std::size_t>(spec.max_buckets), n);
  std::vector<double> best(n);
  for (std::size_t i = 0; i < n; ++i) best[i] = p.cost[i] * p.prefix[i];
  std::vector<std::int32_t> from((k - 1) * n);
  Hull hull;
  for (std::size_t row = 0; row + 1 < k; ++row) Relax(p, best, from.data() + row * n, hull);

  Edges edges;
  std::int32_t at = BestTop(p, best, spec);
  for (std::size_t row = k - 1; at >= 0; --row) {
    edges.push_back(p.edge[static_cast<std::size_t>(at)]);
    if (row == 0) break;
    at = from[(row - 1) * n + static_cast<std::size_t>(at)];
  }
  std::reverse(edges.begin(), edges.end());
  return edges;
}

}  // namespace

double TokenCost(std::int64_t length) { return static_cast<double>(length); }

FittedBuckets FitBuckets(const LengthHistogram& lengths, const BucketSpec& spec) {
  LEEWAY_CHECK(spec.max_buckets >= 1 && spec.align >= 1 && spec.fallback_factor >= 1);
  FittedBuckets fitted;
  if (lengths.empty()) return fitted;
  if (spec.covers > 0) {
    LengthHistogram promised = lengths;
    promised.Add(spec.covers, 0);
    fitted.edges = OptimalEdges(MakePoints(promised, spec), spec);
  } else {
    fitted.edges = OptimalEdges(MakePoints(lengths, spec), spec);
  }
  // Summed as every other plan's work is, so that costs compare.
  const BucketWork work = Evaluate(fitted.edges, lengths, spec);
  fitted.cost = work.cost;
  fitted.tail = work.fallback_cost;
  return fitted;
}

BucketWork& BucketWork::operator+=(const BucketWork& other) {
  requests += other.requests;
  useful += other.useful;
  cost += other.cost;
  fallback_requests += other.fallback_requests;
  fallback_cost += other.fallback_cost;
  return *this;
}

BucketWork Evaluate(std::span<const std::int64_t> edges, const LengthHistogram& lengths,
                    const BucketSpec& spec) {
  BucketWork work;
  std::size_t edge = 0;
  double edge_cost = edges.empty() ? 0 : spec.cost(edges[0]);
  for (const LengthWeight& e : lengths) {
    const double useful = spec.cost(e.length);
    work.requests += e.weight;
    work.useful += e.weight * useful;
    while (edge < edges.size() && edges[edge] < e.length) {
      if (++edge < edges.size()) edge_cost = spec.cost(edges[edge]);
    }
    if (edge < edges.size()) {
      work.cost += e.weight * edge_cost;
    } else {
      const double fallback = e.weight * spec.Fallback(e.length, useful);
      work.cost += fallback;
      work.fallback_requests += e.weight;
      work.fallback_cost += fallback;
    }
  }
  return work;
}

Edges Pow2Ladder(std::int64_t max_length) {
  LEEWAY_CHECK(max_length >= 1);
  Edges edges;
  for (std::int64_t edge = 1; edge < max_length; edge *= 2) {
    edges.push_back(edge);
    if (edge > max_length / 2) break;  // the next doubling may overflow
  }
  edges.push_back(max_length);
  return edges;
}

Edges ExponentialLadder(int count, std::int64_t max_length) {
  LEEWAY_CHECK(count >= 1 && max_length >= 1);
  constexpr std::int64_t kQuantum = 128;
  // A whole value must not be pushed to the next quantum by the last bit of Exp2.
  constexpr double kSlack = 1e-12;
  const double octaves =
      base::Log2(static_cast<double>(max_length) / static_cast<double>(kQuantum));
  Edges edges;
  for (int i = 0; i < count; ++i) {
    double edge = static_cast<double>(max_length);
    if (i + 1 < count) edge = kQuantum * base::Exp2(octaves * i / (count - 1));
    // ⌈⌈x⌉/q⌉ = ⌈x/q⌉, so one rounding does.
    const double quanta = edge * (1 - kSlack) / kQuantum;
    const std::int64_t rounded = (static_cast<std::int64_t>(quanta) + 1) * kQuantum;
    if (edges.empty() || rounded > edges.back()) edges.push_back(rounded);
  }
  return edges;
}

}  // namespace leeway::retune
