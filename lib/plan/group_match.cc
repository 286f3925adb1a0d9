#include "plan/group_match.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "plan/outline_text.h"

namespace leeway::plan {
namespace {

// What a group owns, sorted.
using Owned = std::vector<std::string_view>;

bool IsRecomputed(const GroupItem& group, const std::string& op) {
  return std::binary_search(group.recomputed.begin(), group.recomputed.end(), op);
}

// One of the two mappings.
class Side {
 public:
  explicit Side(const std::vector<GroupItem>& groups) {
    for (const GroupItem& group : groups) {
      Owned& owned = owned_[&group];
      for (const std::string& op : group.ops) {
        if (!IsRecomputed(group, op)) owned.push_back(op);
      }
      std::sort(owned.begin(), owned.end());
      for (const std::string_view op : owned) owner_[op] = &group;
      by_name_[group.name] = &group;
    }
  }

  const Owned& OwnedBy(const GroupItem* group) const { return owned_.at(group); }
  const GroupItem* OwnerOf(std::string_view op) const {
    const auto at = owner_.find(op);
    return at == owner_.end() ? nullptr : at->second;
  }
  const std::map<std::string_view, const GroupItem*>& owners() const { return owner_; }
  const std::map<std::string_view, const GroupItem*>& by_name() const { return by_name_; }

  // Groups that are not part of a pair or a regrouping yet have no partner.
  bool IsOpen(const GroupItem* group) const { return !matched_.contains(group); }
  // `pair` is nonnegative for a group of a pair, else of a regrouping.
  void Close(const GroupItem* group, int match) { matched_[group] = match; }
  int MatchOf(const GroupItem* group) const {
    const auto at = matched_.find(group);
    return at == matched_.end() ? kNoMatch : at->second;
  }

  static constexpr int kNoMatch = -1;

 private:
  std::map<const GroupItem*, Owned> owned_;
  std::map<const GroupItem*, int> matched_;
  std::map<std::string_view, const GroupItem*> owner_, by_name_;
};

class Matcher {
 public:
  Matcher(const std::vector<GroupItem>& before, const std::vector<GroupItem>& after)
      : a_(before), b_(after) {}

  GroupMatch Run() {
    MatchEqual();
    MatchParts(a_, b_, &Regrouping::before, &Regrouping::after);
    MatchParts(b_, a_, &Regrouping::after, &Regrouping::before);
    MatchNames();
    CollectRest();
    CollectMoves();
    std::sort(match_.pairs.begin(), match_.pairs.end(),
              [](const auto& a, const auto& b) { return a.before->name < b.before->name; });
    return std::move(match_);
  }

 private:
  void Pair(const GroupItem* before, const GroupItem* after) {
    a_.Close(before, matches_);
    b_.Close(after, matches_++);
    match_.pairs.push_back({before, after});
    if (before->name != after->name) match_.regroupings.push_back({{before}, {after}});
  }

  // Groups of the same name first, so that a rename is not seen where there is none.
  void MatchEqual() {
    for (const auto& [name, group] : a_.by_name()) {
      const auto same = b_.by_name().find(name);
      if (same != b_.by_name().end() && a_.OwnedBy(group) == b_.OwnedBy(same->second)) {
        Pair(group, same->second);
      }
    }
    for (const auto& [name, group] : a_.by_name()) {
      const Owned& owned = a_.OwnedBy(group);
      if (!a_.IsOpen(group) || owned.empty()) continue;
      const GroupItem* other = b_.OwnerOf(owned[0]);
      if (other != nullptr && b_.IsOpen(other) && b_.OwnedBy(other) == owned) Pair(group, other);
    }
  }

  // Finds groups of `whole` that several of `parts` make up.
  void MatchParts(Side& whole, Side& parts, std::vector<const GroupItem*> Regrouping::*whole_side,
                  std::vector<const GroupItem*> Regrouping::*parts_side) {
    for (const auto& [name, group] : whole.by_name()) {
      if (!whole.IsOpen(group)) continue;
      const Owned& owned = whole.OwnedBy(group);
      std::map<std::string_view, const GroupItem*> found;
      std::size_t held = 0;
      bool open = true;
      for (const std::string_view op : owned) {
        const GroupItem* part = parts.OwnerOf(op);
        open = open && part != nullptr && parts.IsOpen(part);
        if (!open) break;
        if (found.emplace(part->name, part).second) held += parts.OwnedBy(part).size();
      }
      // Each owner holds one of our operators at least: equal counts are equal sets.
      if (!open || found.size() < 2 || held != owned.size()) continue;
      Regrouping change;
      (change.*whole_side).push_back(group);
      whole.Close(group, matches_);
      for (const auto& [part_name, part] : found) {
        (change.*parts_side).push_back(part);
        parts.Close(part, matches_);
      }
      ++matches_;
      match_.regroupings.push_back(std::move(change));
    }
  }

  void MatchNames() {
    for (const auto& [name, group] : a_.by_name()) {
      const auto same = b_.by_name().find(name);
      if (same != b_.by_name().end() && a_.IsOpen(group) && b_.IsOpen(same->second)) {
        Pair(group, same->second);
      }
    }
  }

  void CollectRest() {
    for (const auto& [name, group] : a_.by_name()) {
      if (a_.IsOpen(group)) match_.regroupings.push_back({{group}, {}});
    }
    for (const auto& [name, group] : b_.by_name()) {
      if (b_.IsOpen(group)) match_.regroupings.push_back({{}, {group}});
    }
  }

  void CollectMoves() {
    for (const auto& [op, before] : a_.owners()) {
      const GroupItem* after = b_.OwnerOf(op);
      if (after == nullptr) continue;
      const int from = a_.MatchOf(before);
      if (from != Side::kNoMatch && from == b_.MatchOf(after)) continue;
      match_.moved.push_back({std::string(op), before, after});
    }
  }

  Side a_, b_;
  int matches_ = 0;
  GroupMatch match_;
};

}  // namespace

GroupMatch MatchGroups(const std::vector<GroupItem>& before, const std::vector<GroupItem>& after) {
  return Matcher(before, after).Run();
}

std::optional<std::pair<std::string, std::string>> CommonOrders(const GroupItem& before,
                                                                const GroupItem& after) {
  if (before.ops == after.ops) return std::nullopt;
  const auto shared = [](const GroupItem& of, const GroupItem& other) {
    std::vector<std::string_view> known(other.ops.begin(), other.ops.end());
    std::sort(known.begin(), known.end());
    std::vector<std::string> ops;
    for (const std::string& op : of.ops) {
      if (std::binary_search(known.begin(), known.end(), op)) ops.push_back(NameText(op));
    }
    return ops;
  };
  const std::vector<std::string> a = shared(before, after), b = shared(after, before);
  if (a == b) return std::nullopt;
  return std::pair(Join(a), Join(b));
}

}  // namespace leeway::plan
