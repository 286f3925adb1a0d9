// Name to index, for names that must be unique within their scope.
//
// Threading: a table belongs to one thread.
// Lifetime:  the table borrows the names: they must not move while it lives.

#ifndef LEEWAY_PLAN_NAMES_H_
#define LEEWAY_PLAN_NAMES_H_

#include <optional>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "plan/body.h"

namespace leeway::plan {

class Names {
 public:
  Names() : indices_(0, Hash{&names_}, Equal{&names_}) {}
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  void Reserve(std::size_t names) {
    names_.reserve(names);
    indices_.reserve(names);
  }

  // Returns the index that had the name before, or nothing if it was free and is now taken.
  std::optional<Index> Add(std::string_view name, Index index) {
    if (names_.size() <= index) names_.resize(index + std::size_t{1});
    names_[index] = name;
    const auto [at, added] = indices_.insert(index);
    if (added) return std::nullopt;
    return *at;
  }

  std::optional<Index> Find(std::string_view name) const {
    // Most lists name what they refer to in the order in which it was declared.
    if (next_ < names_.size() && names_[next_] == name && !name.empty()) return next_++;
    const auto at = indices_.find(name);
    if (at == indices_.end()) return std::nullopt;
    next_ = *at + 1;
    return *at;
  }

 private:
  struct Hash {
    using is_transparent = void;
    const std::vector<std::string_view>* names;
    std::size_t operator()(std::string_view name) const {
      return absl::HashOf(absl::string_view(name.data(), name.size()));
    }
    std::size_t operator()(Index index) const { return (*this)((*names)[index]); }
  };
  struct Equal {
    using is_transparent = void;
    const std::vector<std::string_view>* names;
    bool operator()(Index a, Index b) const { return (*names)[a] == (*names)[b]; }
    bool operator()(Index a, std::string_view b) const { return (*names)[a] == b; }
    bool operator()(std::string_view a, Index b) const { return a == (*names)[b]; }
  };

  std::vector<std::string_view> names_;
  // Abseil salts the hash per process, so that a plan cannot be made of colliding names; nothing
  // iterates over the table.
  absl::flat_hash_set<Index, Hash, Equal> indices_;
  mutable Index next_ = 0;
};

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_NAMES_H_
