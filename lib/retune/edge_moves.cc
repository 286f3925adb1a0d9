#include "retune/edge_moves.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/math.h"

namespace leeway::retune {
namespace {

// Prices sets of edges, each a point: an observed length, aligned, or an edge there is.
class EdgePrices {
 public:
  using Point = std::size_t;

  EdgePrices(const Edges& edges, const LengthHistogram& lengths, const BucketSpec& spec,
             std::int64_t domain_max)
      : spec_(spec) {
    for (const LengthWeight& e : lengths) {
      const std::int64_t aligned = base::CeilDiv(e.length, spec.align) * spec.align;
      // Longer ones are clamped or left to the fallback path: no plan can cover them.
      if (domain_max > 0 && e.length > domain_max) continue;
      length_.push_back(domain_max > 0 ? std::min(aligned, domain_max) : aligned);
    }
    length_.insert(length_.end(), edges.begin(), edges.end());
    std::sort(length_.begin(), length_.end());
    length_.erase(std::unique(length_.begin(), length_.end()), length_.end());
    auto at = lengths.begin();
    double weight = 0, fallback = 0;
    auto take = [&](const LengthWeight& e) {
      weight += e.weight;
      fallback += e.weight * spec.Fallback(e.length, spec.cost(e.length));
    };
    for (const std::int64_t length : length_) {
      for (; at != lengths.end() && at->length <= length; ++at) take(*at);
      cost_.push_back(spec.cost(length));
      weight_.push_back(weight);
      fallback_.push_back(fallback);
    }
    for (; at != lengths.end(); ++at) take(*at);
    all_fallback_ = fallback;
  }

  std::size_t points() const { return length_.size(); }
  std::int64_t length(Point p) const { return length_[p]; }
  Point PointOf(std::int64_t edge) const {
    return static_cast<Point>(std::lower_bound(length_.begin(), length_.end(), edge) -
                              length_.begin());
  }

  // Work of the lengths above `low` (none: of all up to `high`) padded to `high`.
  double Bucket(std::optional<Point> low, Point high) const {
    return cost_[high] * (weight_[high] - (low ? weight_[*low] : 0));
  }
  // Work of the lengths above `top` on the fallback path.
  double Tail(std::optional<Point> top) const {
    return all_fallback_ - (top ? fallback_[*top] : 0);
  }

  double Total(const std::vector<Point>& edges) const {
    double sum = 0;
    std::optional<Point> low;
    for (const Point edge : edges) {
      sum += Bucket(low, edge);
      low = edge;
    }
    return sum + Tail(low);
  }

  // Whether the top of `edges` covers what was promised.
  bool Covers(const std::vector<Point>& edges) const {
    return spec_.covers == 0 || (!edges.empty() && length_[edges.back()] >= spec_.covers);
  }

 private:
  const BucketSpec& spec_;
  std::vector<std::int64_t> length_;
  std::vector<double> cost_;
  std::vector<double> weight_, fallback_;  // of the lengths up to the point
  double all_fallback_ = 0;
};

using Point = EdgePrices::Point;

std::vector<Point> Without(std::vector<Point> edges, Point edge) {
  edges.erase(std::find(edges.begin(), edges.end(), edge));
  return edges;
}

std::vector<Point> With(std::vector<Point> edges, Point edge) {
  edges.insert(std::lower_bound(edges.begin(), edges.end(), edge), edge);
  return edges;
}

struct Placed {
  Point point = 0;
  double cost = 0;
};

// The cheapest further edge beside `edges`: the first of equals; none if every point is one.
std::optional<Placed> BestFurther(const EdgePrices& prices, const std::vector<Point>& edges) {
  const double base = prices.Total(edges);
  const bool covered = prices.Covers(edges);
  std::optional<Placed> best;
  std::size_t next = 0;
  std::optional<Point> low;
  for (Point p = 0; p < prices.points(); ++p) {
    if (next < edges.size() && edges[next] == p) {
      low = p;
      ++next;
      continue;
    }
    if (!covered && !prices.Covers({p})) continue;
    const bool inside = next < edges.size();
    const double before = inside ? prices.Bucket(low, edges[next]) : prices.Tail(low);
    const double after =
        prices.Bucket(low, p) + (inside ? prices.Bucket(p, edges[next]) : prices.Tail(p));
    const double cost = base - before + after;
    if (!best || cost < best->cost) best = Placed{p, cost};
  }
  return best;
}

class Search {
 public:
  Search(const Edges& edges, const EdgePrices& prices, const BucketSpec& spec,
         const EdgeMoveOptions& options)
      : prices_(prices), options_(options), room_(static_cast<std::size_t>(spec.max_buckets)) {
    for (const std::int64_t edge : edges) old_.push_back(prices.PointOf(edge));
  }

  void Run() {
    while (steps_.size() < options_.max_moves && Step()) {
    }
    Polish();
    while (JoinOne()) {
    }
  }

  std::vector<EdgeMove> moves() const {
    std::vector<EdgeMove> moves;
    for (const Taken& taken : steps_) {
      EdgeMove move;
      if (taken.from) move.from = prices_.length(*taken.from);
      if (taken.to) move.to = prices_.length(*taken.to);
      moves.push_back(move);
    }
    return moves;
  }
  double cost() const { return prices_.Total(All()); }

 private:
  struct Taken {
    std::optional<Point> from, to;
  };

  // What is left of the first edges, and the new ones.
  std::vector<Point> All(const Taken* except = nullptr) const {
    std::vector<Point> all = old_;
    for (const Taken& taken : steps_) {
      if (&taken != except && taken.to) all.push_back(*taken.to);
    }
    std::sort(all.begin(), all.end());
    return all;
  }

  bool Step() {
    const std::vector<Point> all = All();
    const double now = prices_.Total(all);
    std::optional<Taken> best;
    double least = now * (1 - options_.least_gain);
    if (all.size() > room_) {
      best = CheapestDrop(all);
    } else if (all.size() < room_) {
      if (const auto placed = BestFurther(prices_, all); placed && placed->cost < least) {
        best = Taken{std::nullopt, placed->point};
        least = placed->cost;
      }
    }
    // A drop is made for room, not for gain: replacing is looked at only where there is room.
    for (std::size_t i = 0; all.size() <= room_ && i < old_.size(); ++i) {
      const auto placed = BestFurther(prices_, Without(all, old_[i]));
      if (!placed || placed->cost >= least) continue;
      best = Taken{old_[i], placed->point};
      least = placed->cost;
    }
    if (!best) return false;
    if (best->from) old_ = Without(old_, *best->from);
    steps_.push_back(*best);
    return true;
  }

  std::optional<Taken> CheapestDrop(const std::vector<Point>& all) const {
    std::optional<Taken> best;
    double least = 0;
    for (const Point edge : old_) {
      const std::vector<Point> rest = Without(all, edge);
      if (!prices_.Covers(rest)) continue;
      const double cost = prices_.Total(rest);
      if (best && cost >= least) continue;
      best = Taken{edge, std::nullopt};
      least = cost;
    }
    return best;
  }

  // Places each new edge anew while that helps.
  void Polish() {
    constexpr int kRounds = 16;
    bool moved = true;
    for (int round = 0; moved && round < kRounds; ++round) {
      moved = false;
      for (Taken& taken : steps_) {
        if (!taken.to) continue;
        const std::vector<Point> others = All(&taken);
        const auto placed = BestFurther(prices_, others);
        // Not back to where it came from: that would be no move.
        if (!placed || placed->point == taken.from) continue;
        if (!(placed->cost < prices_.Total(With(others, *taken.to)))) continue;
        taken.to = placed->point;
        moved = true;
      }
    }
  }

  // An edge that one step took away and another put back was only moved through.
  bool JoinOne() {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      for (std::size_t j = 0; j < steps_.size(); ++j) {
        if (i == j || !steps_[i].to || steps_[i].to != steps_[j].from) continue;
        steps_[j].from = steps_[i].from;
        steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(i));
        return true;
      }
    }
    return false;
  }

  const EdgePrices& prices_;
  const EdgeMoveOptions& options_;
  std::size_t room_;
  std::vector<Point> old_;
  std::vector<Taken> steps_;
};

}  // namespace

Edges Applied(const Edges& edges, const std::vector<EdgeMove>& moves) {
  Edges after = edges;
  for (const EdgeMove& move : moves) {
    if (!move.from) continue;
    const auto at = std::find(after.begin(), after.end(), *move.from);
    LEEWAY_CHECK(at != after.end());
    after.erase(at);
  }
  for (const EdgeMove& move : moves) {
    if (move.to) after.push_back(*move.to);
  }
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  return after;
}

EdgeMoves FindEdgeMoves(const Edges& edges, const LengthHistogram& lengths, const BucketSpec& spec,
                        const EdgeMoveOptions& options) {
  LEEWAY_CHECK(spec.max_buckets >= 1 && spec.align >= 1 && spec.tail == Tail::kFallback);
  EdgeMoves found;
  found.after = edges;
  if (lengths.empty()) return found;
  found.cost_before = Evaluate(edges, lengths, spec).cost;
  const EdgePrices prices(edges, lengths, spec, options.domain_max);
  Search search(edges, prices, spec, options);
  search.Run();
  found.moves = search.moves();
  found.after = Applied(edges, found.moves);
  found.cost_after = Evaluate(found.after, lengths, spec).cost;
  return found;
}

}  // namespace leeway::retune
