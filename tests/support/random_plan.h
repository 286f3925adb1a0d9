// Random valid plans as trees of fields, and ways to spoil one field of a plan.
#ifndef LEEWAY_TESTS_SUPPORT_RANDOM_PLAN_H_
#define LEEWAY_TESTS_SUPPORT_RANDOM_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/prng.h"

namespace leeway::testing {

// A field of a message in text form: a scalar as it is written, or a message's fields.
struct PlanField {
  std::string name;
  std::string value;
  std::vector<PlanField> fields;

  PlanField& Add(std::string field, std::string scalar);
  PlanField& Message(std::string field);
};

// The text form of a leeway.plan Plan.
std::string TextOf(const PlanField& plan);

struct RandomPlanShape {
  // What engines run: dims bound at submit, one of them free ("seq"), work that the model covers.
  bool runs = false;
  std::string core_class = "matrix";
};

// Several entries, calls, variants with envelopes and constraints, groups that recompute, elided
// operators, views, placements, profiles, residency, schedules, arenas. The loader accepts it.
PlanField RandomPlan(std::uint64_t seed, const RandomPlanShape& shape = {});

// One way to spoil a field: `pattern` is its path without indices, or the end of it.
struct Corruption {
  std::string name, pattern;
  // What is written instead; empty: the field is left out.
  std::string value;
  // By how many components the path of the finding may stop short of the field's.
  int enclosing = 0;
};

const std::vector<Corruption>& Corruptions();

struct Spoilt {
  std::string text;  // empty if the plan has no such field
  std::string path;  // of the spoilt field
};

// Spoils a random field that fits.
Spoilt Spoil(const PlanField& plan, const Corruption& corruption, base::Prng& prng);

// True if `finding` is `path` or encloses it, up to `enclosing` components further up.
bool Names(const std::string& finding, const std::string& path, int enclosing);

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_SUPPORT_RANDOM_PLAN_H_
