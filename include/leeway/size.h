// A size as a function of a plan's dimensions: n * seq, CeilDiv(seq, 128) * 128.
//
// Threading: values.
// Errors:    none here: an overflow within the dimensions' domains is a finding of Build().

#ifndef LEEWAY_SIZE_H_
#define LEEWAY_SIZE_H_

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>

namespace leeway {
inline namespace v0 {

class Size {
 public:
  template <std::integral T>
  Size(T value) : text_(std::to_string(value)) {}  // NOLINT: a number is a size
  // An expression in the grammar of plan.proto, e.g. a dimension's name.
  static Size Expression(std::string text) { return Size(std::move(text), Binding::kSum); }
  static Size Named(std::string name) { return Size(std::move(name), Binding::kAtom); }

  const std::string& text() const { return text_; }

  friend Size operator+(const Size& a, const Size& b);
  friend Size operator-(const Size& a, const Size& b);
  friend Size operator*(const Size& a, const Size& b);
  friend Size FloorDiv(const Size& a, const Size& b);
  friend Size CeilDiv(const Size& a, const Size& b);
  friend Size Mod(const Size& a, const Size& b);
  friend Size Min(const Size& a, const Size& b);
  friend Size Max(const Size& a, const Size& b);

 private:
  // How tightly the text binds: what needs parentheses inside a larger one.
  enum class Binding { kSum, kTerm, kAtom };
  Size(std::string text, Binding binding) : text_(std::move(text)), binding_(binding) {}
  static Size Join(const Size& a, const char* op, const Size& b, Binding binding);
  std::string Within(Binding needed) const;

  std::string text_;
  Binding binding_ = Binding::kAtom;
};

Size operator+(const Size& a, const Size& b);
Size operator-(const Size& a, const Size& b);
Size operator*(const Size& a, const Size& b);
Size FloorDiv(const Size& a, const Size& b);
Size CeilDiv(const Size& a, const Size& b);
Size Mod(const Size& a, const Size& b);
Size Min(const Size& a, const Size& b);
Size Max(const Size& a, const Size& b);

}  // namespace v0
}  // namespace leeway

#endif  // LEEWAY_SIZE_H_
