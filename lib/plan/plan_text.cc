#include "plan/plan_text.h"

#include <string_view>

namespace leeway::plan {
namespace {

std::string_view BindName(Bind bind) {
  switch (bind) {
    case Bind::kSubmit:
      return "submit";
    case Bind::kProduced:
      return "produced";
    case Bind::kSequence:
      return "sequence";
  }
  return "?";
}

std::string_view RuleName(BatchRule rule) {
  switch (rule) {
    case BatchRule::kMax:
      return "max";
    case BatchRule::kSum:
      return "sum";
    case BatchRule::kCount:
      return "count";
    case BatchRule::kEqual:
      return "equal";
  }
  return "?";
}

std::string Number(std::int64_t value) { return std::to_string(value); }

std::string_view ModeName(PlacementMode mode) {
  switch (mode) {
    case PlacementMode::kAny:
      return "any";
    case PlacementMode::kPreferred:
      return "preferred";
    case PlacementMode::kPinned:
      return "pinned";
  }
  return "?";
}

class Printer {
 public:
  Printer(const Body& body, const Extras& extras) : body_(body), extras_(extras) {}

  std::string Print() {
    text_ += "plan " + Word(body_.model) + " by " + Word(body_.producer) + " " +
             Word(body_.producer_version) + "\n";
    text_ += "digest " + body_.digest.ToHex() + "\n";
    for (const Dim& dim : body_.dims) {
      text_ += "dim " + Word(dim.name) + " [" + Number(dim.min) + ", " + Number(dim.max) + "] ";
      text_.append(BindName(dim.bind)).append(" ").append(RuleName(dim.batch_rule)) += '\n';
    }
    text_ += "tensors " + Number(static_cast<std::int64_t>(body_.tensors.size())) + " weights " +
             Number(body_.WeightBytes()) + " B\n";
    for (Index e = 0; e < body_.entries.size(); ++e) PrintEntry(e);
    return std::move(text_);
  }

 private:
  std::string Show(const Expr& expr) const {
    return expr.Print([&](std::size_t dim) -> std::string_view { return body_.dims[dim].name; });
  }

  bool Shows(Index entry, Index variant) const {
    return extras_.shows == nullptr || extras_.shows(entry, variant);
  }

  bool ShowsAny(Index e) const {
    const auto variants = static_cast<Index>(body_.entries[e].variants.size());
    for (Index v = 0; v < variants; ++v) {
      if (Shows(e, v)) return true;
    }
    return extras_.shows == nullptr;
  }

  void PrintEntry(Index e) {
    if (!ShowsAny(e)) return;
    const Entry& entry = body_.entries[e];
    text_ += "entry " + Word(entry.name) + (entry.internal ? " internal" : "") + " operators " +
             Number(static_cast<std::int64_t>(entry.operators.size())) + "\n";
    for (Index v = 0; v < entry.variants.size(); ++v) {
      if (Shows(e, v)) PrintVariant(e, v);
    }
  }

  void PrintVariant(Index e, Index v) {
    const Entry& entry = body_.entries[e];
    const Variant& variant = entry.variants[v];
    text_ += "  variant " + Word(variant.name);
    for (std::size_t i = 0; i < body_.dims.size(); ++i) {
      PrintRange(body_.dims[i], variant.envelope[i]);
    }
    if (extras_.dims != nullptr) PrintDims(extras_.dims(e, v));
    text_ += '\n';
    for (const Constraint& constraint : variant.constraints) {
      text_ += "    require " + Show(constraint.expr) + " in [" + Number(constraint.min) + ", " +
               Number(constraint.max) + "] multiple of " + Number(constraint.multiple_of) + "\n";
    }
    for (Index g = 0; g < variant.groups.size(); ++g) {
      PrintGroup(entry, variant.groups[g]);
      if (extras_.group_words != nullptr) text_ += " " + extras_.group_words(e, v, g);
      text_ += '\n';
    }
    for (const Elided& elided : variant.elided) {
      text_ +=
          "    elided " + Word(entry.operators[elided.op].name) + ": " + Word(elided.reason) + "\n";
    }
  }

  void PrintDims(const std::optional<std::vector<std::int64_t>>& dims) {
    text_ += dims ? " at" : " at -";
    for (std::size_t i = 0; dims && i < dims->size(); ++i) {
      text_ += " " + Word(body_.dims[i].name) + "=" + Number((*dims)[i]);
    }
  }

  void PrintRange(const Dim& dim, const Range& range) {
    text_ += " " + Word(dim.name) + "=[" + Number(range.min) + ", " + Number(range.opt) + ", " +
             Number(range.max) + "]";
    if (range.mode == ShapeMode::kPadded) {
      text_ += " padded";
    } else {
      text_ += " dynamic/" + Number(range.granule);
    }
  }

  void PrintGroup(const Entry& entry, const Group& group) {
    text_ += "    group " + Word(group.name) + " ops";
    std::size_t next = 0;
    for (const Index op : group.ops) {
      const bool again = next < group.recomputed.size() && group.recomputed[next] == op;
      next += again ? 1 : 0;
      text_ += (again ? " ~" : " ") + Word(entry.operators[op].name);
    }
    text_ += " placement " + PlacementText(group.placement) + " shards " + Show(group.shards);
    const Tiling& tiling = group.tiling;
    if (tiling.m != 0 || tiling.n != 0 || tiling.k != 0) {
      text_ += " tiling " + Number(tiling.m) + "x" + Number(tiling.n) + "x" + Number(tiling.k);
    }
    if (!group.kernel_key.empty()) text_ += " kernel " + Word(group.kernel_key);
    if (!group.profile.empty()) {
      text_ += " profile " + Number(static_cast<std::int64_t>(group.profile.size()));
    }
    if (group.cost_ns) text_ += " cost_ns " + Show(*group.cost_ns);
  }

  const Body& body_;
  const Extras& extras_;
  std::string text_;
};

}  // namespace

// Names may hold blanks and control characters; a line must stay a line.
std::string Word(std::string_view name) {
  std::string word;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    word += byte <= ' ' || byte == 0x7f ? '_' : c;
  }
  return word.empty() ? "-" : word;
}

std::string PlacementText(const Placement& placement) {
  std::string text(ModeName(placement.mode));
  for (const CoreRef& core : placement.cores) {
    text += " " + (core.core_class.empty() ? "*" : Word(core.core_class)) + ":" +
            (core.index ? Number(*core.index) : "*");
    if (core.device) text += "@" + Number(*core.device);
  }
  return text;
}

std::string ToText(const Body& body, const Extras& extras) { return Printer(body, extras).Print(); }

}  // namespace leeway::plan
