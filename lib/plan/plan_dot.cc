#include "plan/plan_dot.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "plan/outline_text.h"

namespace leeway::plan {
namespace {

// Shown in a node or on an edge before it says how many more there are.
constexpr std::size_t kMaxOps = 6, kMaxTensors = 4;

// Text within a quoted string. A backslash begins an escape of Graphviz there ("\N" is the node's
// name), a quote would end the string, and what cannot be seen is shown by its number.
std::string Escaped(std::string_view raw) {
  std::string text;
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text.append("\\").append(1, c);
    } else if (byte < 0x20 || byte == 0x7f) {
      text += "\\\\x" + Hex(std::string_view(&c, 1));
    } else {
      text += c;
    }
  }
  return text;
}

std::string Name(std::string_view name) {
  constexpr std::size_t kMaxName = 48;
  std::size_t end = std::min(name.size(), kMaxName);
  while (end < name.size() && (static_cast<unsigned char>(name[end]) & 0xc0) == 0x80) ++end;
  return Escaped(name.substr(0, end)) + (end < name.size() ? "…" : "");
}

std::string More(std::size_t all, std::size_t shown) {
  return all > shown ? "… " + std::to_string(all - shown) + " more" : "";
}

class Drawing {
 public:
  Drawing(const Body& body, const Extras& extras) : body_(body), extras_(extras) {}

  std::string Draw() {
    text_ =
        "digraph plan {\n"
        "  graph [rankdir=TB, fontname=\"sans-serif\", labeljust=l];\n"
        "  node [shape=box, fontname=\"sans-serif\"];\n"
        "  edge [fontname=\"sans-serif\"];\n"
        "  label=\"" +
        Name(body_.model) + "\\ndigest " + body_.digest.ToHex().substr(0, 12) + "\";\n";
    for (Index e = 0; e < body_.entries.size(); ++e) DrawEntry(e);
    return std::move(text_) + "}\n";
  }

 private:
  void DrawEntry(Index e) {
    const Entry& entry = body_.entries[e];
    std::string inside;
    for (Index v = 0; v < entry.variants.size(); ++v) {
      if (extras_.shows == nullptr || extras_.shows(e, v)) inside += VariantText(e, v);
    }
    if (inside.empty()) return;
    text_ += "  subgraph cluster_e" + std::to_string(e) + " {\n    label=\"entry " +
             Name(entry.name) + "\";\n" + inside + "  }\n";
  }

  static std::string Node(Index e, Index v, Index g) {
    return "e" + std::to_string(e) + "v" + std::to_string(v) + "g" + std::to_string(g);
  }

  std::string VariantText(Index e, Index v) {
    const Variant& variant = body_.entries[e].variants[v];
    const auto dims = extras_.dims == nullptr ? std::nullopt : extras_.dims(e, v);
    std::string text = "    subgraph cluster_e" + std::to_string(e) + "v" + std::to_string(v) +
                       " {\n      label=\"variant " + Name(variant.name);
    for (std::size_t i = 0; dims && i < dims->size(); ++i) {
      text +=
          (i == 0 ? "\\nat " : " ") + Name(body_.dims[i].name) + "=" + std::to_string((*dims)[i]);
    }
    text += "\";\n";
    for (Index g = 0; g < variant.groups.size(); ++g) text += NodeText(e, v, g);
    return text + EdgesText(e, v, dims) + "    }\n";
  }

  std::string NodeText(Index e, Index v, Index g) {
    const Entry& entry = body_.entries[e];
    const Group& group = entry.variants[v].groups[g];
    std::string text = "      " + Node(e, v, g) + " [label=\"" + Name(group.name) + "\\nops";
    for (std::size_t i = 0; i < group.ops.size() && i < kMaxOps; ++i) {
      text += " " + Name(entry.operators[group.ops[i]].name);
    }
    if (group.ops.size() > kMaxOps) text += " " + More(group.ops.size(), kMaxOps);
    text += "\\nplacement " + Escaped(PlacementText(group.placement));
    if (extras_.group_words != nullptr) text += "\\n" + Escaped(extras_.group_words(e, v, g));
    return text + "\"];\n";
  }

  // The tensor in memory that a view shows.
  Index Stored(Index tensor) const { return body_.tensors[tensor].alias_of.value_or(tensor); }

  // Of two rising lists what is in both, in time of the shorter one: a STATE tensor may have as
  // many writers as there are groups.
  static std::vector<Index> Common(const std::vector<Index>& a, const std::vector<Index>& b) {
    if (a.size() > b.size()) return Common(b, a);
    std::vector<Index> common;
    for (const Index index : a) {
      if (std::binary_search(b.begin(), b.end(), index)) common.push_back(index);
    }
    return common;
  }

  std::string EdgesText(Index e, Index v, const std::optional<std::vector<std::int64_t>>& dims) {
    const std::vector<Group>& groups = body_.entries[e].variants[v].groups;
    absl::flat_hash_map<Index, std::vector<Index>> writers;  // groups by stored tensor
    for (Index g = 0; g < groups.size(); ++g) {
      for (const Index tensor : groups[g].writes) writers[Stored(tensor)].push_back(g);
    }
    std::string text;
    for (Index g = 0; g < groups.size(); ++g) {
      absl::flat_hash_map<Index, std::vector<Index>> carried;  // tensors by the group before
      for (const Index tensor : groups[g].reads) {
        const auto found = writers.find(Stored(tensor));
        if (found == writers.end()) continue;
        for (const Index writer : Common(found->second, groups[g].predecessors)) {
          carried[writer].push_back(tensor);
        }
      }
      for (const Index before : groups[g].predecessors) {
        text += "      " + Node(e, v, before) + " -> " + Node(e, v, g) +
                EdgeLabel(carried[before], dims) + ";\n";
      }
    }
    return text;
  }

  std::string EdgeLabel(const std::vector<Index>& tensors,
                        const std::optional<std::vector<std::int64_t>>& dims) const {
    if (tensors.empty()) return " [style=dashed]";
    std::string label;
    for (std::size_t i = 0; i < tensors.size() && i < kMaxTensors; ++i) {
      const Tensor& tensor = body_.tensors[tensors[i]];
      if (i > 0) label += "\\n";
      label += Name(tensor.name);
      if (dims) label += " " + std::to_string(tensor.Bytes(*dims)) + " B";
    }
    if (tensors.size() > kMaxTensors) label += "\\n" + More(tensors.size(), kMaxTensors);
    return " [label=\"" + label + "\"]";
  }

  const Body& body_;
  const Extras& extras_;
  std::string text_;
};

}  // namespace

std::string ToDot(const Body& body, const Extras& extras) { return Drawing(body, extras).Draw(); }

}  // namespace leeway::plan
