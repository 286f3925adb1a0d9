// Name to index, for names that must be unique within their scope.
//
// Threading: a table belongs to one thread.
// Lifetime:  the table borrows the names: they must not move while it lives.

#ifndef LEEWAY_PLAN_NAMES_H_
#define LEEWAY_PLAN_NAMES_H_

#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "plan/body.h"

namespace leeway::plan {

class Names {
 public:
  void Reserve(std::size_t names) { indices_.reserve(names); }

  // Returns the index that had the name before, or nothing if it was free and is now taken.
  std::optional<Index> Add(std::string_view name, Index index) {
    const auto [at, added] = indices_.try_emplace(Key(name), index);
    if (added) return std::nullopt;
    return at->second;
  }

  std::optional<Index> Find(std::string_view name) const {
    const auto at = indices_.find(Key(name));
    if (at == indices_.end()) return std::nullopt;
    return at->second;
  }

 private:
  static absl::string_view Key(std::string_view name) { return {name.data(), name.size()}; }

  // Abseil salts the hash per process, so that a plan cannot be made of colliding names; nothing
  // iterates over the table.
  absl::flat_hash_map<absl::string_view, Index> indices_;
};

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_NAMES_H_
