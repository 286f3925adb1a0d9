// The operators of one entry as candidates for groups: who feeds whom, and what a set of them reads
// from and writes to memory.
//
// Threading: immutable.
// Lifetime:  borrows the body.

#ifndef LEEWAY_COMPILE_ENTRY_GRAPH_H_
#define LEEWAY_COMPILE_ENTRY_GRAPH_H_

#include <optional>
#include <span>
#include <vector>

#include "plan/body.h"

namespace leeway::compile {

class EntryGraph {
 public:
  // `index` is an entry of the body.
  EntryGraph(const plan::Body& body, plan::Index index);

  const plan::Body& body() const { return *body_; }
  const plan::Entry& entry() const { return body_->entries[index_]; }
  plan::Index index() const { return index_; }
  std::size_t size() const { return operators_.size(); }

  // Returns the call that the operator is, or null.
  const plan::Call* CallOf(plan::Index op) const;
  // Whether the operator stays a group of its own: calls, and what the model itself states the work
  // or the measured time of, which says nothing about the operator in company.
  bool StandsAlone(plan::Index op) const;
  // Whether `consumer` reads what `producer` writes.
  bool Feeds(plan::Index producer, plan::Index consumer) const;

  // Returns a group of these operators, which rise: without name or placement, in one shard, with
  // reads and writes as the loader derives them. A single operator has what the model states of it:
  // its work or, where the operator says nothing of its work, its profile and shards.
  plan::Group MakeGroup(std::span<const plan::Index> ops) const;

 private:
  struct Input {
    plan::Index tensor = 0;
    plan::Index producer = 0;  // or plan::kNone
    bool state = false;
  };
  struct Output {
    plan::Index tensor = 0;
    bool kept = false;  // in memory whoever reads it
    std::vector<plan::Index> readers;
  };
  struct Operator {
    std::vector<Input> inputs;
    std::vector<Output> outputs;
    std::optional<plan::Group> stated;  // work, or profile and shards
  };

  void CollectUses();
  void CollectStated();

  const plan::Body* body_;
  plan::Index index_;
  std::vector<Operator> operators_;
};

// Whether every operator of a group leaves its work open.
bool SaysNothing(const plan::Entry& entry, std::span<const plan::Index> ops);

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_ENTRY_GRAPH_H_
