#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/reader.h"
#include "plan/run_order.h"
#include "plan/validate.h"

namespace leeway::plan {
namespace {

// When a tensor, views included, is needed.
struct Lifetime {
  std::vector<Index> writers, readers;  // groups, rising
  bool from_start = false, to_end = false;

  bool used() const { return from_start || !writers.empty(); }
};

// Lifetimes of the tensors that lie in the arenas of one variant.
class Lifetimes {
 public:
  Lifetimes(const LinkedVariant& linked, LifetimeBudget& budget)
      : linked_(linked), budget_(budget), in_group_(linked.entry.operators.size(), 0) {
    for (const Arena& arena : linked.variant.arenas) {
      for (const ArenaSlot& slot : arena.slots) lives_.try_emplace(slot.tensor);
    }
    for (Index g = 0; g < linked.variant.groups.size(); ++g) VisitGroup(g);
    // What stays of an elided operator's result is what it was made of.
    ++stamp_;
    for (const Elided& elided : linked.variant.elided) {
      for (const Index tensor : linked.entry.operators[elided.op].outputs) {
        if (linked.body.tensors[tensor].kind != TensorKind::kActivation) Read(tensor, kNone);
      }
    }
  }

  const Lifetime& Of(Index tensor) const { return lives_.find(tensor)->second; }

 private:
  // Of a tensor that the entry uses.
  Lifetime* Find(Index tensor) {
    const Index base = linked_.body.tensors[tensor].alias_of.value_or(tensor);
    const auto at = lives_.find(base);
    if (at == lives_.end()) return nullptr;
    NoteKind(base, at->second);
    NoteKind(tensor, at->second);
    return &at->second;
  }

  void NoteKind(Index tensor, Lifetime& life) const {
    const TensorKind kind = linked_.body.tensors[tensor].kind;
    const bool always = kind == TensorKind::kWeight || kind == TensorKind::kState;
    life.from_start |= always || kind == TensorKind::kInput;
    life.to_end |= always || kind == TensorKind::kOutput;
  }

  void VisitGroup(Index g) {
    ++stamp_;
    const std::vector<Index>& ops = linked_.variant.groups[g].ops;
    for (const Index op : ops) in_group_[op] = stamp_;
    for (const Index op : ops) {
      const Operator& member = linked_.entry.operators[op];
      for (const Index tensor : member.inputs) {
        // What the group computes itself, again or not, it does not need from elsewhere.
        const Index producer = linked_.uses.Producer(tensor);
        if (producer == kNone || in_group_[producer] != stamp_) Read(tensor, g);
      }
      if (linked_.owner[op] != g) continue;
      for (const Index tensor : member.outputs) {
        Lifetime* const life = Find(tensor);
        if (life != nullptr && (life->writers.empty() || life->writers.back() != g)) {
          life->writers.push_back(g);
        }
      }
    }
  }

  // Group `g` reads the tensor and, through elided operators, what it is made of; kNone stands for
  // whoever looks at it once the run has ended.
  void Read(Index tensor, Index g) {
    std::vector<Index> open = {tensor};
    while (!open.empty()) {
      const Index read = open.back();
      open.pop_back();
      if (Lifetime* const life = Find(read)) {
        if (g == kNone) {
          life->to_end = true;
        } else if (life->readers.empty() || life->readers.back() != g) {
          life->readers.push_back(g);
        }
      }
      const Index producer = linked_.uses.Producer(read);
      if (producer == kNone || linked_.owner[producer] != kElided) continue;
      if (std::exchange(passed_[producer], stamp_) == stamp_) continue;
      const std::vector<Index>& inputs = linked_.entry.operators[producer].inputs;
      if (budget_ < inputs.size()) budget_ = 0;
      if (budget_ == 0) return;
      budget_ -= inputs.size();
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
  }

  const LinkedVariant& linked_;
  LifetimeBudget& budget_;
  absl::flat_hash_map<Index, Lifetime> lives_;
  // By operator: the stamp of the last group that lists it.
  std::vector<Index> in_group_;
  // By elided operator: the last visit that passed through it.
  absl::flat_hash_map<Index, Index> passed_;
  Index stamp_ = 0;
};

// Why two tensors can be needed at once.
struct Conflict {
  Index use = kNone, writer = kNone;  // groups; kNone where it is not for a group
};

// Compares the slots of one arena.
//
// "All uses of a have ended before b is written" is an order of tensors. Those that lie on one byte
// must be ordered one after the other and, as it is transitive, it is enough to compare neighbours
// by position: in a sweep over the bytes there are at most three new ones for each slot.
class ArenaSweep {
 public:
  ArenaSweep(const LinkedVariant& linked, const Lifetimes& lives, RunOrder& order,
             LifetimeBudget& budget, Findings& findings)
      : linked_(linked), lives_(lives), order_(order), budget_(budget), findings_(findings) {}

  void Check(const Path& path, const Arena& arena) {
    slots_ = &arena.slots;
    reported_.assign(arena.slots.size(), 0);
    for (const std::size_t end : {std::size_t{0}, std::size_t{1}}) Sweep(path, end);
  }

 private:
  // Where the position of a slot's tensor is, and the slot.
  using Ranked = std::pair<std::int64_t, std::size_t>;
  struct Event {
    std::int64_t at;
    bool opens;
    std::size_t slot;
    bool operator<(const Event& other) const {
      return std::tie(at, opens, slot) < std::tie(other.at, other.opens, other.slot);
    }
  };

  void Sweep(const Path& path, std::size_t end) {
    std::vector<Event> events;
    for (std::size_t i = 0; i < slots_->size(); ++i) {
      const ByteRange& bytes = (*slots_)[i].bytes[end];
      if (bytes.begin == bytes.end || !LifeOf(i).used()) continue;
      events.push_back({bytes.begin, true, i});
      events.push_back({bytes.end, false, i});
    }
    std::sort(events.begin(), events.end());
    std::set<Ranked> open;
    for (const Event& event : events) {
      const Ranked ranked{Rank(event.slot), event.slot};
      const auto at = event.opens ? open.insert(ranked).first : open.find(ranked);
      const auto next = std::next(at);
      const bool has_before = at != open.begin(), has_after = next != open.end();
      if (event.opens && has_before) Compare(path, end, std::prev(at)->second, event.slot);
      if (event.opens && has_after) Compare(path, end, event.slot, next->second);
      if (event.opens) continue;
      if (has_before && has_after) Compare(path, end, std::prev(at)->second, next->second);
      open.erase(at);
    }
  }

  const Lifetime& LifeOf(std::size_t slot) const { return lives_.Of((*slots_)[slot].tensor); }

  std::int64_t Rank(std::size_t slot) const {
    const Lifetime& life = LifeOf(slot);
    if (life.from_start) return -1;
    Index rank = kNone;
    for (const Index writer : life.writers) rank = std::min(rank, order_.Position(writer));
    return rank;
  }

  // Returns why slot `a` may still be needed when slot `b` is written.
  std::optional<Conflict> Find(std::size_t a, std::size_t b, bool in_place) {
    const Lifetime &first = LifeOf(a), &second = LifeOf(b);
    if (first.to_end || second.from_start) return Conflict{};
    for (const bool reads : {false, true}) {
      for (const Index use : reads ? first.readers : first.writers) {
        for (const Index writer : second.writers) {
          const bool replaces =
              in_place && reads && use == writer &&
              !std::binary_search(first.writers.begin(), first.writers.end(), use);
          if (budget_ == 0) return std::nullopt;
          --budget_;
          if (!replaces && !order_.Precedes(use, writer, budget_)) return Conflict{use, writer};
        }
      }
    }
    return std::nullopt;
  }

  void Compare(const Path& path, std::size_t end, std::size_t a, std::size_t b) {
    if (reported_[a] != 0 || reported_[b] != 0) return;
    const ByteRange &first = (*slots_)[a].bytes[end], &second = (*slots_)[b].bytes[end];
    const std::optional<Conflict> conflict = Find(a, b, first.begin == second.begin);
    if (!conflict) return;
    reported_[a] = reported_[b] = 1;
    const auto name = [&](std::size_t slot) {
      return "tensor " + Quote(linked_.body.tensors[(*slots_)[slot].tensor].name);
    };
    const auto group = [&](Index g) { return "group " + Quote(linked_.variant.groups[g].name); };
    std::string message = name(b) + " overlaps " + name(a) + " (slots[" +
                          std::to_string((*slots_)[a].listed) + "]) in bytes " +
                          std::to_string(std::max(first.begin, second.begin)) + " to " +
                          std::to_string(std::min(first.end, second.end) - 1) +
                          (linked_.body.dims.empty() ? ""
                           : end == 0                ? " where dimensions are at their max"
                                                     : " where dimensions are at their min") +
                          ", and both can be needed at once: ";
    if (conflict->use != kNone) {
      message += group(conflict->use) + ", which uses the other, need not have ended when " +
                 group(conflict->writer) + " writes it";
    } else {
      message += LifeOf(a).to_end ? "the other is needed until the run has ended"
                                  : "it is there before the run starts";
    }
    findings_.Error(path.At("slots", (*slots_)[b].listed), std::move(message));
  }

  const LinkedVariant& linked_;
  const Lifetimes& lives_;
  RunOrder& order_;
  LifetimeBudget& budget_;
  Findings& findings_;
  const std::vector<ArenaSlot>* slots_ = nullptr;
  std::vector<char> reported_;
};

}  // namespace

void CheckArenas(const Path& path, const LinkedVariant& linked, LifetimeBudget& budget,
                 Findings& findings) {
  const std::vector<Arena>& arenas = linked.variant.arenas;
  const auto shares = [](const Arena& arena) { return arena.slots.size() > 1; };
  if (std::none_of(arenas.begin(), arenas.end(), shares)) return;
  RunOrder order(linked.variant, RunOrder::Lists::kOfOneCore);
  const Lifetimes lives(linked, budget);
  ArenaSweep sweep(linked, lives, order, budget, findings);
  for (std::size_t i = 0; i < arenas.size(); ++i) {
    sweep.Check(path.At("arenas", i), arenas[i]);
  }
  if (budget > 0) return;
  findings.Warning(path.At("arenas"),
                   "the lifetimes of tensors that overlap are not all compared: it takes too long");
}

}  // namespace leeway::plan
