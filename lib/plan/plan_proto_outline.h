// The parts of ReadOutline() that see messages; see outline.h.

#ifndef LEEWAY_PLAN_PLAN_PROTO_OUTLINE_H_
#define LEEWAY_PLAN_PLAN_PROTO_OUTLINE_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "leeway_internal/plan/v1/plan.pb.h"
#include "plan/body.h"
#include "plan/outline.h"

namespace leeway::plan {

namespace pb = leeway_internal::plan::v1;

// Spells expressions of one plan; equal texts are parsed once.
class Speller {
 public:
  explicit Speller(const Body& plan) : plan_(plan) {}

  const Body& plan() const { return plan_; }
  // Returns `otherwise` for an empty text.
  std::string operator()(const std::string& text, std::string_view otherwise = "");

 private:
  const Body& plan_;
  absl::flat_hash_map<std::string, std::string> spelt_;
};

// Collects the facts of one item.
//
// Readers clear each field that they have turned into a fact. What is left in a message is unknown
// to them, and Rest() makes facts of it: a field that nobody reads is compared all the same.
class FactWriter {
 public:
  explicit FactWriter(Item& item) : facts_(item.facts) {}
  explicit FactWriter(Facts& facts) : facts_(facts) {}

  // An empty value is none.
  void Add(PlanChangeKind kind, std::string_view label, std::string_view at, std::string value);
  void Annotations(google::protobuf::RepeatedPtrField<pb::Annotation>& annotations,
                   std::string_view field);
  // Ends the item with what is left in its message.
  void Rest(const google::protobuf::MessageLite& message);

 private:
  Facts& facts_;
};

// Returns what is left in a part of an item, to be told behind the part's value; nothing if empty.
std::string Leftover(const google::protobuf::MessageLite& message);

// Adds `word value` to a list of parts unless the value is what `otherwise` says.
void AddPart(std::string& text, std::string_view word, const std::string& value,
             std::string_view otherwise = "");

// "points[3]"
std::string Indexed(std::string_view field, std::size_t index);

std::string WorkText(pb::Work& message, Speller& spell);
// `entry` and `index` locate the variant in the plan.
VariantItem ReadVariantItem(pb::Variant& message, Index entry, Index index, Speller& spell);

// Returns values for every dim of the plan, by name; what is not given is at its domain's min.
std::string DimValuesText(const Body& plan,
                          const google::protobuf::RepeatedPtrField<pb::DimValue>& values);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_PLAN_PROTO_OUTLINE_H_
