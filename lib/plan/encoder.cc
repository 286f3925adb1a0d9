#include "plan/encoder.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "plan/wire.h"

namespace leeway::plan {
namespace {

using Field = ExprFields::Field;

// The numbers of plans/schema/leeway/plan. A test compares them with the schema's own descriptors.
constexpr Field kGemmFields[] = {{1}, {2}, {3}, {4}};
constexpr Field kConvFields[] = {{1}, {2}, {3}, {4}, {5}, {6}, {7}};
constexpr Field kFirst[] = {{1}};
constexpr Field kFirstTwo[] = {{1}, {2}};
constexpr Field kSecond[] = {{2}};
constexpr Field kCollectiveFields[] = {{2}, {3}};
constexpr ExprFields kGemm{kGemmFields}, kConv{kConvFields}, kVector{kFirst}, kReduce{kFirstTwo},
    kMove{kFirstTwo}, kCollective{kCollectiveFields}, kSendReceive{kFirst}, kCall{kSecond},
    kCustom{kFirstTwo};
constexpr Field kWorkFields[] = {
    {1, &kGemm},       {2, &kConv},        {3, &kVector},      {4, &kReduce}, {5, &kMove},
    {6, &kCollective}, {7, &kSendReceive}, {8, &kSendReceive}, {10, &kCall},  {11, &kCustom}};
constexpr ExprFields kWork{kWorkFields};
constexpr Field kOperatorFields[] = {{6, &kWork}};

constexpr ExprFields kAlias{kSecond};
constexpr Field kTensorFields[] = {{4}, {7, &kAlias}};

constexpr ExprFields kLaunch{kFirst};
constexpr Field kKernelFields[] = {{3}, {4, &kLaunch}};
constexpr Field kGroupWorkFields[] = {{1}, {2}, {3}, {4}};
constexpr ExprFields kKernel{kKernelFields}, kGroupWork{kGroupWorkFields}, kProfile{kSecond};
constexpr Field kGroupFields[] = {{5}, {6, &kKernel}, {8, &kGroupWork}, {9, &kProfile}};

constexpr ExprFields kConstraint{kFirst};
constexpr ExprFields kArenaSlot{kSecond};
constexpr Field kArenaFields[] = {{2}, {4, &kArenaSlot}};
constexpr ExprFields kArena{kArenaFields};
constexpr Field kVariantFields[] = {{3, &kConstraint}, {10, &kArena}};

std::size_t VarintSize(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

// Puts the length of what begins at `begin`, before which `room` bytes were left for it.
void PutLength(std::size_t begin, std::size_t room, std::string& out) {
  std::string length;
  AppendVarint(out.size() - begin, length);
  out.replace(begin - room, room, length);
}

}  // namespace

constexpr ExprFields kTensorExprs{kTensorFields};
constexpr ExprFields kOperatorExprs{kOperatorFields};
constexpr ExprFields kGroupExprs{kGroupFields};
constexpr ExprFields kVariantExprs{kVariantFields};

Encoder::Encoder(std::string& serialized, Canonical canonical)
    : serialized_(serialized), canonical_text_(std::move(canonical)) {
  // Keeps apart from digests of other things; the version is that of the definition.
  sha_.Update(std::string_view("leeway.plan.v1.Plan\0", 20));
}

void Encoder::Canonicalize(std::string_view fields, const ExprFields& exprs, std::string& out) {
  WireReader reader(fields);
  for (WireField field; reader.Next(field);) {
    const auto at =
        std::find_if(exprs.fields.begin(), exprs.fields.end(), [&](const Field& candidate) {
          return field.delimited && candidate.number == field.number;
        });
    if (at == exprs.fields.end()) {
      out += field.whole;
    } else if (at->message == nullptr) {
      AppendDelimited(field.number, canonical_text_(field.value), out);
    } else {
      AppendVarint(std::uint64_t{field.number} << 3 | 2, out);
      const std::size_t room = VarintSize(field.value.size());
      out.append(room, '\0');
      const std::size_t begin = out.size();
      Canonicalize(field.value, *at->message, out);
      PutLength(begin, room, out);
    }
  }
}

void Encoder::Append(std::string_view fields, const ExprFields& exprs, Texts texts) {
  if (texts == Texts::kMixed) Diverge();
  serialized_ += fields;
  if (texts == Texts::kMixed) {
    Canonicalize(fields, exprs, canonical_);
  } else if (diverged_) {
    canonical_ += fields;
  }
  Hash();
}

void Encoder::AppendMessage(std::uint32_t number, std::string_view fields, const ExprFields& exprs,
                            Texts texts) {
  if (texts == Texts::kMixed) Diverge();
  const std::size_t begin = serialized_.size();
  AppendDelimited(number, fields, serialized_);
  const std::string_view whole = std::string_view(serialized_).substr(begin);
  if (texts == Texts::kMixed) {
    const Field as_field[] = {{number, &exprs}};
    Canonicalize(whole, ExprFields{as_field}, canonical_);
  } else if (diverged_) {
    canonical_ += whole;
  }
  Hash();
}

void Encoder::AppendBoth(std::string_view fields, std::string_view canonical) {
  if (fields != canonical) Diverge();
  serialized_ += fields;
  if (diverged_) canonical_ += canonical;
  Hash();
}

void Encoder::Open(std::uint32_t number, std::size_t likely_size) {
  const std::size_t room = VarintSize(likely_size);
  std::string start;
  AppendVarint(std::uint64_t{number} << 3 | 2, start);
  start.append(room, '\0');
  serialized_ += start;
  if (diverged_) {
    canonical_.reserve(canonical_.size() + start.size() + likely_size);
    canonical_ += start;
  }
  open_.push_back({serialized_.size(), CanonicalSize(), likely_size});
}

void Encoder::Close() {
  const Opened opened = open_.back();
  open_.pop_back();
  const std::size_t room = VarintSize(opened.likely_size);
  PutLength(opened.serialized, room, serialized_);
  if (diverged_) PutLength(opened.canonical, room, canonical_);
  Hash();
}

void Encoder::Diverge() {
  if (diverged_) return;
  diverged_ = true;
  if (!open_.empty()) canonical_.reserve(open_.front().likely_size + serialized_.size() - hashed_);
  canonical_.append(serialized_, hashed_);
  for (Opened& opened : open_) opened.canonical = opened.serialized - hashed_;
}

void Encoder::Hash() {
  // Inside an open message nothing can be hashed: its length comes first.
  if (!open_.empty()) return;
  sha_.Update(diverged_ ? std::string_view(canonical_)
                        : std::string_view(serialized_).substr(hashed_));
  hashed_ = serialized_.size();
  diverged_ = false;
  canonical_ = std::string();
}

base::Digest Encoder::Finish() {
  LEEWAY_CHECK(open_.empty());
  return sha_.Finish();
}

}  // namespace leeway::plan
