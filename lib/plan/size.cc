#include "leeway/size.h"

namespace leeway {
inline namespace v0 {

std::string Size::Within(Binding needed) const {
  return binding_ < needed ? "(" + text_ + ")" : text_;
}

Size Size::Join(const Size& a, const char* op, const Size& b, Binding binding) {
  // Operators of one level group to the left.
  const Binding right = binding == Binding::kSum ? Binding::kTerm : Binding::kAtom;
  return Size(a.Within(binding) + op + b.Within(right), binding);
}

Size operator+(const Size& a, const Size& b) {
  return Size::Join(a, " + ", b, Size::Binding::kSum);
}
Size operator-(const Size& a, const Size& b) {
  return Size::Join(a, " - ", b, Size::Binding::kSum);
}
Size operator*(const Size& a, const Size& b) {
  return Size::Join(a, " * ", b, Size::Binding::kTerm);
}
Size FloorDiv(const Size& a, const Size& b) {
  return Size::Join(a, " floordiv ", b, Size::Binding::kTerm);
}
Size CeilDiv(const Size& a, const Size& b) {
  return Size::Join(a, " ceildiv ", b, Size::Binding::kTerm);
}
Size Mod(const Size& a, const Size& b) { return Size::Join(a, " mod ", b, Size::Binding::kTerm); }
Size Min(const Size& a, const Size& b) {
  return Size("min(" + a.text_ + ", " + b.text_ + ")", Size::Binding::kAtom);
}
Size Max(const Size& a, const Size& b) {
  return Size("max(" + a.text_ + ", " + b.text_ + ")", Size::Binding::kAtom);
}

}  // namespace v0
}  // namespace leeway
