// The two encodings of a plan, written side by side while it is read: the bytes that it is kept and
// written as, and the canonical ones, over which its content digest is (docs/plan_digest.md).
//
// Threading: an encoder belongs to one thread.
// Lifetime:  borrows the string that it writes to, and what knows the canonical texts.

#ifndef LEEWAY_PLAN_ENCODER_H_
#define LEEWAY_PLAN_ENCODER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"

namespace leeway::plan {

// Where a message has dimension expressions: in a field itself, or in the message that it holds.
struct ExprFields {
  struct Field {
    std::uint32_t number;
    const ExprFields* message = nullptr;  // null: the field is an expression
  };
  std::span<const Field> fields;
};

// Of the messages that are written one by one.
extern const ExprFields kTensorExprs, kOperatorExprs, kGroupExprs, kVariantExprs;

class Encoder {
 public:
  // `canonical` returns the canonical text of an expression that was read.
  using Canonical = std::function<std::string_view(std::string_view)>;
  Encoder(std::string& serialized, Canonical canonical);

  // Whether the fields hold an expression that is not written canonically.
  enum class Texts { kCanonical, kMixed };

  // Appends encoded fields to the message that is open. Expressions are where `exprs` says.
  void Append(std::string_view fields, const ExprFields& exprs, Texts texts);
  // As Append, for a message that is the value of field `number`.
  void AppendMessage(std::uint32_t number, std::string_view fields, const ExprFields& exprs,
                     Texts texts);
  // Appends fields whose canonical form is given.
  void AppendBoth(std::string_view fields, std::string_view canonical);

  // What is appended between the two is the value of field `number`. It takes the least time where
  // it is about as long as `likely_size`.
  void Open(std::uint32_t number, std::size_t likely_size);
  void Close();

  // Returns the content digest. Requires that nothing is open.
  base::Digest Finish();

 private:
  // A message whose length is not known yet, and where its content begins in both encodings.
  struct Opened {
    std::size_t serialized, canonical;
    std::size_t likely_size;
  };
  void Canonicalize(std::string_view fields, const ExprFields& exprs, std::string& out);
  // Makes `canonical_` hold what it stands for, because it will differ from now on.
  void Diverge();
  void Hash();
  // Where the canonical encoding has come to.
  std::size_t CanonicalSize() const { return diverged_ ? canonical_.size() : serialized_.size(); }

  std::string& serialized_;
  Canonical canonical_text_;
  base::Sha256 sha_;
  // What is not hashed yet is the same in both encodings, from `hashed_` on, until they diverge.
  std::size_t hashed_ = 0;
  bool diverged_ = false;
  std::string canonical_;
  std::vector<Opened> open_;
};

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_ENCODER_H_
