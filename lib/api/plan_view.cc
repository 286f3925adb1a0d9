#include "leeway/plan_view.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "api/priced_plan.h"
#include "base/status_macros.h"
#include "plan/body.h"
#include "plan/findings.h"
#include "plan/plan_dot.h"
#include "plan/plan_text.h"

namespace leeway {
inline namespace v0 {
namespace {

bool IsNamed(const plan::Entry& entry, const plan::Variant& variant, const std::string& name) {
  return name.empty() || name == variant.name || name == entry.name + "/" + variant.name;
}

Status NoSuchVariant(const plan::Body& body, const std::string& name) {
  constexpr int kMaxShown = 50;
  std::string names;
  int count = 0;
  for (const plan::Entry& entry : body.entries) {
    for (const plan::Variant& variant : entry.variants) {
      if (++count > kMaxShown) continue;
      absl::StrAppend(&names, names.empty() ? "" : ", ", entry.name, "/", variant.name);
    }
  }
  if (count > kMaxShown) absl::StrAppend(&names, " and ", count - kMaxShown, " more");
  return base::NotFound(absl::StrCat("plan ", plan::Quote(body.model), " has no variant ",
                                     plan::Quote(name),
                                     "; it has: ", names.empty() ? "none" : names));
}

// The variants that are asked for, priced; null for others.
class View {
 public:
  static Result<View> Of(const Plan& plan, const PlanViewOptions& options) {
    const plan::Body& body = *plan.body();
    LEEWAY_ASSIGN_OR_RETURN(const api::AskedDims asked,
                            api::ResolveDims(body, options.at, api::Unknown::kRefuse));
    View view(body);
    bool found = options.variant.empty();
    for (const plan::Entry& entry : body.entries) {
      auto& variants = view.priced_.emplace_back();
      for (const plan::Variant& variant : entry.variants) {
        const bool named = IsNamed(entry, variant, options.variant);
        found = found || named;
        variants.push_back(
            named ? std::optional(api::PriceVariant(body, entry, variant, asked, options.device))
                  : std::nullopt);
      }
    }
    if (!found) return NoSuchVariant(body, options.variant);
    view.all_ = options.variant.empty();
    return view;
  }

  plan::Extras Extras() const {
    plan::Extras extras;
    if (!all_) {
      extras.shows = [this](plan::Index e, plan::Index v) { return priced_[e][v].has_value(); };
    }
    extras.dims = [this](plan::Index e, plan::Index v) { return priced_[e][v]->dims; };
    extras.group_words = [this](plan::Index e, plan::Index v, plan::Index g) {
      return Words(*priced_[e][v], g);
    };
    return extras;
  }

  std::vector<VariantView> Variants() const {
    std::vector<VariantView> views;
    for (std::size_t e = 0; e < priced_.size(); ++e) {
      for (std::size_t v = 0; v < priced_[e].size(); ++v) {
        if (priced_[e][v]) {
          const plan::Entry& entry = body_.entries[e];
          views.push_back(ViewOf(entry, entry.variants[v], *priced_[e][v]));
        }
      }
    }
    return views;
  }

 private:
  explicit View(const plan::Body& body) : body_(body) {}

  static std::string Words(const api::PricedVariant& priced, plan::Index g) {
    const auto amount = [](const std::optional<std::int64_t>& value) {
      return value ? absl::StrCat(*value, " B") : std::string("-");
    };
    if (!priced.dims) return "time - (not covered)";
    const device::GroupFigures& group = priced.groups[g];
    const auto& time = group.time.time;
    return absl::StrCat("time ", time ? absl::StrCat(time->count(), " ns") : "-", " (",
                        std::string(TimeOriginName(group.time.origin)), ") reads ",
                        group.read_bytes, " B writes ", group.write_bytes, " B dram ",
                        amount(group.dram_bytes), " sram ", amount(group.sram_bytes), " peak ",
                        group.peak_bytes, " B burst ", group.burst_bytes, " B");
  }

  VariantView ViewOf(const plan::Entry& entry, const plan::Variant& variant,
                     const api::PricedVariant& priced) const {
    VariantView view{entry.name, variant.name, std::nullopt, priced.total.time, {}};
    if (priced.dims) {
      view.at.emplace();
      for (std::size_t d = 0; d < body_.dims.size(); ++d) {
        view.at->push_back({body_.dims[d].name, (*priced.dims)[d]});
      }
    }
    for (std::size_t g = 0; g < variant.groups.size(); ++g) {
      GroupView group;
      group.name = variant.groups[g].name;
      group.placement = plan::PlacementText(variant.groups[g].placement);
      for (const plan::Index op : variant.groups[g].ops) {
        group.ops.push_back(entry.operators[op].name);
      }
      if (priced.dims) {
        group.shards = variant.groups[g].shards(*priced.dims);
        SetFigures(priced.groups[g], group);
      }
      view.groups.push_back(std::move(group));
    }
    return view;
  }

  static void SetFigures(const device::GroupFigures& from, GroupView& group) {
    group.time = from.time.time;
    group.origin = from.time.origin;
    group.reason = from.time.reason;
    group.read_bytes = from.read_bytes;
    group.write_bytes = from.write_bytes;
    group.dram_bytes = from.dram_bytes;
    group.sram_bytes = from.sram_bytes;
    group.peak_bytes = from.peak_bytes;
    group.burst_bytes = from.burst_bytes;
  }

  const plan::Body& body_;
  std::vector<std::vector<std::optional<api::PricedVariant>>> priced_;
  bool all_ = true;
};

}  // namespace

std::string_view TimeOriginName(TimeOrigin origin) {
  switch (origin) {
    case TimeOrigin::kProfiled:
      return "profiled";
    case TimeOrigin::kExtrapolated:
      return "extrapolated";
    case TimeOrigin::kModelled:
      return "modelled";
    case TimeOrigin::kUnprofiled:
      return "unprofiled";
  }
  return "?";
}

Result<std::vector<VariantView>> ViewPlan(const Plan& plan, const PlanViewOptions& options) {
  LEEWAY_ASSIGN_OR_RETURN(const View view, View::Of(plan, options));
  return view.Variants();
}

Result<std::string> PlanText(const Plan& plan, const PlanViewOptions& options) {
  LEEWAY_ASSIGN_OR_RETURN(const View view, View::Of(plan, options));
  return plan::ToText(*plan.body(), view.Extras());
}

Result<std::string> PlanDot(const Plan& plan, const PlanViewOptions& options) {
  LEEWAY_ASSIGN_OR_RETURN(const View view, View::Of(plan, options));
  return plan::ToDot(*plan.body(), view.Extras());
}

}  // namespace v0
}  // namespace leeway
