// Schedules and arenas, held against executions: who can start while another does not end.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "plan/findings.h"
#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

// Groups of one operator each, which read results of others and write their own.
struct Model {
  struct Buffer {
    std::int64_t begin = 0, bytes = 4;
  };
  std::vector<std::vector<std::size_t>> reads;             // by group, rising
  std::vector<std::size_t> shards;                         // by group
  std::vector<std::vector<std::size_t>> lists;             // by core
  std::vector<std::pair<std::size_t, std::size_t>> waits;  // group, after
  std::vector<std::optional<Buffer>> buffers;              // by group: of its result

  std::size_t groups() const { return reads.size(); }
  bool IsRead(std::size_t group) const {
    return std::any_of(reads.begin(), reads.end(), [&](const std::vector<std::size_t>& of) {
      return std::count(of.begin(), of.end(), group) > 0;
    });
  }
};

std::string Name(char of, std::size_t i) {
  return "\"" + std::string(1, of) + std::to_string(i) + "\"";
}

std::string TextOf(const Model& model) {
  std::string text =
      "header { model: \"m\" } tensors { name: \"x\" kind: INPUT dtype: I8 shape: \"4\" }\n";
  for (std::size_t g = 0; g < model.groups(); ++g) {
    const std::int64_t bytes = model.buffers[g] ? model.buffers[g]->bytes : 4;
    text += "tensors { name: " + Name('t', g) + " dtype: I8 shape: \"" + std::to_string(bytes) +
            "\" kind: " + (model.IsRead(g) ? "ACTIVATION" : "OUTPUT") + " }\n";
  }
  text += "entries { name: \"main\"\n";
  for (std::size_t g = 0; g < model.groups(); ++g) {
    text += "operators { name: " + Name('o', g) + " outputs: " + Name('t', g);
    for (const std::size_t read : model.reads[g]) text += " inputs: " + Name('t', read);
    text += std::string(model.reads[g].empty() ? " inputs: \"x\"" : "") + " }\n";
  }
  text += "variants { name: \"v\"\n";
  for (std::size_t g = 0; g < model.groups(); ++g) {
    text += "fusion_groups { name: " + Name('g', g) + " ops: " + Name('o', g) + " shards: \"" +
            std::to_string(model.shards[g]) + "\" }\n";
  }
  text += "schedule {\n";
  for (std::size_t core = 0; core < model.lists.size(); ++core) {
    text += "cores { core { index: " + std::to_string(core) + " }";
    for (const std::size_t group : model.lists[core]) text += " groups: " + Name('g', group);
    text += " }\n";
  }
  for (const auto& [group, after] : model.waits) {
    text += "waits { group: " + Name('g', group) + " after: " + Name('g', after) + " }\n";
  }
  text += "} arenas { name: \"a\" bytes: \"64\"\n";
  for (std::size_t g = 0; g < model.groups(); ++g) {
    if (!model.buffers[g]) continue;
    text += "slots { tensor: " + Name('t', g) + " offset_bytes: \"" +
            std::to_string(model.buffers[g]->begin) + "\" }\n";
  }
  return text + "} } }\n";
}

// Runs all that can run, in which order does not matter: a part that may start never loses that.
class Execution {
 public:
  struct Part {
    std::size_t group, list, place;  // list is lists.size() for a group in none
    bool started = false, ended = false;
  };

  // The part of that number starts and never ends.
  explicit Execution(const Model& model, std::optional<std::size_t> held = std::nullopt)
      : model_(model) {
    std::vector<char> listed(model.groups(), 0);
    for (std::size_t list = 0; list < model.lists.size(); ++list) {
      for (std::size_t place = 0; place < model.lists[list].size(); ++place) {
        parts_.push_back({model.lists[list][place], list, place});
        listed[model.lists[list][place]] = 1;
      }
    }
    for (std::size_t g = 0; g < model.groups(); ++g) {
      if (listed[g] == 0) parts_.push_back({g, model.lists.size(), 0});
    }
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < parts_.size(); ++i) {
        if (parts_[i].started || !MayStart(parts_[i])) continue;
        parts_[i].started = moved = true;
        parts_[i].ended = i != held;
      }
    }
  }

  const std::vector<Part>& parts() const { return parts_; }
  bool AllEnded() const {
    return std::all_of(parts_.begin(), parts_.end(), [](const Part& part) { return part.ended; });
  }
  bool HasStarted(std::size_t group) const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [&](const Part& part) { return part.group == group && part.started; });
  }

 private:
  bool HasEnded(std::size_t group) const {
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const Part& part) { return part.group != group || part.ended; });
  }
  bool MayStart(const Part& part) const {
    for (const std::size_t read : model_.reads[part.group]) {
      if (!HasEnded(read)) return false;
    }
    for (const auto& [group, after] : model_.waits) {
      if (group == part.group && !HasEnded(after)) return false;
    }
    return std::all_of(parts_.begin(), parts_.end(), [&](const Part& other) {
      return other.list != part.list || part.list == model_.lists.size() ||
             other.place >= part.place || other.ended;
    });
  }

  const Model& model_;
  std::vector<Part> parts_;
};

// Whether some part of `group` can start while one of `before` has not ended.
bool CanOvertake(const Model& model, std::size_t group, std::size_t before) {
  const std::vector<Execution::Part> parts = Execution(model).parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].group == before && Execution(model, i).HasStarted(group)) return true;
  }
  return false;
}

// Whether the result of `b` can be written while that of `a` is needed.
bool CanSpoil(const Model& model, std::size_t b, std::size_t a) {
  if (!model.IsRead(a) || CanOvertake(model, b, a)) return true;
  const bool in_place = model.buffers[a]->begin == model.buffers[b]->begin;
  for (std::size_t g = 0; g < model.groups(); ++g) {
    const std::vector<std::size_t>& reads = model.reads[g];
    if (std::count(reads.begin(), reads.end(), a) == 0 || (g == b && in_place)) continue;
    if (CanOvertake(model, b, g)) return true;
  }
  return false;
}

bool Overlap(const Model::Buffer& a, const Model::Buffer& b) {
  return std::max(a.begin, b.begin) < std::min(a.begin + a.bytes, b.begin + b.bytes);
}

bool Conflict(const Model& model, std::size_t a, std::size_t b) {
  return model.buffers[a] && model.buffers[b] && Overlap(*model.buffers[a], *model.buffers[b]) &&
         CanSpoil(model, a, b) && CanSpoil(model, b, a);
}

Model RandomModel(base::Prng& prng, bool in_order) {
  Model model;
  const std::size_t groups = 2 + prng.Below(6), cores = prng.Below(4);
  model.lists.resize(cores);
  for (std::size_t g = 0; g < groups; ++g) {
    model.reads.emplace_back();
    for (std::size_t read = 0; read < g; ++read) {
      if (prng.Below(3) == 0) model.reads[g].push_back(read);
    }
    model.shards.push_back(1 + prng.Below(2));
    if (cores == 0) continue;
    const std::size_t first = prng.Below(cores), parts = prng.Below(model.shards[g] + 1);
    for (std::size_t i = 0; i < std::min(parts, cores); ++i) {
      std::vector<std::size_t>& list = model.lists[(first + i) % cores];
      const bool anywhere = !in_order && prng.Below(2) == 0;
      list.insert(anywhere ? list.begin() + static_cast<std::ptrdiff_t>(prng.Below(list.size() + 1))
                           : list.end(),
                  g);
    }
  }
  for (std::uint64_t i = prng.Below(3); i > 0; --i) {
    std::size_t group = prng.Below(groups), after = prng.Below(groups);
    if (in_order && group == after) continue;
    if (in_order && group < after) std::swap(group, after);
    model.waits.emplace_back(group, after);
  }
  model.buffers.resize(groups);
  return model;
}

CheckResult Checked(const Model& model) {
  const Result<Loaded> loaded = LoadPlan(Encode(TextOf(model)), "random");
  REQUIRE(loaded.ok());
  return loaded->check;
}

constexpr char kVariant[] = "entries[0].variants[0].";

TEST_CASE("a schedule is refused if and only if it comes to a halt", "[plan][property]") {
  const auto seed = GENERATE(range(0u, 400u));
  CAPTURE(seed);
  base::Prng prng(seed);
  const Model model = RandomModel(prng, /*in_order=*/seed % 4 == 0);
  const CheckResult check = Checked(model);
  CAPTURE(TextOf(model), Describe(check, "random"));
  CHECK(check.ok == Execution(model).AllEnded());
  for (const Finding& finding : check.findings) {
    if (finding.severity != Severity::kError) continue;
    CHECK(finding.path == std::string(kVariant) + "schedule");
    CHECK_THAT(finding.message, Catch::StartsWith("the schedule cannot be kept: \"g"));
  }
}

TEST_CASE("slots that overlap are refused if and only if both can be needed at once",
          "[plan][property]") {
  const auto seed = GENERATE(range(0u, 600u));
  CAPTURE(seed);
  base::Prng prng(seed);
  Model model = RandomModel(prng, /*in_order=*/true);
  REQUIRE(Execution(model).AllEnded());
  std::vector<std::size_t> slots;
  for (std::size_t g = 0; g < model.groups(); ++g) {
    if (prng.Below(4) == 0) continue;
    model.buffers[g] = {static_cast<std::int64_t>(4 * prng.Below(4)),
                        static_cast<std::int64_t>(4 * prng.Below(3))};
    slots.push_back(g);
  }
  bool conflicts = false;
  for (const std::size_t a : slots) {
    for (const std::size_t b : slots) conflicts |= a < b && Conflict(model, a, b);
  }
  const CheckResult check = Checked(model);
  CAPTURE(TextOf(model), Describe(check, "random"));
  CHECK(check.ok == !conflicts);
  for (const Finding& finding : check.findings) {
    if (finding.severity != Severity::kError) continue;
    // Both are named: the one by the path, the other by its number.
    const auto number = [](const std::string& text) {
      return std::stoul(text.substr(text.find("slots[") + 6));
    };
    CHECK(Conflict(model, slots.at(number(finding.path)), slots.at(number(finding.message))));
  }
}

// --- cases ---------------------------------------------------------------------------------------

// Two groups, of which the second reads the first, and one beside them.
std::string Three(const std::string& variant) {
  return R"(header { model: "m" }
    tensors { name: "x" kind: INPUT dtype: I8 shape: "8" }
    tensors { name: "h" kind: ACTIVATION dtype: I8 shape: "8" }
    tensors { name: "y" kind: OUTPUT dtype: I8 shape: "8" }
    tensors { name: "z" kind: OUTPUT dtype: I8 shape: "8" }
    entries { name: "main"
      operators { name: "a" inputs: "x" outputs: "h" }
      operators { name: "b" inputs: "h" outputs: "y" }
      operators { name: "c" inputs: "x" outputs: "z" }
      variants { name: "v"
        fusion_groups { name: "a" ops: "a" }
        fusion_groups { name: "b" ops: "b" }
        fusion_groups { name: "c" ops: "c" shards: "2" }
        )" +
         variant + " } }";
}

std::string Findings(const std::string& variant) { return FindingsOf(Encode(Three(variant))); }

TEST_CASE("a schedule that cannot be kept is told with the way round and the reasons", "[plan]") {
  const auto told = [](const std::string& schedule, const std::string& cycle) {
    CHECK_THAT(Findings("schedule { " + schedule + " }"),
               Catch::Contains("variants[0].schedule: the schedule cannot be kept: " + cycle));
  };
  told(R"(cores { core { index: 0 } groups: "b" groups: "a" })",
       R"("b" -> "a" (follows it in cores[0]) -> "b" (needs it))");
  told(R"(cores { core { class: "m" } groups: "b" groups: "a" })",
       R"("b" -> "a" (follows it in cores[0]) -> "b" (needs it))");
  told(R"(waits { group: "a" after: "b" })", R"("b" -> "a" (waits for it) -> "b" (needs it))");
  told(R"(waits { group: "c" after: "c" })", R"("c" -> "c" (waits for it))");
  told(R"(cores { core { index: 0 } groups: "a" groups: "c" }
          cores { core { index: 1 } groups: "c" }
          waits { group: "a" after: "c" })",
       R"("c" -> "a" (waits for it) -> "c" (follows it in cores[0]))");
}

TEST_CASE("parts of groups that do not wait for each other may be listed in any order", "[plan]") {
  std::string text = Three(R"(schedule { cores { core { index: 0 } groups: "c" groups: "a" }
                                         cores { core { index: 1 } groups: "a" groups: "c" } })");
  const std::string once = R"(name: "a" ops: "a")";
  text.replace(text.find(once), once.size(), once + R"( shards: "2")");
  CHECK(FindingsOf(Encode(text)) == "");
}

TEST_CASE("orders that say too much of a core or a group are findings", "[plan]") {
  CHECK_THAT(Findings(R"(schedule { cores { core { index: 0 } groups: "a" groups: "a" } })"),
             Catch::Contains(R"(schedule.cores[0].groups[1]: group "a" is in this order twice)"));
  const std::string both = R"(schedule { cores { core { index: 0 } groups: "a" }
                                         cores { core { index: 1 } groups: "a" groups: "c" }
                                         cores { core { index: 2 } groups: "c" }
                                         cores { core { index: 3 } groups: "c" } })";
  CHECK_THAT(
      Findings(both),
      Catch::Contains(R"(schedule.cores[1].groups[0]: group "a" is in the orders of 2 cores )"
                      "and has at most 1 shards") &&
          Catch::Contains(R"(schedule.cores[3].groups[0]: group "c" is in the orders of 3)"));
  CHECK_THAT(Findings(R"(schedule { cores { core { class: "m" index: 1 } groups: "a" }
                                    cores { core { class: "m" index: 1 } groups: "b" } })"),
             Catch::Contains("schedule.cores[1].core: the core has an order already: cores[0]"));
  // What no core lists runs where it can.
  CHECK(Findings(R"(schedule { cores { core { index: 0 } groups: "b" } })") == "");
}

TEST_CASE("slots that overlap name both tensors, the bytes, and who comes in between", "[plan]") {
  const auto slots = [](const char* a, const char* b, int offset) {
    return std::string(R"(arenas { name: "t" bytes: "16" slots { tensor: ")") + a +
           R"(" } slots { tensor: ")" + b + "\" offset_bytes: \"" + std::to_string(offset) +
           "\" } }";
  };
  CHECK_THAT(
      Findings(slots("h", "z", 6)),
      Catch::Contains(R"(arenas[0].slots[1]: tensor "z" overlaps tensor "h" (slots[0]) in bytes )"
                      R"(6 to 7, and both can be needed at once: group "a", which uses the other, )"
                      R"(need not have ended when group "c" writes it)"));
  CHECK(Findings(slots("h", "z", 8)) == "");
  // The group reads one and writes the other: in its place, or not at all.
  CHECK(Findings(slots("h", "y", 0)) == "");
  CHECK_THAT(Findings(slots("h", "y", 4)), Catch::Contains("both can be needed at once"));
  CHECK_THAT(Findings(slots("y", "z", 0)),
             Catch::Contains("the other is needed until the run has ended"));
  CHECK_THAT(Findings(slots("x", "h", 0)),
             Catch::Contains(R"(group "c", which uses the other, need not have ended)"));
  // The schedule of a core, and a wait, order them.
  CHECK(Findings(slots("h", "z", 0) +
                 R"(schedule { cores { core { index: 0 } groups: "b" groups: "c" } })") == "");
  CHECK(Findings(slots("h", "z", 0) + R"(schedule { waits { group: "c" after: "b" } })") == "");
  // Two cores of a set may run them side by side.
  CHECK_THAT(Findings(slots("h", "z", 0) +
                      R"(schedule { cores { core { class: "m" } groups: "b" groups: "c" } })"),
             Catch::Contains("both can be needed at once"));
}

TEST_CASE("a group that computes a tensor again does not need it", "[plan]") {
  const auto plan = [](const std::string& again) {
    return R"(header { model: "m" }
      tensors { name: "x" kind: INPUT dtype: I8 shape: "8" }
      tensors { name: "h" kind: ACTIVATION dtype: I8 shape: "8" }
      tensors { name: "g" kind: ACTIVATION dtype: I8 shape: "8" }
      tensors { name: "y" kind: OUTPUT dtype: I8 shape: "8" }
      entries { name: "main"
        operators { name: "a" inputs: "x" outputs: "h" }
        operators { name: "b" inputs: "h" outputs: "g" }
        operators { name: "c" inputs: ["g", "h"] outputs: "y" }
        variants { name: "v"
          fusion_groups { name: "a" ops: "a" }
          fusion_groups { name: "b" ops: "b" }
          fusion_groups { name: "c" )" +
           again + R"( ops: "c" }
          arenas { name: "t" bytes: "8" slots { tensor: "h" } slots { tensor: "g" } } } })";
  };
  CHECK(FindingsOf(Encode(plan(R"(ops: "a" recomputed: "a")"))) == "");
  CHECK_THAT(FindingsOf(Encode(plan(""))),
             Catch::Contains(R"(group "c", which uses the other, need not have ended)"));
}

TEST_CASE("what an elided operator and a view make of a tensor keeps it in use", "[plan]") {
  const auto plan = [](const std::string& last) {
    return R"(header { model: "m" }
      tensors { name: "x" kind: INPUT dtype: I8 shape: "8" }
      tensors { name: "h" kind: ACTIVATION dtype: I8 shape: "8" }
      tensors { name: "s" kind: ACTIVATION dtype: I8 shape: "8" }
      tensors { name: "g" kind: ACTIVATION dtype: I8 shape: "8" }
      tensors { name: "half" kind: ACTIVATION dtype: I8 shape: "4" alias_of { tensor: "h" } }
      tensors { name: "y" kind: OUTPUT dtype: I8 shape: "8" }
      entries { name: "main"
        operators { name: "a" inputs: "x" outputs: "h" }
        operators { name: "view" inputs: "h" outputs: "s" }
        operators { name: "b" inputs: "x" outputs: "g" after: "a" }
        operators { name: "c" inputs: ["g", ")" +
           last + R"("] outputs: "y" }
        variants { name: "v"
          fusion_groups { name: "a" ops: "a" }
          fusion_groups { name: "b" ops: "b" }
          fusion_groups { name: "c" ops: "c" }
          elided { op: "view" reason: "a view" }
          arenas { name: "t" bytes: "8" slots { tensor: "h" } slots { tensor: "g" } } } })";
  };
  const std::string message =
      R"(tensor "g" overlaps tensor "h" (slots[0]) in bytes 0 to 7, and both can be needed at )"
      R"(once: group "c", which uses the other)";
  CHECK_THAT(FindingsOf(Encode(plan("s"))), Catch::Contains(message));
  CHECK_THAT(FindingsOf(Encode(plan("half"))), Catch::Contains(message));
  CHECK_THAT(FindingsOf(Encode(plan("x"))), !Catch::Contains("overlaps"));
}

}  // namespace
}  // namespace leeway::plan
