#include "plan/changes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "plan/group_match.h"
#include "plan/outline.h"
#include "plan/outline_text.h"

namespace leeway::plan {
namespace {

using Kind = PlanChangeKind;

// Where an item stands in each plan: either may be missing.
struct Place {
  std::string before, after;
};

std::string Below(const std::string& path, const std::string& field) {
  return path.empty() || field.empty() ? path + field : path + "." + field;
}

// One line whatever names hold.
std::string Printable(std::string_view raw) {
  std::string text;
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      text += c;
    } else {
      text += "\\x" + Hex(std::string_view(&c, 1));
    }
  }
  return text;
}

// Values are shown from a little before their first difference, on one line.
class Excerpt {
 public:
  Excerpt(const std::string& a, const std::string& b) {
    if (std::max(a.size(), b.size()) <= kWidth) return;
    const auto differ = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    const auto common = static_cast<std::size_t>(differ.first - a.begin());
    start_ = common > kBefore ? common - kBefore : 0;
  }

  std::string operator()(const std::string& value) const {
    if (value.empty()) return "none";
    std::size_t begin = std::min(start_, value.size());
    std::size_t end = std::min(begin + kWidth, value.size());
    // Not within a character of several bytes.
    while (begin > 0 && begin < value.size() && IsInner(value[begin])) --begin;
    while (end < value.size() && IsInner(value[end])) ++end;
    return (begin > 0 ? "..." : "") + value.substr(begin, end - begin) +
           (end < value.size() ? "..." : "");
  }

 private:
  static constexpr std::size_t kWidth = 72, kBefore = 24;
  static bool IsInner(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

  std::size_t start_ = 0;
};

// Named things in the order of their names, pairs of equal names together.
template <typename T>
std::vector<std::pair<const T*, const T*>> Paired(const std::vector<T>& before,
                                                  const std::vector<T>& after) {
  const auto sorted = [](const std::vector<T>& items) {
    std::vector<const T*> pointers;
    for (const T& item : items) pointers.push_back(&item);
    std::sort(pointers.begin(), pointers.end(),
              [](const T* a, const T* b) { return a->name < b->name; });
    return pointers;
  };
  const std::vector<const T*> a = sorted(before), b = sorted(after);
  std::vector<std::pair<const T*, const T*>> pairs;
  for (std::size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool left = i < a.size() && (j == b.size() || a[i]->name <= b[j]->name);
    const bool right = j < b.size() && (i == a.size() || b[j]->name <= a[i]->name);
    pairs.emplace_back(left ? a[i++] : nullptr, right ? b[j++] : nullptr);
  }
  return pairs;
}

// The three kinds of change that a named thing as a whole can have.
struct Kinds {
  const char* what;
  const char* field;
  Kind added, removed;
};

std::string At(const std::string& parent, const char* field, Index index) {
  return Below(parent, std::string(field) + "[" + std::to_string(index) + "]");
}

class Differ {
 public:
  Differ(const DiffSide& before, const DiffSide& after, double threshold)
      : before_(before),
        after_(after),
        threshold_(threshold),
        a_(ReadOutline(before.plan)),
        b_(ReadOutline(after.plan)) {}

  PlanDiff Run() {
    diff_.same_digest = before_.plan.digest == after_.plan.digest;
    CompareFacts("plan", {}, a_.facts, b_.facts);
    CompareItems({"dim", "dims", Kind::kDimAdded, Kind::kDimRemoved}, "", {}, a_.dims, b_.dims);
    CompareItems({"tensor", "tensors", Kind::kTensorAdded, Kind::kTensorRemoved}, "", {},
                 a_.tensors, b_.tensors);
    constexpr Kinds kEntries = {"entry", "entries", Kind::kEntryAdded, Kind::kEntryRemoved};
    for (const auto& [a, b] : Paired(a_.entries, b_.entries)) {
      const Place place = PlaceOf(kEntries, {}, a, b);
      if (IsInBoth(kEntries, "", place, a, b)) CompareEntries(place, *a, *b);
    }
    return std::move(diff_);
  }

 private:
  static std::string Named(const char* what, const std::string& scope, const std::string& name) {
    return std::string(what) + " \"" + scope + name + "\"";
  }

  void Add(Kind kind, const Place& place, std::string_view text, const std::string& before,
           const std::string& after) {
    diff_.changes.push_back(
        {kind, place.before, place.after, Printable(text), before, after, std::nullopt});
  }

  static Place PlaceOf(const Kinds& kinds, const Place& parent, const Item* a, const Item* b) {
    return {a != nullptr ? At(parent.before, kinds.field, a->index) : "",
            b != nullptr ? At(parent.after, kinds.field, b->index) : ""};
  }

  // Whether both plans have the thing; else a change says which one has.
  bool IsInBoth(const Kinds& kinds, const std::string& scope, const Place& place, const Item* a,
                const Item* b) {
    if (a != nullptr && b != nullptr) return true;
    const std::string& name = a != nullptr ? a->name : b->name;
    Add(a == nullptr ? kinds.added : kinds.removed, place,
        Named(kinds.what, scope, name) + (a == nullptr ? " added" : " removed"),
        a != nullptr ? name : "", b != nullptr ? name : "");
    return false;
  }

  void CompareItems(const Kinds& kinds, const std::string& scope, const Place& parent,
                    const std::vector<Item>& before, const std::vector<Item>& after) {
    for (const auto& [a, b] : Paired(before, after)) {
      const Place place = PlaceOf(kinds, parent, a, b);
      if (!IsInBoth(kinds, scope, place, a, b)) continue;
      CompareFacts(Named(kinds.what, scope, a->name), place, a->facts, b->facts);
    }
  }

  // Calls `differ` with pairs of facts of one label; either may be null.
  template <typename Function>
  static void ForDifferent(const Facts& before, const Facts& after, Function differ) {
    for (std::size_t i = 0, j = 0; i < before.size() || j < after.size();) {
      const bool left =
          i < before.size() && (j == after.size() || before[i].label <= after[j].label);
      const bool right =
          j < after.size() && (i == before.size() || after[j].label <= before[i].label);
      const Fact* a = left ? &before[i++] : nullptr;
      const Fact* b = right ? &after[j++] : nullptr;
      if (a == nullptr || b == nullptr || a->value != b->value) differ(a, b);
    }
  }

  void CompareFacts(const std::string& subject, const Place& item, const Facts& before,
                    const Facts& after) {
    ForDifferent(before, after, [&](const Fact* a, const Fact* b) {
      const Fact& fact = a != nullptr ? *a : *b;
      // Every dim has an envelope: one in one plan alone is a dim in that plan alone.
      const bool of_dim = fact.kind == Kind::kEnvelope || fact.kind == Kind::kShapeMode;
      if (of_dim && (a == nullptr || b == nullptr)) return;
      // Comes with the predicted time.
      if (fact.kind == Kind::kPrediction) return;
      const std::string old_value = a != nullptr ? a->value : "";
      const std::string new_value = b != nullptr ? b->value : "";
      const Excerpt shown(old_value, new_value);
      Add(fact.kind,
          {Below(item.before, a != nullptr ? a->at : ""),
           Below(item.after, b != nullptr ? b->at : "")},
          subject + ": " + fact.label + " " + shown(old_value) + " -> " + shown(new_value),
          old_value, new_value);
    });
  }

  void CompareEntries(const Place& place, const EntryItem& a, const EntryItem& b) {
    const std::string scope = a.name + "/";
    CompareFacts(Named("entry", "", a.name), place, a.facts, b.facts);
    CompareItems({"operator", "operators", Kind::kOperatorAdded, Kind::kOperatorRemoved}, scope,
                 place, a.operators, b.operators);
    CompareFirstVariant(place, a, b);
    constexpr Kinds kVariants = {"variant", "variants", Kind::kVariantAdded, Kind::kVariantRemoved};
    for (const auto& [left, right] : Paired(a.variants, b.variants)) {
      const Place at = PlaceOf(kVariants, place, left, right);
      if (IsInBoth(kVariants, scope, at, left, right)) {
        CompareVariants(scope, at, a.index, *left, b.index, *right);
      }
    }
  }

  void CompareFirstVariant(const Place& place, const EntryItem& a, const EntryItem& b) {
    const auto has = [](const EntryItem& entry, const std::string& name) {
      return std::any_of(entry.variants.begin(), entry.variants.end(),
                         [&](const VariantItem& variant) { return variant.name == name; });
    };
    if (a.variants.empty() || b.variants.empty()) return;
    const std::string &first = a.variants[0].name, &now = b.variants[0].name;
    // One that came or went says so itself.
    if (first == now || !has(a, now) || !has(b, first)) return;
    Add(Kind::kVariantOrder, {Below(place.before, "variants"), Below(place.after, "variants")},
        Named("entry", "", a.name) + ": first variant \"" + first + "\" -> \"" + now +
            "\", whose cores and shards the fallback takes",
        first, now);
  }

  const VariantTimes* TimesOf(const PlanTimes& times, Index entry, Index variant) const {
    if (entry >= times.size() || variant >= times[entry].size()) return nullptr;
    return &times[entry][variant];
  }

  void CompareVariants(const std::string& scope, const Place& place, Index a_entry,
                       const VariantItem& a, Index b_entry, const VariantItem& b) {
    const std::string subject = Named("variant", scope, a.name);
    CompareFacts(subject, place, a.facts, b.facts);
    const GroupMatch match = MatchGroups(a.groups, b.groups);
    AddGroupChanges(subject, scope + a.name + "/", place, match);
    const VariantTimes* before = TimesOf(before_.times, a_entry, a.index);
    const VariantTimes* after = TimesOf(after_.times, b_entry, b.index);
    for (const GroupPair& pair : match.pairs) {
      CompareGroups(scope + a.name + "/", place, pair, before, after);
    }
    if (before == nullptr || after == nullptr) return;
    ComparePrediction(Kind::kTotalPrediction, subject + ": predicted time of all groups", place,
                      {before->total, nullptr}, {after->total, nullptr});
  }

  static std::string Names(const std::vector<const GroupItem*>& groups) {
    std::vector<std::string> names;
    for (const GroupItem* group : groups) names.push_back(NameText(group->name));
    return Join(names);
  }

  static std::string PathTo(const std::string& variant,
                            const std::vector<const GroupItem*>& groups) {
    return groups.size() == 1 ? At(variant, "fusion_groups", groups[0]->index)
                              : Below(variant, groups.empty() ? "" : "fusion_groups");
  }

  void AddGroupChanges(const std::string& subject, const std::string& scope, const Place& place,
                       const GroupMatch& match) {
    for (const Regrouping& change : match.regroupings) {
      const Kind kind = change.before.empty()      ? Kind::kGroupAdded
                        : change.after.empty()     ? Kind::kGroupRemoved
                        : change.after.size() > 1  ? Kind::kGroupSplit
                        : change.before.size() > 1 ? Kind::kGroupMerged
                                                   : Kind::kGroupRenamed;
      const std::string before = Names(change.before), after = Names(change.after);
      std::string text;
      switch (kind) {
        case Kind::kGroupAdded:
          text = Named("group", scope, change.after[0]->name) + " added";
          break;
        case Kind::kGroupRemoved:
          text = Named("group", scope, change.before[0]->name) + " removed";
          break;
        case Kind::kGroupSplit:
          text = subject + ": group " + before + " split into groups " + after;
          break;
        case Kind::kGroupMerged:
          text = subject + ": groups " + before + " merged into group " + after;
          break;
        default:
          text = subject + ": group " + before + " renamed to " + after;
      }
      Add(kind, {PathTo(place.before, change.before), PathTo(place.after, change.after)}, text,
          before, after);
    }
    for (const MovedOperator& moved : match.moved) {
      Add(Kind::kOperatorMoved,
          {PathTo(place.before, {moved.before}), PathTo(place.after, {moved.after})},
          subject + ": operator \"" + moved.op + "\" moved from group \"" + moved.before->name +
              "\" to group \"" + moved.after->name + "\"",
          moved.before->name, moved.after->name);
    }
  }

  void CompareGroups(const std::string& scope, const Place& variant, const GroupPair& pair,
                     const VariantTimes* before, const VariantTimes* after) {
    const GroupItem &a = *pair.before, &b = *pair.after;
    const Place place = {At(variant.before, "fusion_groups", a.index),
                         At(variant.after, "fusion_groups", b.index)};
    const std::string subject = Named("group", scope, b.name);
    if (const auto orders = CommonOrders(a, b)) {
      const Excerpt shown(orders->first, orders->second);
      Add(Kind::kOperatorOrder, {Below(place.before, "ops"), Below(place.after, "ops")},
          subject + ": order of operators " + shown(orders->first) + " -> " + shown(orders->second),
          orders->first, orders->second);
    }
    CompareFacts(subject, place, a.facts, b.facts);
    const auto time = [](const VariantTimes* times, Index group) {
      return times != nullptr && group < times->groups.size() ? times->groups[group] : std::nullopt;
    };
    ComparePrediction(Kind::kPrediction, subject + ": predicted time", place,
                      {time(before, a.index), ProfileOf(a)}, {time(after, b.index), ProfileOf(b)});
  }

  struct Predicted {
    std::optional<Nanos> time;
    const std::string* profile;
  };

  static const std::string* ProfileOf(const GroupItem& group) {
    for (const Fact& fact : group.facts) {
      if (fact.kind == Kind::kPrediction) return &fact.value;
    }
    return nullptr;
  }

  void ComparePrediction(Kind kind, const std::string& subject, const Place& place,
                         const Predicted& a, const Predicted& b) {
    const std::string none;
    const std::string& old_profile = a.profile != nullptr ? *a.profile : none;
    const std::string& new_profile = b.profile != nullptr ? *b.profile : none;
    const bool same_profile = old_profile == new_profile;
    if (same_profile && (a.time == b.time || !a.time || !b.time)) return;
    std::optional<double> ratio;
    if (a.time && b.time && (a.time == b.time || (a.time->count() > 0 && b.time->count() > 0))) {
      const auto from = static_cast<double>(a.time->count());
      const auto to = static_cast<double>(b.time->count());
      ratio = a.time == b.time ? 0 : to / from - 1;
      const double apart = a.time == b.time ? 0 : std::max(from, to) / std::min(from, to) - 1;
      if (apart < threshold_) {
        ++diff_.small_predictions;
        return;
      }
    }
    const auto shown = [](const std::optional<Nanos>& time) {
      return time ? std::to_string(time->count()) + " ns" : std::string("none");
    };
    const std::string before = shown(a.time), after = shown(b.time);
    if (a.time != b.time) {
      Add(kind, place, subject + " " + before + " -> " + after + Percent(ratio), before, after);
    } else {
      // The prediction where it is looked at stays; what the plan states has changed elsewhere.
      const Excerpt excerpt(old_profile, new_profile);
      Add(kind, {Below(place.before, "profile"), Below(place.after, "profile")},
          subject + " stays " + before + ", profile " + excerpt(old_profile) + " -> " +
              excerpt(new_profile),
          old_profile, new_profile);
    }
    diff_.changes.back().ratio = ratio;
  }

  static std::string Percent(const std::optional<double>& ratio) {
    if (!ratio) return "";
    // Tenths of a percent, rounded half away from zero.
    const double tenths = std::round(*ratio * 1000);
    constexpr double kLargest = 1e15;
    if (std::fabs(tenths) > kLargest) return " (over 10^14 %)";
    const auto whole = static_cast<std::int64_t>(std::fabs(tenths));
    return std::string(" (") + (*ratio < 0 ? "-" : "+") + std::to_string(whole / 10) + "." +
           std::to_string(whole % 10) + " %)";
  }

  const DiffSide &before_, &after_;
  double threshold_;
  Outline a_, b_;
  PlanDiff diff_;
};

}  // namespace

PlanDiff DiffPlans(const DiffSide& before, const DiffSide& after, double threshold) {
  return Differ(before, after, threshold).Run();
}

}  // namespace leeway::plan
