#include "cli/operator_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "cli/units.h"

namespace leeway::cli {
namespace {

// Of images and filters: the model's own.
constexpr std::int64_t kMaxSide = std::int64_t{1} << 30;

// The keys of one operator; the first thing that is wrong sticks.
class Keys {
 public:
  explicit Keys(const std::string& text) {
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      Add(text.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  std::string TakeText(const std::string& key) {
    const auto found = std::find_if(keys_.begin(), keys_.end(),
                                    [&](const auto& known) { return known.first == key; });
    if (found == keys_.end()) return "";
    std::string value = std::move(found->second);
    keys_.erase(found);
    return value;
  }

  // A whole number; `otherwise` if the key is not there.
  std::int64_t Take(const std::string& key, std::int64_t otherwise, std::int64_t low = 1,
                    std::int64_t high = std::int64_t{1} << 50) {
    const std::string value = TakeText(key);
    if (value.empty()) return otherwise;
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || number < low ||
        number > high) {
      Fail(key + "='" + value + "' is not a whole number from " + std::to_string(low) + " to " +
           std::to_string(high));
      return otherwise;
    }
    return number;
  }

  std::uint32_t TakeSmall(const std::string& key, std::uint32_t otherwise, std::int64_t low) {
    return static_cast<std::uint32_t>(Take(key, otherwise, low, 1 << 20));
  }

  std::int64_t Need(const std::string& key) {
    const std::int64_t value = Take(key, 0);
    if (value == 0) Fail("needs " + key + "=");
    return std::max<std::int64_t>(value, 1);
  }

  // A number above 0 and at most `high`.
  double TakeNumber(const std::string& key, double otherwise, double high) {
    const std::string value = TakeText(key);
    if (value.empty()) return otherwise;
    const std::optional<double> number = ParseNumber(value);
    if (number && *number > 0 && *number <= high) return *number;
    Fail(key + "='" + value + "' is not a number above 0 and up to " + FormatShortest(high));
    return otherwise;
  }

  void Fail(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  // Once all are taken: what is wrong, a key that is left over included.
  const std::string& Wrong() {
    if (!keys_.empty()) Fail("no key '" + keys_.front().first + "' here");
    return wrong_;
  }

 private:
  void Add(const std::string& pair) {
    const std::size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == pair.size()) {
      return Fail("'" + pair + "' is not of the form KEY=VALUE");
    }
    const std::string key = pair.substr(0, equals);
    for (const auto& known : keys_) {
      if (known.first == key) return Fail("key '" + key + "' is there twice");
    }
    keys_.emplace_back(key, pair.substr(equals + 1));
  }

  std::vector<std::pair<std::string, std::string>> keys_;
  std::string wrong_;
};

std::string NamesOfDTypes() {
  std::string names;
  for (int i = 1; i <= static_cast<int>(kLastDType); ++i) {
    names += (names.empty() ? "" : ", ") + std::string(DTypeName(static_cast<DType>(i)));
  }
  return names;
}

Work GemmOf(Keys& keys) {
  Gemm gemm{.m = keys.Need("m"), .n = keys.Need("n"), .k = keys.Need("k")};
  gemm.count = keys.Take("count", 1);
  gemm.density = keys.TakeNumber("density", 1, 1);
  return gemm;
}

// Along one side of an image.
void CheckWindow(Keys& keys, std::int64_t side, std::int64_t padding, std::int64_t kernel,
                 std::int64_t dilation) {
  if (side > kMaxSide || kernel > kMaxSide) {
    return keys.Fail("sides of images and filters end at " + std::to_string(kMaxSide));
  }
  const std::int64_t window = (kernel - 1) * dilation + 1;
  if (window <= side + padding) return;
  keys.Fail("a window of " + std::to_string(window) + " does not fit into " +
            std::to_string(side + padding) + " with its padding");
}

// Named as papers do: filters of r × s, k of them.
Work ConvOf(Keys& keys) {
  const std::int64_t h = keys.Need("h"), w = keys.Take("w", h), c = keys.Need("c");
  const std::int64_t k = keys.Need("k"), r = keys.Need("r"), s = keys.Take("s", r);
  Conv conv{
      .n = keys.Take("n", 1), .h = h, .w = w, .c = c, .filters = k, .kernel_h = r, .kernel_w = s};
  const std::uint32_t stride = keys.TakeSmall("stride", 1, 1);
  conv.stride = {keys.TakeSmall("stride_h", stride, 1), keys.TakeSmall("stride_w", stride, 1)};
  const std::uint32_t dilation = keys.TakeSmall("dilation", 1, 1);
  conv.dilation = {keys.TakeSmall("dilation_h", dilation, 1),
                   keys.TakeSmall("dilation_w", dilation, 1)};
  const std::uint32_t pad = keys.TakeSmall("pad", 0, 0);
  conv.padding = {keys.TakeSmall("pad_top", pad, 0), keys.TakeSmall("pad_left", pad, 0),
                  keys.TakeSmall("pad_bottom", pad, 0), keys.TakeSmall("pad_right", pad, 0)};
  conv.groups = keys.TakeSmall("groups", 1, 1);
  CheckWindow(keys, h, conv.padding.top + conv.padding.bottom, r, conv.dilation.h);
  CheckWindow(keys, w, conv.padding.left + conv.padding.right, s, conv.dilation.w);
  if (c % conv.groups != 0 || k % conv.groups != 0) {
    keys.Fail("c and k are no multiples of groups=" + std::to_string(conv.groups));
  }
  return conv;
}

double OpsOf(Keys& keys, const std::string& kind) {
  const double typical = TypicalOpsPerElement(kind);
  return keys.TakeNumber("ops", typical > 0 ? typical : 1, 1e6);
}

std::optional<Work> WorkOf(const std::string& form, const std::string& kind, Keys& keys) {
  if (form == "gemm") return GemmOf(keys);
  if (form == "conv") return ConvOf(keys);
  if (form == "vector") {
    return Vector{.elements = keys.Need("elements"), .ops_per_element = OpsOf(keys, kind)};
  }
  if (form == "reduce") {
    return Reduce{.elements = keys.Need("elements"),
                  .outputs = keys.Take("outputs", 1),
                  .ops_per_element = OpsOf(keys, kind)};
  }
  if (form == "move") {
    return Move{.bytes = keys.Need("bytes"), .contiguous_bytes = keys.Take("contiguous", 0)};
  }
  return std::nullopt;
}

std::optional<DType> DTypeOf(std::string name) {
  for (char& c : name) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  for (int i = 1; i <= static_cast<int>(kLastDType); ++i) {
    if (name == DTypeName(static_cast<DType>(i))) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace

std::variant<OperatorSpec, std::string> ParseOperator(const std::string& text) {
  const std::size_t colon = text.find(':');
  const std::string form = text.substr(0, colon);
  const std::string rest = colon == std::string::npos ? "" : text.substr(colon + 1);
  Keys keys(rest);
  OperatorSpec op;
  op.name = text;
  op.kind = keys.TakeText("kind");
  const std::optional<Work> work = WorkOf(form, op.kind, keys);
  if (!work) return "'" + text + "': an operator is gemm:, conv:, vector:, reduce: or move:";
  op.work = *work;
  if (const std::string dtype = keys.TakeText("dtype"); !dtype.empty()) {
    const std::optional<DType> known = DTypeOf(dtype);
    if (known) op.dtype = *known;
    if (!known) keys.Fail("no dtype '" + dtype + "'; there is: " + NamesOfDTypes());
  }
  op.tile = {keys.Take("tile_m", 0), keys.Take("tile_n", 0), keys.Take("tile_k", 0)};
  if (op.tile.m == 0 && (op.tile.n > 0 || op.tile.k > 0)) keys.Fail("a tile needs tile_m=");
  if (const std::string wrong = keys.Wrong(); !wrong.empty()) return "'" + text + "': " + wrong;
  return op;
}

}  // namespace leeway::cli
