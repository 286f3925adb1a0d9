#include "plan/plan_dot.h"

#include <map>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/plan/text_plan.h"

namespace leeway::plan {
namespace {

// A reader of as much of the language as a graph needs: statements, attributes in brackets, nested
// subgraphs, edges. It fails the test on anything else.
class DotReader {
 public:
  struct Edge {
    std::string from, to, label;
    bool dashed = false;
  };
  std::map<std::string, std::string> nodes;  // label by id
  std::vector<Edge> edges;
  std::vector<std::string> clusters;  // labels

  explicit DotReader(const std::string& text) : text_(text) {
    Expect("digraph");
    Word();
    Body();
    Blanks();
    CHECK(at_ == text_.size());
  }

 private:
  void Blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }

  bool Take(const std::string& what) {
    Blanks();
    if (text_.compare(at_, what.size(), what) != 0) return false;
    at_ += what.size();
    return true;
  }

  void Expect(const std::string& what) {
    INFO("at " << at_ << ": " << text_.substr(at_, 40));
    REQUIRE(Take(what));
  }

  // An identifier or a string in quotes: the text that it stands for, but line ends as "\n".
  std::string Word() {
    Blanks();
    std::string word;
    if (text_[at_] != '"') {
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                    text_[at_] == '_' || text_[at_] == '-')) {
        if (text_.compare(at_, 2, "->") == 0) break;
        word += text_[at_++];
      }
      INFO("at " << at_ << ": " << text_.substr(at_, 40));
      REQUIRE_FALSE(word.empty());
      return word;
    }
    for (++at_; text_.at(at_) != '"'; ++at_) {
      const bool escape = text_[at_] == '\\';
      if (!escape) {
        REQUIRE(static_cast<unsigned char>(text_[at_]) >= 0x20);
        word += text_[at_];
        continue;
      }
      const char next = text_.at(++at_);
      INFO("escape " << next);
      REQUIRE((next == 'n' || next == '"' || next == '\\'));
      word += next == 'n' ? '\n' : next;
    }
    ++at_;
    return word;
  }

  std::map<std::string, std::string> Attributes() {
    std::map<std::string, std::string> attributes;
    if (!Take("[")) return attributes;
    while (!Take("]")) {
      const std::string name = Word();
      Expect("=");
      attributes[name] = Word();
      Take(",");
    }
    return attributes;
  }

  void Body() {
    Expect("{");
    while (!Take("}")) {
      if (Take("subgraph")) {
        CHECK(Word().rfind("cluster", 0) == 0);
        Body();
        continue;
      }
      Statement();
      Expect(";");
    }
  }

  void Statement() {
    const std::string id = Word();
    if (Take("=")) {
      clusters.push_back(Word());
    } else if (Take("->")) {
      const std::string to = Word();
      auto attributes = Attributes();
      edges.push_back({id, to, attributes["label"], attributes["style"] == "dashed"});
    } else {
      const auto attributes = Attributes();
      if (id == "graph" || id == "node" || id == "edge") return;
      CHECK(nodes.emplace(id, attributes.at("label")).second);
    }
  }

  const std::string& text_;
  std::size_t at_ = 0;
};

TEST_CASE("the graph of a plan has a node for each group and an edge for each order",
          "[plan][dot]") {
  const std::string model = GENERATE("bert_base", "llama2_7b_prefill");
  const auto body = LoadModel(model);
  const std::string text = ToDot(*body);
  const DotReader dot(text);
  std::size_t groups = 0, orders = 0, variants = 0, entries = 0;
  for (const Entry& entry : body->entries) {
    entries += entry.variants.empty() ? 0 : 1;
    variants += entry.variants.size();
    for (const Variant& variant : entry.variants) {
      groups += variant.groups.size();
      for (const Group& group : variant.groups) orders += group.predecessors.size();
    }
  }
  CHECK(dot.nodes.size() == groups);
  CHECK(dot.edges.size() == orders);
  CHECK(dot.clusters.size() == 1 + entries + variants);
  for (const DotReader::Edge& edge : dot.edges) {
    CHECK(dot.nodes.count(edge.from) == 1);
    CHECK(dot.nodes.count(edge.to) == 1);
    CHECK(edge.dashed == edge.label.empty());
  }
}

constexpr std::string_view kTwo = R"(
  header { model: "m" producer: "t" }
  dims { name: "seq" min: 1 max: 64 }
  tensors { name: "x" kind: INPUT dtype: BF16 shape: ["seq"] }
  tensors { name: "@" kind: ACTIVATION dtype: BF16 shape: ["seq", "3"] }
  tensors { name: "y" kind: OUTPUT dtype: BF16 shape: ["seq"] }
  entries { name: "@"
    operators { name: "@" inputs: "x" outputs: "@" }
    operators { name: "b" inputs: "@" outputs: "y" }
    operators { name: "c" after: "b" }
    variants { name: "@"
      fusion_groups { name: "@" ops: "@" }
      fusion_groups { name: "second" ops: "b" }
      fusion_groups { name: "third" ops: "c" } } }
)";

std::string Named(const std::string& name) {
  std::string text(kTwo);
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at)) {
    text.replace(at, 1, name);
    at += name.size();
  }
  return text;
}

TEST_CASE("edges carry the tensors that cross groups with their bytes, or are dashed",
          "[plan][dot]") {
  const auto body = Load(Named("a"));
  Extras extras;
  extras.dims = [](Index, Index) { return std::vector<std::int64_t>{10}; };
  const std::string text = ToDot(*body, extras);
  const DotReader dot(text);
  REQUIRE(dot.edges.size() == 2);
  // 10 × 3 elements of two bytes.
  CHECK(dot.edges[0].label == "a 60 B");
  CHECK(dot.edges[1].dashed);
}

TEST_CASE("no name breaks the graph, and each is still there", "[plan][dot]") {
  // As written in a text form, and as shown.
  const std::pair<std::string, std::string> names[] = {
      {"say \\\"hi\\\"", "say \"hi\""},
      {"back\\\\slash\\\\", "back\\slash\\"},
      {"\\\\N\\\\G\\\\", "\\N\\G\\"},
      {"two\\nlines\\t", "two\\x0alines\\x09"},
      {"<b>html</b>", "<b>html</b>"},
      {"größe 長さ", "größe 長さ"},
      {"]; } -> {", "]; } -> {"},
      {"a|{b}|c", "a|{b}|c"},
      {"node", "node"},
      {"//x", "//x"},
      {"esc\\033[31m", "esc\\x1b[31m"},
  };
  for (const auto& [written, shown] : names) {
    CAPTURE(written);
    const auto body = Load(Named(written));
    const std::string text = ToDot(*body);
    const DotReader dot(text);
    REQUIRE(dot.nodes.size() == 3);
    CHECK(dot.nodes.at("e0v0g0") == shown + "\nops " + shown + "\nplacement any");
    CHECK(dot.clusters[1] == "entry " + shown);
    CHECK(dot.clusters[2] == "variant " + shown);
    REQUIRE(dot.edges.size() == 2);
    CHECK(dot.edges[0].label == shown);
  }
}

TEST_CASE("long names and long lists are shortened at a whole character", "[plan][dot]") {
  std::string many = "header { model: \"m\" producer: \"t\" }\nentries { name: \"e\"\n", ops;
  for (int i = 0; i < 40; ++i) {
    many += "operators { name: \"op" + std::to_string(i) + "\" }\n";
    ops += " ops: \"op" + std::to_string(i) + "\"";
  }
  std::string name;
  for (int i = 0; i < 100; ++i) name += "ü";
  const auto body =
      Load(many + "variants { name: \"v\" fusion_groups { name: \"" + name + "\"" + ops + " } } }");
  const std::string text = ToDot(*body);
  const DotReader dot(text);
  CHECK(dot.nodes.at("e0v0g0") ==
        name.substr(0, 48) + "…\nops op0 op1 op2 op3 op4 op5 … 34 more\nplacement any");
}

}  // namespace
}  // namespace leeway::plan
