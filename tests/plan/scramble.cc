#include "tests/plan/scramble.h"

#include <map>
#include <utility>
#include <vector>

#include "plan/wire.h"
#include "tests/plan/text_plan.h"
#include "tests/support/random_plan.h"

namespace leeway::plan {
namespace {

namespace pb = google::protobuf;

// A field as it will be written.
struct Piece {
  std::uint32_t number;
  std::string bytes;
};

class Scrambler {
 public:
  Scrambler(UnknownFields unknown, base::Prng& prng) : unknown_(unknown), prng_(prng) {}

  std::string Run(std::string_view bytes, const pb::Descriptor& schema) {
    std::vector<Piece> pieces;
    WireReader reader(bytes);
    for (WireField field; reader.Next(field);) {
      Add(field, schema.FindFieldByNumber(static_cast<int>(field.number)), pieces);
    }
    if (unknown_ == UnknownFields::kSome && prng_.Below(4) == 0) {
      pieces.push_back({1000, Delimited(1000, "from the future")});
      pieces.push_back({99, std::string("\x98\x06\x96\x01", 4)});
    }
    Shuffle(pieces);
    std::string out;
    for (const Piece& piece : pieces) out += piece.bytes;
    return out;
  }

 private:
  void Varint(std::uint64_t value, std::string& out) {
    AppendVarint(value, out);
    if (prng_.Below(8) != 0) return;
    out.back() = static_cast<char>(out.back() | 0x80);
    out += '\0';
  }

  std::string Delimited(std::uint32_t number, std::string_view value) {
    std::string out;
    Varint(std::uint64_t{number} << 3 | 2, out);
    Varint(value.size(), out);
    return out.append(value);
  }

  void Add(const WireField& field, const pb::FieldDescriptor* schema, std::vector<Piece>& pieces) {
    const bool message = schema != nullptr && schema->message_type() != nullptr;
    if (field.delimited && message && !schema->is_repeated() && prng_.Below(2) == 0) {
      const std::string whole = Run(field.value, *schema->message_type());
      std::size_t cut = 0;
      WireReader inner(whole);
      for (WireField part; inner.Next(part) && prng_.Below(4) != 0;) cut += part.whole.size();
      for (const std::string& part : {whole.substr(0, cut), whole.substr(cut)}) {
        pieces.push_back({field.number, Delimited(field.number, part)});
      }
    } else if (field.delimited && message) {
      pieces.push_back(
          {field.number, Delimited(field.number, Run(field.value, *schema->message_type()))});
    } else if (field.delimited && schema != nullptr && schema->is_packed()) {
      Unpack(field, *schema, pieces);
    } else if (field.delimited) {
      pieces.push_back({field.number, Delimited(field.number, field.value)});
    } else {
      pieces.push_back({field.number, std::string(field.whole)});
    }
  }

  // Into one field a value.
  void Unpack(const WireField& field, const pb::FieldDescriptor& schema,
              std::vector<Piece>& pieces) {
    const bool fixed = schema.type() == pb::FieldDescriptor::TYPE_DOUBLE;
    for (std::size_t at = 0; at < field.value.size();) {
      std::size_t end = at + (fixed ? 8 : 1);
      while (!fixed && (static_cast<unsigned char>(field.value[end - 1]) & 0x80) != 0) ++end;
      std::string bytes;
      Varint(std::uint64_t{field.number} << 3 | (fixed ? 1 : 0), bytes);
      pieces.push_back({field.number, bytes.append(field.value.substr(at, end - at))});
      at = end;
    }
  }

  // Keeps the order among fields of one number: it is part of the content.
  void Shuffle(std::vector<Piece>& pieces) {
    std::map<std::uint32_t, std::vector<std::string>> by_number;
    for (std::size_t i = pieces.size(); i-- > 0;) {
      by_number[pieces[i].number].push_back(std::move(pieces[i].bytes));
    }
    for (std::size_t i = pieces.size(); i > 1; --i) {
      std::swap(pieces[i - 1].number, pieces[prng_.Below(i)].number);
    }
    for (Piece& piece : pieces) {
      piece.bytes = std::move(by_number[piece.number].back());
      by_number[piece.number].pop_back();
    }
  }

  UnknownFields unknown_;
  base::Prng& prng_;
};

}  // namespace

std::string RandomBytes(std::uint64_t seed) {
  return Encode(testing::TextOf(testing::RandomPlan(seed)), "random");
}

std::string Scramble(std::string_view bytes, const pb::Descriptor& schema, UnknownFields unknown,
                     base::Prng& prng) {
  return Scrambler(unknown, prng).Run(bytes, schema);
}

}  // namespace leeway::plan
