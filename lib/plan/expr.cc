#include "plan/expr.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/math.h"
#include "base/status_macros.h"

namespace leeway::plan {
namespace {

using Op = Expr::Op;
using Find = std::function<std::optional<std::size_t>(std::string_view)>;

bool IsNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c) || c == '.'; }

std::optional<Op> BinaryWord(std::string_view word) {
  if (word == "floordiv") return Op::kFloorDiv;
  if (word == "ceildiv") return Op::kCeilDiv;
  if (word == "mod") return Op::kMod;
  return std::nullopt;
}

class Parser {
 public:
  Parser(std::string_view text, const Find& find, std::vector<Expr::Instruction>& program)
      : text_(text), find_(find), program_(program) {}

  Status Run() {
    LEEWAY_RETURN_IF_ERROR(Sum(0));
    if (Peek() != '\0' || at_ < text_.size()) return Expected("an operator or the end");
    return Status();
  }

 private:
  // Returns the next character that is no blank, or NUL at the end.
  char Peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::string_view PeekWord() {
    if (!IsNameStart(Peek())) return {};
    std::size_t end = at_;
    while (end < text_.size() && IsNamePart(text_[end])) ++end;
    return text_.substr(at_, end - at_);
  }

  std::string Column(std::size_t at) const { return "column " + std::to_string(at + 1); }

  Status Expected(std::string_view what) {
    std::string message = Column(at_) + ": expected " + std::string(what);
    const char c = Peek();
    if (at_ >= text_.size()) {
      message += " at the end";
    } else if (c > ' ' && c < 0x7f) {
      message += std::string(" before '") + c + "'";
    }
    return base::InvalidArgument(std::move(message));
  }

  Status Expect(char c) {
    if (Peek() != c) return Expected(std::string("'") + c + "'");
    ++at_;
    return Status();
  }

  void Emit(Op op, std::int64_t operand = 0) { program_.push_back({op, operand}); }

  Status Sum(int depth) {
    if (depth > Expr::kMaxDepth) {
      return base::ResourceExhausted(Column(at_) + ": nested deeper than " +
                                     std::to_string(Expr::kMaxDepth));
    }
    LEEWAY_RETURN_IF_ERROR(Term(depth));
    for (char c = Peek(); c == '+' || c == '-'; c = Peek()) {
      ++at_;
      LEEWAY_RETURN_IF_ERROR(Term(depth));
      Emit(c == '+' ? Op::kAdd : Op::kSub);
    }
    return Status();
  }

  Status Term(int depth) {
    LEEWAY_RETURN_IF_ERROR(Atom(depth));
    while (const std::optional<Op> op = TakeFactorOperator()) {
      LEEWAY_RETURN_IF_ERROR(Atom(depth));
      Emit(*op);
    }
    return Status();
  }

  std::optional<Op> TakeFactorOperator() {
    if (Peek() == '*') {
      ++at_;
      return Op::kMul;
    }
    const std::string_view word = PeekWord();
    const std::optional<Op> op = BinaryWord(word);
    if (op) at_ += word.size();
    return op;
  }

  Status Atom(int depth) {
    const char c = Peek();
    if (IsDigit(c)) return Number("");
    if (IsNameStart(c)) return Word(depth);
    if (c == '(') {
      ++at_;
      LEEWAY_RETURN_IF_ERROR(Sum(depth + 1));
      return Expect(')');
    }
    if (c != '-') return Expected("a number, a dimension, '(' or '-'");
    if (depth >= Expr::kMaxDepth) return Sum(depth + 1);  // reports the bound
    ++at_;
    if (IsDigit(Peek())) return Number("-");
    LEEWAY_RETURN_IF_ERROR(Atom(depth + 1));
    Emit(Op::kNegate);
    return Status();
  }

  Status Number(std::string_view sign) {
    const std::size_t start = at_;
    while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
    const std::string digits = std::string(sign).append(text_.substr(start, at_ - start));
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc()) {
      return base::InvalidArgument(Column(start) + ": the number exceeds 64 bits");
    }
    Emit(Op::kConstant, value);
    return Status();
  }

  Status Word(int depth) {
    const std::string_view word = PeekWord();
    if (word == "min" || word == "max") {
      at_ += word.size();
      LEEWAY_RETURN_IF_ERROR(Expect('('));
      LEEWAY_RETURN_IF_ERROR(Sum(depth + 1));
      LEEWAY_RETURN_IF_ERROR(Expect(','));
      LEEWAY_RETURN_IF_ERROR(Sum(depth + 1));
      Emit(word == "min" ? Op::kMin : Op::kMax);
      return Expect(')');
    }
    if (BinaryWord(word)) return Expected("a number, a dimension, '(' or '-'");
    const std::optional<std::size_t> dim = find_(word);
    if (!dim) {
      return base::InvalidArgument(Column(at_) + ": no dimension is named \"" +
                                   std::string(word.substr(0, 64)) + "\"");
    }
    at_ += word.size();
    Emit(Op::kSymbol, static_cast<std::int64_t>(*dim));
    return Status();
  }

  std::string_view text_;
  const Find& find_;
  std::vector<Expr::Instruction>& program_;
  std::size_t at_ = 0;
};

std::optional<std::int64_t> Apply(Op op, std::int64_t a, std::int64_t b) {
  switch (op) {
    case Op::kAdd:
      return base::CheckedAdd(a, b);
    case Op::kSub:
      return base::CheckedSub(a, b);
    case Op::kMul:
      return base::CheckedMul(a, b);
    case Op::kFloorDiv:
      return base::CheckedFloorDiv(a, b);
    case Op::kCeilDiv:
      return base::CheckedCeilDiv(a, b);
    case Op::kMod:
      return base::CheckedMod(a, b);
    case Op::kMin:
      return std::min(a, b);
    case Op::kMax:
      return std::max(a, b);
    default:
      return std::nullopt;
  }
}

struct Outcome {
  std::int64_t value = 0;
  // The operation that failed and its operands, where one did.
  std::optional<Op> failed;
  std::int64_t a = 0, b = 0;
};

Outcome Run(const std::vector<Expr::Instruction>& program, std::span<const std::int64_t> dims) {
  std::array<std::int64_t, Expr::kMaxStack> stack;  // every slot is written before it is read
  std::size_t top = 0;
  for (const Expr::Instruction& i : program) {
    if (i.op == Op::kConstant) {
      stack[top++] = i.operand;
      continue;
    }
    if (i.op == Op::kSymbol) {
      stack[top++] = dims[static_cast<std::size_t>(i.operand)];
      continue;
    }
    const bool unary = i.op == Op::kNegate;
    const std::int64_t b = stack[--top];
    const std::int64_t a = unary ? 0 : stack[--top];
    const std::optional<std::int64_t> value = Apply(unary ? Op::kSub : i.op, a, b);
    if (!value) return {0, i.op, a, b};
    stack[top++] = *value;
  }
  return {top == 0 ? 0 : stack[0], std::nullopt, 0, 0};
}

std::string_view OpWord(Op op) {
  switch (op) {
    case Op::kAdd:
      return " + ";
    case Op::kSub:
      return " - ";
    case Op::kMul:
      return " * ";
    case Op::kFloorDiv:
      return " floordiv ";
    case Op::kCeilDiv:
      return " ceildiv ";
    case Op::kMod:
      return " mod ";
    case Op::kMin:
      return "min";
    case Op::kMax:
      return "max";
    default:
      return "-";
  }
}

Status Failure(const Outcome& outcome) {
  const Op op = *outcome.failed;
  const std::string a = std::to_string(outcome.a), b = std::to_string(outcome.b);
  std::string message = op == Op::kNegate ? "-(" + b + ")" : a + std::string(OpWord(op)) + b;
  const bool divides = op == Op::kFloorDiv || op == Op::kCeilDiv || op == Op::kMod;
  message += divides && outcome.b == 0 ? " divides by zero" : " overflows 64 bits";
  return base::OutOfRange(std::move(message));
}

// How tightly a printed part binds; a part is put in parentheses where it binds less than needed.
enum class Binding { kSum, kTerm, kAtom };

struct Printed {
  std::string text;
  Binding binding = Binding::kAtom;
  bool number = false;
};

// Appends to `text`, so that a long chain of additions prints in linear time.
void Parenthesize(Printed& part, Binding needed) {
  if (part.binding >= needed) return;
  part.text.insert(0, 1, '(');
  part.text += ')';
}

Printed PrintBinary(Op op, Printed left, Printed right) {
  if (op == Op::kMin || op == Op::kMax) {
    left.text.insert(0, std::string(OpWord(op)) + "(");
    left.text.append(", ").append(right.text).append(")");
    left.binding = Binding::kAtom;
  } else {
    const bool sum = op == Op::kAdd || op == Op::kSub;
    Parenthesize(left, sum ? Binding::kSum : Binding::kTerm);
    Parenthesize(right, sum ? Binding::kTerm : Binding::kAtom);
    left.text.append(OpWord(op)).append(right.text);
    left.binding = sum ? Binding::kSum : Binding::kTerm;
  }
  left.number = false;
  return left;
}

Printed PrintNegated(Printed part) {
  Parenthesize(part, Binding::kAtom);
  // A bare "-5" is the number -5, not a negation.
  part.text = part.number && part.text[0] != '-' ? "-(" + part.text + ")" : "-" + part.text;
  part.binding = Binding::kAtom;
  part.number = false;
  return part;
}

}  // namespace

Expr::Expr(std::vector<Instruction> program)
    : program_(std::make_shared<const std::vector<Instruction>>(std::move(program))) {}

const std::vector<Expr::Instruction>& Expr::program() const {
  static const std::vector<Instruction> kEmpty;
  return program_ == nullptr ? kEmpty : *program_;
}

Expr Expr::Constant(std::int64_t value) { return Expr({{Op::kConstant, value}}); }

Expr Expr::Symbol(std::size_t dim) { return Expr({{Op::kSymbol, static_cast<std::int64_t>(dim)}}); }

Expr Expr::Product(std::span<const Expr> factors) {
  if (factors.empty()) return Constant(1);
  std::vector<Instruction> program;
  std::size_t length = 0;
  for (const Expr& factor : factors) length += factor.program().size() + 2;
  program.reserve(length);
  for (const Expr& factor : factors) {
    const bool first = program.empty();
    if (factor.program().empty()) {
      program.push_back({Op::kConstant, 0});
    } else {
      program.insert(program.end(), factor.program().begin(), factor.program().end());
    }
    if (!first) program.push_back({Op::kMul, 0});
  }
  return Expr(std::move(program));
}

Result<Expr> Expr::Parse(std::string_view text, const Find& find) {
  if (text.size() > kMaxLength) {
    return base::ResourceExhausted("an expression of " + std::to_string(text.size()) +
                                   " characters exceeds " + std::to_string(kMaxLength));
  }
  std::vector<Instruction> program;
  LEEWAY_RETURN_IF_ERROR(Parser(text, find, program).Run());
  program.shrink_to_fit();
  return Expr(std::move(program));
}

Result<std::int64_t> Expr::Evaluate(std::span<const std::int64_t> dims) const {
  const Outcome outcome = Run(program(), dims);
  if (outcome.failed) return Failure(outcome);
  return outcome.value;
}

std::int64_t Expr::operator()(std::span<const std::int64_t> dims) const {
  const Outcome outcome = Run(program(), dims);
  LEEWAY_CHECK(!outcome.failed);
  return outcome.value;
}

std::string Expr::Print(const std::function<std::string_view(std::size_t)>& name) const {
  std::vector<Printed> stack;
  for (const Instruction& i : program()) {
    if (i.op == Op::kConstant) {
      stack.push_back({std::to_string(i.operand), Binding::kAtom, true});
    } else if (i.op == Op::kSymbol) {
      stack.push_back({std::string(name(static_cast<std::size_t>(i.operand)))});
    } else if (i.op == Op::kNegate) {
      stack.back() = PrintNegated(std::move(stack.back()));
    } else {
      Printed right = std::move(stack.back());
      stack.pop_back();
      stack.back() = PrintBinary(i.op, std::move(stack.back()), std::move(right));
    }
  }
  return stack.empty() ? "0" : std::move(stack.back().text);
}

bool Expr::is_constant() const {
  return std::none_of(program().begin(), program().end(),
                      [](const Instruction& i) { return i.op == Op::kSymbol; });
}

std::vector<std::size_t> Expr::Symbols() const {
  std::vector<std::size_t> symbols;
  for (const Instruction& i : program()) {
    if (i.op == Op::kSymbol) symbols.push_back(static_cast<std::size_t>(i.operand));
  }
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

}  // namespace leeway::plan
