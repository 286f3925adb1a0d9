// Reads the strings of a plan's messages: names into indices, sizes into expressions. Whatever is
// wrong becomes a finding, and reading goes on with a harmless value.
//
// Threading: a Reader belongs to one thread.
// Lifetime:  borrows the findings, the body under construction and the bytes that hold the names of
//            Declare(); other texts only while it reads them.

#ifndef LEEWAY_PLAN_READER_H_
#define LEEWAY_PLAN_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "plan/body.h"
#include "plan/expr_range.h"
#include "plan/findings.h"
#include "plan/names.h"
#include "plan/unknown_fields.h"

namespace leeway::plan {

// Bounds that keep the memory of a hostile plan linear in its bytes.
inline constexpr std::size_t kMaxDims = 64;
inline constexpr std::size_t kMaxRank = 64;
inline constexpr std::size_t kMaxVariants = 1024;  // of one entry
inline constexpr std::size_t kMaxDimCells = std::size_t{1} << 24;
inline constexpr std::int64_t kMaxShards = 4096;
// Of tensors, of entries, of an entry's operators, of a variant's groups.
inline constexpr std::size_t kMaxListed = std::size_t{1} << 22;
// Of a message that is read at once: a tensor, an operator, a group, a schedule.
inline constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 25;
// Of one step, 104 days: sums over a run stay within 64 bits, and doubles are exact.
inline constexpr std::int64_t kMaxNanoseconds = std::int64_t{1} << 53;

// Stands for an operator whose name is unknown; only a plan with findings has any.
inline constexpr Index kUnresolved = static_cast<Index>(-1);

class Reader {
 public:
  Reader(Body& body, Findings& findings) : body_(body), findings_(findings) {}

  Findings& findings() { return findings_; }
  Body& body() { return body_; }

  Names dims, tensors, entries;

  // Registers body().dims and their domains: sizes can be read from then on.
  void DeclareDims(const Path& plan);

  // Returns `text`, or reports that it is not UTF-8 without NUL.
  std::string Text(const Path& path, const std::string& text);
  // As Text, of a text that things are told apart or looked up by. Warns of control characters of
  // ASCII: names are shown in one line.
  std::string OptionalName(const Path& path, const std::string& text);
  // As OptionalName, and not empty.
  std::string Name(const Path& path, const std::string& text);
  // Reports a digest that is neither empty nor 32 bytes.
  std::string DigestBytes(const Path& path, const std::string& bytes);

  // Returns the size that `text` states; it must be within `bounds` for all dims in their domains.
  Expr Size(const Path& path, const std::string& text, const Interval& bounds = kNonNegative);
  // As Size, with a value for an empty text.
  Expr SizeOr(const Path& path, const std::string& text, std::int64_t otherwise,
              const Interval& bounds = kNonNegative);
  // Returns the product of the sizes that `texts` state, which tell `factors` apart; it leaves room
  // for the bits of an element.
  Expr Elements(const Path& path, const std::string& texts, const std::vector<Expr>& factors);
  // As Size, without bounds.
  Expr AnyValue(const Path& path, const std::string& text);

  // Reports an overflow of `expr`, or a value outside `bounds`, and returns whether it is fine.
  bool CheckRange(const Path& path, const Expr& expr, const Interval& bounds);
  // Returns whether `instructions` more of expressions may be run to check a part of the plan that
  // is shorter than they are.
  bool TakeInstructions(std::size_t instructions);
  // Reports a number that is negative or not finite.
  double Amount(const Path& path, double value);
  std::int64_t NonNegative(const Path& path, std::int64_t value);
  // Reports a time of a step that is negative or above kMaxNanoseconds.
  std::int64_t Nanoseconds(const Path& path, std::int64_t value);
  // Returns an enum's value, `otherwise` where it is not set. Reports one above `last`, which a
  // newer schema may have, and one that is not set where `otherwise` is 0.
  int Enum(const Path& path, int value, int last, int otherwise);

  // Registers the name of the message at `path`, or reports that the `what` of another index has
  // it.
  void Declare(const Path& path, Names& names, std::string_view what, std::string_view name,
               std::size_t index);
  // Finds `name` in `names`, or reports that no `what` has it.
  std::optional<Index> Find(const Path& path, const Names& names, std::string_view what,
                            std::string_view name);

  // Returns the canonical text of an expression that was read and is fine, else `text` itself.
  std::string_view Canonical(std::string_view text) const;
  // Returns whether an expression that is not canonical was read since the last call.
  bool TakeMixed() { return std::exchange(mixed_, false); }

  // Reports more than `most` elements in a field, and returns whether there are fewer.
  bool CheckCount(const Path& path, std::size_t count, std::size_t most);

  // What this schema does not know of the plan.
  UnknownFields& unknown() { return unknown_; }

  // Returns whether `cells` more dim values fit; reports once when they do not.
  bool TakeDimCells(const Path& path, std::size_t cells);

  const std::vector<Interval>& domains() const { return domains_; }

 private:
  struct Parsed {
    Expr expr;
    // What the value was shown to stay within; nothing if the text is no good expression.
    std::optional<Interval> range;
    std::string text;
    // Empty where the text is canonical.
    std::string canonical;
  };
  // Equal texts are parsed once: most sizes of a plan repeat.
  Parsed& Parse(const Path& path, const std::string& text);
  // Shows that `expr`, known to stay within `range`, stays within `bounds`, or reports.
  bool CheckWithin(const Path& path, const Expr& expr, const Interval& range,
                   const Interval& bounds);

  Body& body_;
  Findings& findings_;
  UnknownFields unknown_;
  std::vector<Interval> domains_;
  // By text.
  absl::flat_hash_map<absl::string_view, std::unique_ptr<Parsed>> parsed_;
  Parsed scratch_;
  bool mixed_ = false;
  // Elements of shapes, by their texts: most shapes of a plan repeat.
  absl::flat_hash_map<std::string, Expr> products_;
  const Expr one_ = Expr::Constant(1);
  std::size_t dim_cells_ = 0;
  // Instructions that may still be run by FindOutside, and by who asks: proofs by corner must not
  // cost unbounded time.
  std::size_t corner_budget_ = std::size_t{1} << 26;
};

// Returns whether `text` is UTF-8 (RFC 3629) and has no NUL.
bool IsCleanText(std::string_view text);
// Returns whether `name` can stand for a dimension in an expression.
bool IsDimName(std::string_view name);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_READER_H_
