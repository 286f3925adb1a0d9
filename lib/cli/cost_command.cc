// leeway cost: operators by themselves.

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/file.h"
#include "cli/input.h"
#include "cli/json.h"
#include "cli/operator_text.h"
#include "cli/units.h"
#include "leeway/cost.h"

namespace leeway::cli {
namespace {

class CostCommand : public Command {
 public:
  std::string_view name() const override { return "cost"; }
  std::string_view summary() const override {
    return "cost single operators on a core of a device, and tell what decides";
  }
  std::vector<std::string_view> about() const override {
    return {
        "Costs each OP by itself on one core: operands come from DRAM, the result goes there. The "
        "model is the one that plans are compiled and simulated with.",
        "OP is gemm:m=,n=,k=[,count=,density=], conv:h=,w=,c=,k=,r=,s=[,n=,stride=,pad=,dilation=,"
        "groups=], where k is the number of filters and r × s their size, and each of stride_h, "
        "stride_w, dilation_h, dilation_w, pad_top, pad_left, pad_bottom, pad_right may be told "
        "apart, vector:elements=[,ops=], reduce:elements=[,outputs=,ops=] or "
        "move:bytes=[,contiguous"
        "=]. All take dtype= (default bf16) and kind= (gelu, softmax, …: how many operations an "
        "element takes); products take tile_m=,tile_n=,tile_k=, else the tile is searched.",
        "'cycles' are those of the unit that computes; 'time' adds the launch, what the DRAM takes "
        "beyond that, and the first and last tile. 'energy' is that of the operator's events and "
        "of "
        "the whole device's static power meanwhile. 'bound' is what decided: compute, vector, "
        "bandwidth, sram (operands are read again because they do not fit) or launch."};
  }
  std::vector<std::string_view> examples() const override {
    return {"leeway cost gemm:m=512,n=768,k=768 --explain",
            "leeway cost --device tpu_v4 conv:n=1,h=56,w=56,c=64,k=64,r=3,s=3,stride=1,pad=1",
            "leeway cost --topology resnet50.csv --json"};
  }
  void Declare(CLI::App& app) override {
    AddArguments(app, "OP...", &operators_, "Operators, such as gemm:m=512,n=768,k=768.");
    AddText(app, "--device", "DEVICE", &device_,
            "Device: a path, or the name of a shipped one (default onnxim_tpuv4_c4).");
    AddText(app, "--core", "CLASS", &core_class_,
            "Class of cores (default: the first that can run the operator).");
    AddInteger(app, "--shards", {1, 65'536}, &shards_,
               "Cost one of so many equal parts, which share the DRAM (default 1).");
    AddText(app, "--topology", "FILE", &topology_,
            "Cost the layers of a SCALE-Sim topology (.csv) too.");
    AddFlag(app, "--explain", &explain_, "Show the terms of the formulas with their numbers.");
  }
  std::string Objection() const override {
    return operators_.empty() && topology_.empty() ? "cost needs an OP or --topology FILE" : "";
  }
  Ending Run(const Invocation& invocation) override;

 private:
  Ending ReadOperators(std::vector<OperatorSpec>& specs) const;
  std::string Screen(const std::vector<OperatorCost>& costs, const Device& device,
                     const Ink& ink) const;
  std::string Document(const std::vector<OperatorCost>& costs, const Device& device) const;

  std::vector<std::string> operators_;
  std::string device_ = "onnxim_tpuv4_c4";
  std::string core_class_, topology_;
  std::int64_t shards_ = 1;
  bool explain_ = false;
};

// What all of them take, one after another.
struct Sum {
  std::int64_t cycles = 0, dram_bytes = 0;
  Nanos time{0};
  std::optional<double> energy_j = 0.;  // nothing unless all have one
};

Sum SumOf(const std::vector<OperatorCost>& costs) {
  Sum sum;
  for (const OperatorCost& cost : costs) {
    sum.cycles += cost.cycles;
    sum.dram_bytes += cost.dram_bytes;
    sum.time += cost.time();
    if (sum.energy_j && cost.energy_j) {
      *sum.energy_j += *cost.energy_j;
    } else {
      sum.energy_j = std::nullopt;
    }
  }
  return sum;
}

std::string EnergyText(const std::optional<double>& joules) {
  return joules ? FormatEnergy(*joules) : "unknown";
}

std::string Explained(const OperatorCost& cost) {
  std::string text;
  for (const CostTerm& term : cost.terms) {
    const std::string name = "    " + term.name;
    const std::string line = term.formula + " = " + std::to_string(std::llround(term.value)) +
                             (term.unit.empty() ? "" : " " + term.unit);
    constexpr std::size_t kIndent = 19;
    text += name + std::string(kIndent - name.size(), ' ') + Wrapped(line, kIndent) + "\n";
  }
  return text;
}

std::string CostCommand::Screen(const std::vector<OperatorCost>& costs, const Device& device,
                                const Ink& ink) const {
  Table table({"operator", "cycles", "of peak", "DRAM", "SRAM", "time", "energy", "bound"});
  const auto count = [](std::int64_t value) { return static_cast<double>(value); };
  for (const OperatorCost& cost : costs) {
    table.Add({cost.name, FormatCount(count(cost.cycles)), FormatPercent(cost.utilization, 1),
               FormatBytes(count(cost.dram_bytes)), FormatBytes(count(cost.sram_peak_bytes)),
               FormatDuration(cost.time()), EnergyText(cost.energy_j), CostBoundName(cost.bound)});
  }
  if (costs.size() > 1) {
    const Sum sum = SumOf(costs);
    table.AddStrong({"in all", FormatCount(count(sum.cycles)), "",
                     FormatBytes(count(sum.dram_bytes)), "", FormatDuration(sum.time),
                     EnergyText(sum.energy_j), ""});
  }
  std::string text =
      ink.Bold("One core of " + std::string(device.name()) +
               (shards_ > 1 ? ", one of " + std::to_string(shards_) + " shards" : std::string())) +
      "\n\n" + table.Render(ink);
  if (!topology_.empty() && !explain_) return text;
  for (const OperatorCost& cost : costs) {
    text += "\n" + ink.Bold(cost.name) + "\n  " + CostBoundName(cost.bound) + ": " +
            Wrapped(cost.bound_reason, std::string_view(CostBoundName(cost.bound)).size() + 4) +
            "\n";
    if (explain_) text += Explained(cost);
  }
  return text;
}

Json ObjectOf(const OperatorCost& cost, bool explain) {
  Json object;
  object["name"] = cost.name;
  object["core_class"] = cost.core_class;
  object["cycles"] = cost.cycles;
  object["utilization"] = cost.utilization;
  object["macs"] = cost.macs;
  object["vector_ops"] = cost.vector_ops;
  object["dram_bytes"] = cost.dram_bytes;
  object["sram_peak_bytes"] = cost.sram_peak_bytes;
  object["array_traffic"] = {{"left", cost.array_traffic.left},
                             {"right", cost.array_traffic.right},
                             {"out", cost.array_traffic.out}};
  object["ns"] = cost.time().count();
  object["launch_ns"] = cost.launch.count();
  object["fill_ns"] = cost.fill.count();
  object["body_ns"] = cost.body.count();
  object["drain_ns"] = cost.drain.count();
  const auto set = [&](const char* key, const std::optional<double>& joules) {
    if (!joules) return SetAbsent(object, key, cost.energy_reason);
    object[key] = *joules;
  };
  set("energy_j", cost.energy_j);
  set("dynamic_energy_j", cost.dynamic_energy_j);
  set("static_energy_j", cost.static_energy_j);
  object["bound"] = CostBoundName(cost.bound);
  object["bound_reason"] = cost.bound_reason;
  if (!explain) return object;
  object["terms"] = Json::array();
  for (const CostTerm& term : cost.terms) {
    object["terms"].push_back({{"name", term.name},
                               {"formula", term.formula},
                               {"value", term.value},
                               {"unit", term.unit}});
  }
  return object;
}

std::string CostCommand::Document(const std::vector<OperatorCost>& costs,
                                  const Device& device) const {
  Json document = NewDocument("cost");
  document["device"] = device.name();
  document["device_digest"] = device.digest();
  document["shards"] = shards_;
  document["ops"] = Json::array();
  for (const OperatorCost& cost : costs) document["ops"].push_back(ObjectOf(cost, explain_));
  const Sum sum = SumOf(costs);
  document["total"] = {
      {"cycles", sum.cycles}, {"dram_bytes", sum.dram_bytes}, {"ns", sum.time.count()}};
  if (sum.energy_j) document["total"]["energy_j"] = *sum.energy_j;
  return JsonText(document);
}

Ending CostCommand::ReadOperators(std::vector<OperatorSpec>& specs) const {
  for (const std::string& text : operators_) {
    auto parsed = ParseOperator(text);
    if (const auto* wrong = std::get_if<std::string>(&parsed)) {
      return {ExitCode::kUsage, "OP " + *wrong};
    }
    specs.push_back(std::get<OperatorSpec>(std::move(parsed)));
  }
  if (topology_.empty()) return {};
  const Result<std::string> text = ReadFile(topology_);
  if (!text.ok()) return EndingOf(text.status());
  const auto layers = ParseScaleSimTopology(*text, topology_);
  if (!layers.ok()) return EndingOf(layers.status());
  specs.insert(specs.end(), layers->begin(), layers->end());
  return {};
}

Ending CostCommand::Run(const Invocation& invocation) {
  std::vector<OperatorSpec> specs;
  if (Ending wrong = ReadOperators(specs); wrong.code != ExitCode::kOk) return wrong;
  const Result<Device> device = LoadDevice(device_);
  if (!device.ok()) return EndingOf(device.status());
  std::vector<OperatorCost> costs;
  for (OperatorSpec& spec : specs) {
    spec.shards = shards_;
    spec.core_class = core_class_;
    Result<OperatorCost> cost = CostOf(*device, spec);
    if (cost.status().code() == StatusCode::kNotFound) {
      return {ExitCode::kUsage, "option --core: " + std::string(cost.status().message())};
    }
    if (!cost.ok()) {
      return {ExitCode::kBadInput,
              spec.name + " on " + device_ + ": " + std::string(cost.status().message())};
    }
    costs.push_back(*std::move(cost));
  }
  const Status written =
      invocation.Deliver(invocation.options().json ? Document(costs, *device)
                                                   : Screen(costs, *device, invocation.ink()));
  return written.ok() ? Ending{ExitCode::kOk, ""} : EndingOf(written);
}

}  // namespace

std::unique_ptr<Command> MakeCostCommand() { return std::make_unique<CostCommand>(); }

}  // namespace leeway::cli
