#include "plan/op_key.h"

#include <cstring>
#include <string>
#include <string_view>
#include <variant>

#include "absl/strings/str_cat.h"
#include "base/digest.h"

namespace leeway::plan {
namespace {

// Writes operators down in a form that differs if what they compute differs.
class OpText {
 public:
  explicit OpText(const Body& body) : body_(body) {}

  void Add(const Operator& op) {
    absl::StrAppend(&text_, op.kind, "\n", op.work.index());
    std::visit([this](const auto& work) { AddWork(work); }, op.work);
    for (Index tensor : op.inputs) absl::StrAppend(&text_, " <", Type(tensor));
    for (Index tensor : op.outputs) absl::StrAppend(&text_, " >", Type(tensor));
    text_ += '\n';
  }

  const std::string& text() const { return text_; }

 private:
  int Type(Index tensor) const { return static_cast<int>(body_.tensors[tensor].dtype); }

  void AddSizes(std::initializer_list<const Expr*> sizes) {
    for (const Expr* size : sizes) {
      const std::string printed =
          size->Print([this](std::size_t dim) { return std::string_view(body_.dims[dim].name); });
      absl::StrAppend(&text_, " ", printed);
    }
  }
  // The bits of it: no two doubles print alike.
  void AddNumber(double value) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    absl::StrAppend(&text_, " #", bits);
  }

  void AddWork(const std::monostate&) {}
  void AddWork(const Gemm& work) {
    AddSizes({&work.m, &work.n, &work.k, &work.count});
    AddNumber(work.density);
  }
  void AddWork(const Conv& work) {
    AddSizes({&work.n, &work.h, &work.w, &work.c, &work.filters, &work.kernel_h, &work.kernel_w});
    for (std::uint32_t part :
         {work.stride_h, work.stride_w, work.dilation_h, work.dilation_w, work.pad_top,
          work.pad_left, work.pad_bottom, work.pad_right, work.groups}) {
      absl::StrAppend(&text_, " ", part);
    }
  }
  void AddWork(const Vector& work) {
    AddSizes({&work.elements});
    AddNumber(work.ops_per_element);
  }
  void AddWork(const Reduce& work) {
    AddSizes({&work.elements, &work.outputs});
    AddNumber(work.ops_per_element);
  }
  void AddWork(const Move& work) {
    AddSizes({&work.bytes});
    if (work.contiguous_bytes) AddSizes({&*work.contiguous_bytes});
  }
  void AddWork(const Collective& work) {
    absl::StrAppend(&text_, " ", work.kind);
    AddSizes({&work.bytes, &work.participants});
  }
  void AddWork(const SendReceive& work) {
    absl::StrAppend(&text_, work.send ? " send" : " receive");
    AddSizes({&work.bytes});
  }
  void AddWork(const Host& work) { absl::StrAppend(&text_, " ", work.nanoseconds); }
  void AddWork(const Call& work) {
    absl::StrAppend(&text_, " ", body_.entries[work.entry].name);
    AddSizes({&work.times});
  }
  void AddWork(const Custom& work) { AddSizes({&work.flops, &work.bytes}); }

  const Body& body_;
  std::string text_;
};

}  // namespace

std::uint64_t OpKey(const Body& body, const Entry& entry, std::span<const Index> ops) {
  OpText text(body);
  for (Index op : ops) text.Add(entry.operators[op]);
  const base::Digest digest = base::DigestOf(text.text());
  std::uint64_t key = 0;
  for (std::size_t i = 0; i < sizeof key; ++i) {
    key = key << 8 | static_cast<std::uint8_t>(digest.bytes[i]);
  }
  return key;
}

}  // namespace leeway::plan
