// Placement domains: the distinct sets of cores that steps may run on. There are few of them, so
// that a core can look at each.
//
// Threading: filled while models are added; read-only afterwards.

#ifndef LEEWAY_SCHED_DOMAIN_H_
#define LEEWAY_SCHED_DOMAIN_H_

#include <cstddef>
#include <vector>

#include "base/ids.h"
#include "sched/core_set.h"

namespace leeway::sched {

using DomainId = base::Id<struct DomainTag>;

struct Domain {
  CoreSet allowed;   // E: where the placement lets a step run
  CoreSet of_class;  // D ⊇ E: the cores of its classes
  // A step may take another time, or have to fetch its weights, on one of these cores: finish
  // times are compared before it goes anywhere.
  bool weighed = false;
  friend bool operator==(const Domain&, const Domain&) = default;
};

class DomainTable {
 public:
  DomainId Intern(const Domain& domain) {
    for (std::size_t i = 0; i < domains_.size(); ++i) {
      if (domains_[i] == domain) return DomainId(i);
    }
    domains_.push_back(domain);
    return DomainId(domains_.size() - 1);
  }
  const Domain& operator[](DomainId id) const { return domains_[id.value()]; }
  std::size_t size() const { return domains_.size(); }

 private:
  std::vector<Domain> domains_;
};

}  // namespace leeway::sched

#endif  // LEEWAY_SCHED_DOMAIN_H_
