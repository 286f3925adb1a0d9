#include "retune/drift.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "retune/distances.h"
#include "retune/pricing.h"

namespace leeway::retune {
namespace {

constexpr double kLeastPerWindow = 1000;

struct ObservedWindow {
  std::int64_t start_ns = 0, end_ns = 0;
  LengthHistogram lengths;
};

// One dim of the snapshot, the streams together.
struct Observed {
  std::vector<ObservedWindow> windows;  // by start
  LengthHistogram all;
  std::int64_t quantum = 1;
  std::int64_t span_ns = 0;
};

Observed Collect(const telemetry::Snapshot& snapshot, const std::string& entry,
                 const std::string& dim) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<LengthWeight>> by_window;
  Observed observed;
  for (const telemetry::LengthWindow& window : snapshot.lengths) {
    if (window.entry != entry || window.dim != dim) continue;
    observed.quantum = std::max(observed.quantum, window.counts.quantum);
    std::vector<LengthWeight>& entries = by_window[{window.start_ns, window.end_ns}];
    for (const telemetry::LengthCount& count : window.counts.counts) {
      // A length of 0 pads like one of 1.
      entries.push_back(
          {std::max<std::int64_t>(count.length, 1), static_cast<double>(count.count)});
    }
  }
  std::vector<LengthWeight> all;
  for (auto& [bounds, entries] : by_window) {
    all.insert(all.end(), entries.begin(), entries.end());
    const std::int64_t from = observed.windows.empty()
                                  ? bounds.first
                                  : std::max(bounds.first, observed.windows.back().end_ns);
    if (bounds.second > from) observed.span_ns += bounds.second - from;
    observed.windows.push_back({bounds.first, bounds.second, LengthHistogram(std::move(entries))});
  }
  observed.all = LengthHistogram(std::move(all));
  return observed;
}

// The plan's declared distribution of one dim; empty where it declares none.
LengthHistogram Declared(const plan::Body& plan, plan::Index dim) {
  std::vector<LengthWeight> entries;
  for (const plan::ShapePoint& point : plan.shape_profile) {
    entries.push_back({point.dims[dim], point.weight});
  }
  LengthHistogram declared(std::move(entries));
  return declared.total() > 0 ? declared : LengthHistogram();
}

void FillDistances(const LengthHistogram& declared, const Observed& observed,
                   std::int64_t domain_max, const CostFn& cost, base::Prng& prng, DimDrift& drift) {
  if (declared.empty()) return;
  const Distances value = DistancesFrom(declared, observed.all, domain_max, cost);
  const Distances null = NullQuantiles(declared, drift.requests, domain_max, cost, prng);
  drift.psi = Distance{value.psi, null.psi};
  drift.js = Distance{value.js, null.js};
  drift.wasserstein = Distance{value.wasserstein, null.wasserstein};
  drift.work_ks = Distance{value.work_ks, null.work_ks};
}

// The start of the trailing run of windows that regret more than tau.
std::optional<Instant> Since(const PlanBuckets& buckets, const Observed& observed,
                             const BucketSpec& spec, double tau, base::Prng& prng) {
  std::vector<ObservedWindow> windows;
  for (const ObservedWindow& window : observed.windows) {
    if (windows.empty() || windows.back().lengths.total() >= kLeastPerWindow) {
      windows.push_back(window);
    } else {
      windows.back().lengths.Merge(window.lengths);
    }
  }
  if (windows.size() >= 2 && windows.back().lengths.total() < kLeastPerWindow) {
    windows[windows.size() - 2].lengths.Merge(windows.back().lengths);
    windows.pop_back();
  }
  if (windows.size() < 2) return std::nullopt;
  std::optional<Instant> since;
  for (const ObservedWindow& window : windows) {
    const bool high = PlanRegret(buckets, {window.lengths, {}, {}}, spec, prng) > tau;
    if (!high) {
      since.reset();
    } else if (!since) {
      since = Instant(Nanos(window.start_ns));
    }
  }
  return since;
}

std::string ShortHex(const std::string& bytes) {
  base::Digest digest;
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.bytes.size()), digest.bytes.begin());
  return digest.ToHex().substr(0, 12);
}

class Detector {
 public:
  Detector(const std::shared_ptr<const plan::Body>& plan, plan::Index entry,
           const telemetry::Snapshot& snapshot, const DriftOptions& options)
      : body_(plan), plan_(*plan), entry_(entry), snapshot_(snapshot), options_(options) {}

  Result<DriftReport> Run() {
    report_.origin = snapshot_.origin;
    if (snapshot_.plan_digest.empty()) {
      report_.notes.push_back("the telemetry does not name its plan, it is taken for this one's");
    }
    for (const plan::Index dim : LengthDims(plan_)) LEEWAY_RETURN_IF_ERROR(Judge(dim));
    CountVariants();
    CountGroups();
    return std::move(report_);
  }

 private:
  const plan::Entry& entry() const { return plan_.entries[entry_]; }

  Status Judge(plan::Index dim) {
    const plan::Dim& domain = plan_.dims[dim];
    const PlanBuckets buckets(plan_, entry(), dim);
    Observed observed = Collect(snapshot_, entry().name, domain.name);
    DimDrift drift;
    drift.dim = domain.name;
    drift.edges = buckets.edges();
    LEEWAY_ASSIGN_OR_RETURN(const Pricing pricing, PriceOf(dim));
    report_.basis = pricing.basis;
    if (!pricing.note.empty()) report_.notes.push_back(pricing.note);
    if (!buckets.contiguous()) {
      report_.notes.push_back(absl::StrCat("dim \"", domain.name,
                                           "\": the variants leave lengths below ",
                                           buckets.edges().back(), " uncovered"));
    }
    if (observed.quantum > 1) {
      report_.notes.push_back(absl::StrCat("dim \"", domain.name, "\": lengths are known up to ",
                                           observed.quantum, " only"));
    }
    if (observed.all.total() > 0) {
      Measure(buckets, observed, pricing, domain, drift);
      observed_.emplace_back(dim, std::move(observed.all));
    } else {
      report_.notes.push_back(
          absl::StrCat("dim \"", domain.name, "\": the telemetry holds no lengths"));
    }
    report_.drifted = report_.drifted || drift.drifted;
    report_.dims.push_back(std::move(drift));
    return Status();
  }

  Result<Pricing> PriceOf(plan::Index dim) const {
    return Price(body_, entry_, dim, options_.device ? options_.device->spec() : nullptr,
                 options_.align);
  }

  void Measure(const PlanBuckets& buckets, const Observed& observed, const Pricing& pricing,
               const plan::Dim& domain, DimDrift& drift) const {
    const base::Prng seeded = base::Prng(options_.seed).Fork(domain.name);
    base::Prng null = seeded.Fork("null"), thin = seeded.Fork("thin");
    const BucketSpec spec = ReplacementSpec(buckets, pricing.cost, options_.phi, options_.align);
    const BucketWork work = buckets.Work(observed.all, spec);
    drift.requests = static_cast<std::uint64_t>(work.requests);
    drift.out_of_envelope = work.fallback_requests / work.requests;
    drift.padding_waste = work.waste();
    drift.regret = PlanRegret(buckets, {observed.all, {}, {}}, spec, thin);
    drift.drifted = drift.regret > options_.tau;
    if (pricing.basis != CostBasis::kTokens && observed.span_ns > 0) {
      const double excess = work.cost * drift.regret / (1 + drift.regret);
      drift.cost_ns_per_s = std::max(0.0, excess) / (static_cast<double>(observed.span_ns) * 1e-9);
    }
    if (drift.drifted) drift.since = Since(buckets, observed, spec, options_.tau, thin);
    FillDistances(Declared(plan_, buckets.dim()), observed, domain.max, pricing.cost, null, drift);
  }

  bool Hit(const plan::Variant& variant) const {
    return std::all_of(observed_.begin(), observed_.end(), [&](const auto& seen) {
      const plan::Range& range = variant.envelope[seen.first];
      return std::any_of(seen.second.begin(), seen.second.end(), [&](const LengthWeight& e) {
        return e.length >= range.min && e.length <= range.max;
      });
    });
  }

  void CountVariants() {
    report_.coverage.variants = entry().variants.size();
    if (observed_.empty()) return;
    for (const plan::Variant& variant : entry().variants) {
      if (Hit(variant)) ++report_.coverage.variants_hit;
    }
  }

  void CountGroups() {
    std::set<std::pair<std::string, std::string>> known, launched;
    for (const plan::Variant& variant : entry().variants) {
      for (const plan::Group& group : variant.groups) known.emplace(variant.name, group.name);
    }
    for (const telemetry::GroupTelemetry& group : snapshot_.groups) {
      if (group.entry != entry().name || group.launches == 0) continue;
      if (known.count({group.variant, group.group}) > 0) {
        launched.emplace(group.variant, group.group);
      }
    }
    report_.coverage.groups = known.size();
    if (snapshot_.groups.empty()) {
      report_.notes.push_back("the telemetry counts no launches of fusion groups");
    } else {
      report_.coverage.groups_launched = launched.size();
    }
  }

  const std::shared_ptr<const plan::Body>& body_;
  const plan::Body& plan_;
  plan::Index entry_;
  const telemetry::Snapshot& snapshot_;
  const DriftOptions& options_;
  DriftReport report_;
  std::vector<std::pair<plan::Index, LengthHistogram>> observed_;
};

}  // namespace

double PlanRegret(const PlanBuckets& buckets, const TrafficWindow& window, const BucketSpec& spec,
                  base::Prng& prng) {
  double cost = 0, least = 0;
  if (const std::optional<Halves> halves = HalvesOf(window, prng)) {
    cost = buckets.Work(halves->first, spec).cost + buckets.Work(halves->second, spec).cost;
    least = CrossFittedOptimum(*halves, {}, 1.0, spec);
  } else {
    cost = buckets.Work(window.lengths, spec).cost;
    least = FitBuckets(window.lengths, spec).cost;
  }
  return least > 0 ? cost / least - 1 : 0;
}

BucketSpec ReplacementSpec(const PlanBuckets& buckets, CostFn cost, double phi,
                           std::int64_t align) {
  BucketSpec spec;
  spec.max_buckets = std::max(1, static_cast<int>(buckets.edges().size()));
  spec.fallback_factor = phi;
  spec.align = align;
  spec.cost = std::move(cost);
  if (!buckets.edges().empty()) spec.covers = buckets.edges().back();
  return spec;
}

Status CheckCommon(double tau, double phi, std::int64_t align) {
  if (!(tau >= 0 && tau <= 10)) {
    return base::InvalidArgument(absl::StrCat("tau is ", tau, "; between 0 and 10"));
  }
  if (!(phi >= 1 && phi <= 1000)) {
    return base::InvalidArgument(absl::StrCat("phi is ", phi, "; between 1 and 1000"));
  }
  if (align < 1 || align > (std::int64_t{1} << 32)) {
    return base::InvalidArgument(absl::StrCat("align is ", align, "; between 1 and 2^32"));
  }
  return Status();
}

Result<DriftReport> DetectDrift(const std::shared_ptr<const plan::Body>& plan,
                                const telemetry::Snapshot& snapshot, const DriftOptions& options) {
  LEEWAY_RETURN_IF_ERROR(CheckCommon(options.tau, options.phi, options.align));
  if (snapshot.empty()) return base::InvalidArgument("the telemetry holds nothing");
  const std::string digest(plan->digest.bytes.begin(), plan->digest.bytes.end());
  if (!snapshot.plan_digest.empty() && snapshot.plan_digest != digest) {
    return base::FailedPrecondition(absl::StrCat("the telemetry is of plan ",
                                                 ShortHex(snapshot.plan_digest), ", not of ",
                                                 plan->digest_hex.substr(0, 12)));
  }
  LEEWAY_ASSIGN_OR_RETURN(const plan::Index entry, FindEntry(*plan, options.entry));
  return Detector(plan, entry, snapshot, options).Run();
}

}  // namespace leeway::retune
