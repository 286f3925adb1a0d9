#include "tests/support/random_plan.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace leeway::testing {
namespace {

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

bool IsRepeated(const std::string& name, const std::string& parent) {
  if (parent == "reduce" || parent == "waits") return false;
  static const std::set<std::string> kRepeated = {
      "dims",    "tensors",        "entries", "operators", "variants",    "inputs",
      "outputs", "after",          "shape",   "envelope",  "constraints", "fusion_groups",
      "ops",     "recomputed",     "elided",  "layouts",   "residency",   "cores",
      "points",  "minor_to_major", "tiles",   "waits",     "groups",      "annotations",
      "grid",    "scale",          "arenas",  "slots"};
  return kRepeated.count(name) != 0;
}

void Write(const std::vector<PlanField>& fields, std::string& text) {
  for (const PlanField& field : fields) {
    if (!field.value.empty()) {
      text.append(field.name).append(": ").append(field.value).append("\n");
      continue;
    }
    text.append(field.name).append(" {\n");
    Write(field.fields, text);
    text.append("}\n");
  }
}

class Maker {
 public:
  Maker(std::uint64_t seed, const RandomPlanShape& shape) : prng_(seed), shape_(shape) {}

  PlanField Make() {
    plan_.Message("header").Add("model", "\"random\"");
    plan_.fields.back().Add("producer", "\"test\"");
    AddDims();
    AddTensor("x", "INPUT");
    AddWeight("w0");
    AddWeight("w1");
    if (!shape_.runs && Chance(2)) AddTensor("cache", "STATE");
    const bool calls = Chance(2);
    const std::size_t entries = calls ? 2 : 1;
    for (std::size_t e = 0; e < entries; ++e) AddEntry(e, calls && e == 0);
    if (!shape_.runs && Chance(2)) AddEntry(entries, false);
    if (Chance(2)) Annotate(plan_);
    AddShapeProfile();
    return std::move(plan_);
  }

 private:
  struct OperatorInfo {
    std::string name, output;
    bool call = false, activation = false;
  };

  bool Chance(std::uint64_t one_in) { return prng_.Below(one_in) == 0; }
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(prng_.Below(static_cast<std::uint64_t>(high - low + 1)));
  }
  std::string Pick(std::initializer_list<const char*> choices) {
    return *(choices.begin() + prng_.Below(choices.size()));
  }

  void Annotate(PlanField& message) {
    PlanField& annotation = message.Message("annotations");
    annotation.Add("key", "\"k\"");
    annotation.Add("value", "\"v\"");
  }

  void AddDim(const std::string& name, std::int64_t max, const std::string& rule) {
    PlanField& dim = plan_.Message("dims");
    dim.Add("name", Quoted(name));
    dim.Add("min", "1");
    dim.Add("max", std::to_string(max));
    dim.Add("batch_rule", rule);
    dims_.emplace_back(name, max);
  }

  void AddDims() {
    AddDim("seq", std::int64_t{64} << prng_.Below(4), Pick({"MAX", "EQUAL"}));
    AddDim("n", 4 << prng_.Below(3), Pick({"COUNT", "SUM"}));
    if (!shape_.runs) AddDim("past_len", 1000, "MAX");
  }

  void AddShapeProfile() {
    PlanField& profile = plan_.Message("shape_profile");
    for (int i = 0; i < 2; ++i) {
      PlanField& point = profile.Message("points");
      AddDimValues(point);
      point.Add("weight", "0.5");
    }
  }

  void AddDimValues(PlanField& point) {
    for (const auto& [name, max] : dims_) {
      PlanField& value = point.Message("dims");
      value.Add("dim", Quoted(name));
      value.Add("value", std::to_string(Between(1, max)));
    }
  }

  std::string Size() {
    return Quoted(Pick({"n * seq * 64", "n * (seq ceildiv 16) * 16", "seq * 32 + n",
                        "max(seq, 48) * n", "seq * min(n, 2)", "(seq - seq mod 8 + 8) * 8", "96"}));
  }

  PlanField& AddTensor(const std::string& name, const std::string& kind) {
    PlanField& tensor = plan_.Message("tensors");
    tensor.Add("name", Quoted(name));
    tensor.Add("kind", kind);
    tensor.Add("dtype", Pick({"BF16", "F32", "I8", "U4"}));
    tensor.Add("shape", Quoted(Pick({"n", "2"})));
    tensor.Add("shape", Quoted(Pick({"seq", "seq ceildiv 2", "min(seq, 64)"})));
    tensor.Add("shape", "\"64\"");
    return tensor;
  }

  void AddWeight(const std::string& name) {
    PlanField& tensor = plan_.Message("tensors");
    tensor.Add("name", Quoted(name));
    tensor.Add("kind", "WEIGHT");
    tensor.Add("dtype", "BF16");
    tensor.Add("shape", "\"64\"");
    tensor.Add("shape", "\"32 + 32\"");
    tensor.Add("content_digest", Quoted("0123456789012345678901234567890" + name.substr(1)));
    if (!Chance(2)) return;
    PlanField& quant = tensor.Message("quant");
    quant.Add("scale", "0.5");
    quant.Add("axis", "1");
  }

  void AddWork(PlanField& op) {
    PlanField& work = op.Message("work");
    switch (prng_.Below(7)) {
      case 0: {
        PlanField& gemm = work.Message("gemm");
        gemm.Add("m", Size());
        gemm.Add("n", "\"64\"");
        gemm.Add("k", "\"64\"");
        gemm.Add("density", "0.75");
        break;
      }
      case 1: {
        PlanField& conv = work.Message("conv");
        for (const char* field : {"n", "h", "w", "c", "filters", "kernel_h", "kernel_w"}) {
          conv.Add(field, Quoted(Pick({"1", "3", "8"})));
        }
        break;
      }
      case 2:
        work.Message("reduce").Add("elements", Size());
        work.fields.back().Add("outputs", "\"seq\"");
        work.fields.back().Add("ops_per_element", "1.5");
        break;
      case 3:
        work.Message("move").Add("bytes", Size());
        break;
      case 4:
        work.Message("custom").Add("flops", Size());
        work.fields.back().Add("bytes", Size());
        break;
      default:
        work.Message("vector").Add("elements", Size());
        work.fields.back().Add("ops_per_element", "2");
    }
  }

  void AddCall(PlanField& op) {
    PlanField& call = op.Message("work").Message("call");
    call.Add("entry", "\"e1\"");
    call.Add("times", Quoted(Pick({"2", "min(n, 3)", "min(seq, 1)"})));
  }

  // A later operator reads each result but the last, which is an output.
  void AddOperator(PlanField& entry, std::size_t e, std::size_t i, std::size_t count, bool call) {
    const std::string tag = std::to_string(e) + "_" + std::to_string(i);
    OperatorInfo info{"op" + tag, "t" + tag, call, i + 1 < count};
    AddTensor(info.output, info.activation ? "ACTIVATION" : "OUTPUT");
    PlanField op;
    op.name = "operators";
    op.Add("name", Quoted(info.name));
    op.Add("kind", "\"kind\"");
    op.Add("inputs", i == 0 ? "\"x\"" : Quoted(operators_[i - 1].output));
    if (i > 1 && Chance(2)) op.Add("inputs", Quoted(operators_[prng_.Below(i)].output));
    if (Chance(2)) op.Add("inputs", Quoted(Pick({"w0", "w1"})));
    if (HasTensor("cache") && Chance(3)) op.Add("inputs", "\"cache\"");
    op.Add("outputs", Quoted(info.output));
    if (i > 1 && Chance(3)) op.Add("after", Quoted(operators_[prng_.Below(i)].name));
    if (info.call) {
      AddCall(op);
    } else if (!Chance(8)) {
      AddWork(op);
    }
    if (Chance(4)) Annotate(op);
    entry.fields.push_back(std::move(op));
    operators_.push_back(std::move(info));
  }

  bool HasTensor(const std::string& name) const {
    return std::any_of(plan_.fields.begin(), plan_.fields.end(), [&](const PlanField& field) {
      return field.name == "tensors" && field.fields[0].value == Quoted(name);
    });
  }

  void AddEntry(std::size_t e, bool calls) {
    PlanField entry;
    entry.name = "entries";
    entry.Add("name", Quoted("e" + std::to_string(e)));
    if (e == 1 && called_) entry.Add("internal", "true");
    called_ = calls;
    operators_.clear();
    const std::size_t count = 3 + prng_.Below(6);
    const std::size_t call = calls ? 1 + prng_.Below(count - 2) : count;
    for (std::size_t i = 0; i < count; ++i) AddOperator(entry, e, i, count, i == call);
    // What calls run is found by name, and must cover its caller.
    const bool internal = entry.fields[1].name == "internal";
    const std::size_t variants = internal || calls ? 1 : 1 + prng_.Below(3);
    for (std::size_t v = 0; v < variants; ++v) AddVariant(entry, v, internal);
    plan_.fields.push_back(std::move(entry));
  }

  void AddVariant(PlanField& entry, std::size_t v, bool whole) {
    PlanField& variant = entry.Message("variants");
    variant.Add("name", Quoted("v" + std::to_string(v)));
    if (!whole) AddEnvelope(variant, v);
    AddGroups(variant);
    AddLayout(variant);
    if (Chance(2)) {
      PlanField& residency = variant.Message("residency");
      residency.Add("tensor", "\"w0\"");
      residency.Message("cores").Add("class", Quoted(shape_.core_class));
    }
    AddSchedule(variant);
    AddArena(variant);
    variant.Message("numerics").Add("compute", "BF16");
    if (Chance(2)) Annotate(variant);
  }

  void AddEnvelope(PlanField& variant, std::size_t v) {
    PlanField& seq = variant.Message("envelope");
    const std::int64_t max = Between(8, dims_[0].second);
    seq.Add("dim", "\"seq\"");
    seq.Add("min", std::to_string(1 + v));
    seq.Add("opt", std::to_string(Between(8, max)));
    seq.Add("max", std::to_string(max));
    if (Chance(2)) {
      seq.Add("shape_mode", "DYNAMIC");
      seq.Add("granule", std::to_string(1 << prng_.Below(5)));
    }
    if (!Chance(2)) return;
    PlanField& constraint = variant.Message("constraints");
    constraint.Add("expr", "\"seq * n\"");
    constraint.Add("min", "1");
    constraint.Add("max", std::to_string(Between(64, 100000)));
    if (Chance(2)) constraint.Add("multiple_of", "2");
  }

  // Runs of operators in their order: groups of an order's runs cannot wait for each other.
  void AddGroups(PlanField& variant) {
    group_names_.clear();
    std::vector<PlanField> elided;
    for (std::size_t i = 0; i < operators_.size();) {
      const OperatorInfo& first = operators_[i];
      if (i > 0 && first.activation && !first.call && Chance(10)) {
        elided.emplace_back().name = "elided";
        elided.back().Add("op", Quoted(first.name));
        elided.back().Add("reason", "\"folded\"");
        elided_.insert(first.name);
        ++i;
        continue;
      }
      std::size_t end = i + 1;
      while (!first.call && end < operators_.size() && !operators_[end].call && !Chance(2)) ++end;
      AddGroup(variant, i, end);
      i = end;
    }
    for (PlanField& field : elided) variant.fields.push_back(std::move(field));
    elided_.clear();
  }

  void AddGroup(PlanField& variant, std::size_t begin, std::size_t end) {
    PlanField& group = variant.Message("fusion_groups");
    group_names_.push_back("g" + std::to_string(group_names_.size()));
    group.Add("name", Quoted(group_names_.back()));
    const bool call = operators_[begin].call;
    if (begin > 0 && !call && !operators_[begin - 1].call && Chance(4) &&
        elided_.count(operators_[begin - 1].name) == 0) {
      group.Add("ops", Quoted(operators_[begin - 1].name));
      group.Add("recomputed", Quoted(operators_[begin - 1].name));
    }
    for (std::size_t i = begin; i < end; ++i) group.Add("ops", Quoted(operators_[i].name));
    if (call) return;
    group.Add("shards", Quoted(Pick({"1", "2", "min(n, 4)"})));
    PlanField& kernel = group.Message("kernel");
    kernel.Add("key", "\"key\"");
    kernel.Add("workspace_bytes", Size());
    PlanField& launch = kernel.Message("launch");
    launch.Add("grid", "\"8\"");
    launch.Add("shared_memory_bytes", "1024");
    AddPlacement(group);
    if (Chance(4)) group.Message("work").Add("flops", Size());
    AddProfile(group);
  }

  void AddPlacement(PlanField& group) {
    PlanField& placement = group.Message("placement");
    placement.Add("mode", Pick({"ANY", "PREFERRED", "PINNED"}));
    PlanField& core = placement.Message("cores");
    core.Add("class", Quoted(shape_.core_class));
    if (Chance(2)) core.Add("index", std::to_string(prng_.Below(4)));
  }

  void AddProfile(PlanField& group) {
    PlanField& profile = group.Message("profile");
    if (Chance(3)) {
      profile.Add("cost_ns", Quoted(Pick({"seq * 10 + 100", "1000"})));
      return;
    }
    for (std::uint64_t i = 0; i < prng_.Below(4); ++i) {
      PlanField& point = profile.Message("points");
      AddDimValues(point);
      point.Add("p50_ns", std::to_string(Between(1000, 2000)));
      point.Add("p90_ns", std::to_string(Between(2000, 4000)));
      point.Add("dram_bytes", std::to_string(Between(0, 100000)));
    }
  }

  void AddLayout(PlanField& variant) {
    PlanField& layout = variant.Message("layouts");
    layout.Add("tensor", "\"x\"");
    for (const char* dim : {"2", "0", "1"}) layout.Add("minor_to_major", dim);
    layout.Message("tiles").Add("dims", "8");
  }

  void AddSchedule(PlanField& variant) {
    PlanField& schedule = variant.Message("schedule");
    PlanField& core = schedule.Message("cores");
    core.Message("core").Add("class", Quoted(shape_.core_class));
    for (const std::string& group : group_names_) core.Add("groups", Quoted(group));
    if (group_names_.size() < 2) return;
    PlanField& wait = schedule.Message("waits");
    wait.Add("group", Quoted(group_names_[1]));
    wait.Add("after", Quoted(group_names_[0]));
  }

  // Beside each other: no tensor is as large as the half of it.
  void AddArena(PlanField& variant) {
    PlanField& arena = variant.Message("arenas");
    arena.Add("name", "\"temporaries\"");
    arena.Add("bytes", "\"33554432\"");
    for (std::size_t i = 0; i < 2; ++i) {
      PlanField& slot = arena.Message("slots");
      slot.Add("tensor", Quoted(operators_[i].output));
      slot.Add("offset_bytes", Quoted(i == 0 ? "0" : "16777216"));
    }
  }

  base::Prng prng_;
  RandomPlanShape shape_;
  PlanField plan_;
  std::vector<std::pair<std::string, std::int64_t>> dims_;
  std::vector<OperatorInfo> operators_;
  std::vector<std::string> group_names_;
  std::set<std::string> elided_;
  bool called_ = false;
};

struct Place {
  PlanField* parent;
  std::size_t index;
  std::string path, pattern;
};

void Collect(PlanField& message, const std::string& path, const std::string& pattern,
             std::vector<Place>& places) {
  std::map<std::string, std::size_t> counts;
  for (std::size_t i = 0; i < message.fields.size(); ++i) {
    PlanField& field = message.fields[i];
    std::string at = path.empty() ? field.name : path + "." + field.name;
    const std::string of = pattern.empty() ? field.name : pattern + "." + field.name;
    if (IsRepeated(field.name, message.name))
      at += "[" + std::to_string(counts[field.name]++) + "]";
    places.push_back({&message, i, at, of});
    Collect(field, at, of, places);
  }
}

bool EndsWith(const std::string& text, const std::string& end) {
  if (text.size() < end.size() || text.compare(text.size() - end.size(), end.size(), end) != 0) {
    return false;
  }
  return text.size() == end.size() || text[text.size() - end.size() - 1] == '.';
}

std::string WithoutLast(const std::string& path) {
  // An index is a component of its own: "ops[2]" is enclosed by "ops".
  const std::size_t cut = path.find_last_of(".[");
  return cut == std::string::npos ? "" : path.substr(0, cut);
}

}  // namespace

PlanField& PlanField::Add(std::string field, std::string scalar) {
  fields.push_back({std::move(field), std::move(scalar), {}});
  return *this;
}

PlanField& PlanField::Message(std::string field) {
  fields.push_back({std::move(field), "", {}});
  return fields.back();
}

std::string TextOf(const PlanField& plan) {
  std::string text;
  Write(plan.fields, text);
  return text;
}

PlanField RandomPlan(std::uint64_t seed, const RandomPlanShape& shape) {
  return Maker(seed, shape).Make();
}

const std::vector<Corruption>& Corruptions() {
  static const std::vector<Corruption> kCorruptions = [] {
    std::vector<Corruption> all = {
        {"no model", "header.model", "", 0},
        {"a reserved word for a dimension", "dims.name", "\"floordiv\"", 0},
        {"a domain below 0", "dims.min", "-1", 0},
        {"an empty domain", "dims.max", "0", 0},
        {"an unknown batch rule", "dims.batch_rule", "9", 0},
        {"no name", "tensors.name", "", 0},
        {"NUL in a name", "tensors.name", "\"a\\000b\"", 0},
        {"no kind", "tensors.kind", "", 0},
        {"an unknown kind", "tensors.kind", "77", 0},
        {"no type", "tensors.dtype", "", 0},
        {"an unknown type", "tensors.dtype", "77", 0},
        {"half a digest", "tensors.content_digest", "\"abc\"", 0},
        {"a scale that is no number", "quant.scale", "nan", 0},
        {"an axis outside the shape", "quant.axis", "7", 0},
        {"no name", "entries.name", "", 0},
        {"no name", "operators.name", "", 0},
        {"no such tensor", "operators.inputs", "\"ghost\"", 0},
        {"no such tensor", "operators.outputs", "\"ghost\"", 0},
        {"a write to an input", "operators.outputs", "\"x\"", 0},
        {"a write to a weight", "operators.outputs", "\"w0\"", 0},
        {"no such operator", "operators.after", "\"ghost\"", 0},
        {"no such entry", "call.entry", "\"ghost\"", 0},
        {"a call of itself", "call.entry", "\"e0\"", 5},
        {"a density above 1", "gemm.density", "1.5", 0},
        {"a density that is no number", "gemm.density", "nan", 0},
        {"endless work", "vector.ops_per_element", "inf", 0},
        {"negative work", "reduce.ops_per_element", "-1", 0},
        {"no name", "variants.name", "", 0},
        {"no such dimension", "envelope.dim", "\"ghost\"", 0},
        {"an envelope below the domain", "envelope.min", "0", 0},
        {"an envelope above the domain", "envelope.max", "99999", 0},
        {"an opt above the max", "envelope.opt", "99999", 1},
        {"an unknown shape mode", "envelope.shape_mode", "9", 0},
        {"a negative granule", "envelope.granule", "-8", 0},
        {"bounds upside down", "constraints.min", "1000000", 2},
        {"multiples of a negative number", "constraints.multiple_of", "-2", 0},
        {"no name", "fusion_groups.name", "", 0},
        {"no such operator", "fusion_groups.ops", "\"ghost\"", 0},
        {"no such operator", "fusion_groups.recomputed", "\"ghost\"", 0},
        {"no shards", "fusion_groups.shards", "\"0\"", 0},
        {"no shards for some dims", "fusion_groups.shards", "\"n - 1\"", 0},
        {"too many shards", "fusion_groups.shards", "\"4097\"", 0},
        {"a negative grid", "launch.grid", "\"0 - 1\"", 0},
        {"negative memory", "launch.shared_memory_bytes", "-1", 0},
        {"an unknown mode", "placement.mode", "9", 0},
        {"no such dimension", "profile.points.dims.dim", "\"ghost\"", 0},
        {"a point outside the domain", "profile.points.dims.value", "0", 0},
        {"a point outside the domain", "shape_profile.points.dims.value", "999999", 0},
        {"half a joint point", "shape_profile.points.dims", "", 1},
        {"a weight of 0", "shape_profile.points.weight", "0", 0},
        {"a weight that is no number", "shape_profile.points.weight", "nan", 0},
        {"a negative time", "profile.points.p50_ns", "-1", 0},
        {"a p90 below the p50", "profile.points.p90_ns", "1", 0},
        {"negative bytes", "profile.points.dram_bytes", "-1", 0},
        {"no such operator", "elided.op", "\"ghost\"", 0},
        {"no reason", "elided.reason", "", 0},
        {"no such tensor", "layouts.tensor", "\"ghost\"", 0},
        {"no permutation", "layouts.minor_to_major", "9", 1},
        {"an empty tile", "layouts.tiles.dims", "0", 2},
        {"no such tensor", "residency.tensor", "\"ghost\"", 0},
        {"an input that stays", "residency.tensor", "\"x\"", 0},
        {"no such group", "schedule.cores.groups", "\"ghost\"", 0},
        {"no such group", "schedule.waits.group", "\"ghost\"", 0},
        {"no such group", "schedule.waits.after", "\"ghost\"", 0},
        {"no such tensor", "slots.tensor", "\"ghost\"", 0},
        {"a slot beyond its arena", "slots.offset_bytes", "\"33554432\"", 1},
        {"an unknown type", "numerics.compute", "77", 0},
        {"no key", "annotations.key", "", 0},
        {"NUL in a text", "annotations.value", "\"a\\000b\"", 0},
    };
    const std::vector<std::string> sizes = {"tensors.shape",
                                            "gemm.m",
                                            "gemm.k",
                                            "conv.h",
                                            "conv.filters",
                                            "vector.elements",
                                            "move.bytes",
                                            "reduce.elements",
                                            "reduce.outputs",
                                            "custom.flops",
                                            "call.times",
                                            "kernel.workspace_bytes",
                                            "fusion_groups.work.flops",
                                            "profile.cost_ns",
                                            "arenas.bytes",
                                            "slots.offset_bytes"};
    for (const std::string& size : sizes) {
      all.push_back({"no such dimension", size, "\"seq + ghost\"", 0});
      all.push_back({"half an expression", size, "\"seq *\"", 0});
      all.push_back({"a size below 0", size, "\"1 - seq\"", 0});
      all.push_back({"a size beyond 64 bits", size, "\"seq * 9223372036854775807\"", 0});
      all.push_back({"a division by zero", size, "\"64 floordiv (n - 2)\"", 0});
    }
    for (const char* size : {"gemm.m", "gemm.k", "vector.elements", "move.bytes", "reduce.outputs",
                             "call.times", "constraints.expr", "arenas.bytes"}) {
      all.push_back({"no size", size, "", 0});
    }
    return all;
  }();
  return kCorruptions;
}

Spoilt Spoil(const PlanField& plan, const Corruption& corruption, base::Prng& prng) {
  PlanField spoilt = plan;
  std::vector<Place> places;
  Collect(spoilt, "", "", places);
  places.erase(std::remove_if(places.begin(), places.end(),
                              [&](const Place& place) {
                                return !EndsWith(place.pattern, corruption.pattern);
                              }),
               places.end());
  if (places.empty()) return {};
  const Place& place = places[prng.Below(places.size())];
  std::vector<PlanField>& fields = place.parent->fields;
  if (corruption.value.empty()) {
    fields.erase(fields.begin() + static_cast<std::ptrdiff_t>(place.index));
  } else {
    fields[place.index].value = corruption.value;
  }
  return {TextOf(spoilt), place.path};
}

bool Names(const std::string& finding, const std::string& path, int enclosing) {
  std::string at = path;
  for (int up = 0; up <= enclosing; ++up) {
    if (finding == at) return true;
    at = WithoutLast(at);
  }
  return false;
}

}  // namespace leeway::testing
