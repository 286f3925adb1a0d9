// The protobuf wire format, one field at a time: what the loader needs to read a plan piece by
// piece instead of as one message.
//
// Threading: values of one thread.
// Lifetime:  everything borrows the bytes that are read.

#ifndef LEEWAY_PLAN_WIRE_H_
#define LEEWAY_PLAN_WIRE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leeway::plan {

struct WireField {
  std::uint32_t number = 0;
  // A string, bytes, message or packed field: `value` is its content. Else `value` is empty.
  bool delimited = false;
  std::string_view value;
  // The field as it is written, tag included.
  std::string_view whole;
};

// Walks the fields of one message without looking into them.
class WireReader {
 public:
  explicit WireReader(std::string_view message) : left_(message) {}

  // Reads the next field. False at the end and where the bytes are no field.
  bool Next(WireField& field);
  // True unless Next() met something that is no field.
  bool ok() const { return ok_; }

 private:
  bool Varint(std::uint64_t& value);
  bool Skip(std::size_t bytes);
  bool Tag(std::uint32_t& tag);
  // Reads on to the end of a group, which may hold others.
  bool Group(std::uint32_t number);
  bool Value(std::uint32_t tag, WireField& field);

  std::string_view left_;
  bool ok_ = true;
};

// Returns the content of the last delimited field `number`, which is the one that counts of a
// string. Nothing if there is none. Requires a message that parses.
std::optional<std::string_view> FindDelimited(std::string_view message, std::uint32_t number);

void AppendVarint(std::uint64_t value, std::string& out);
// Appends a delimited field.
void AppendDelimited(std::uint32_t number, std::string_view value, std::string& out);

}  // namespace leeway::plan

#endif  // LEEWAY_PLAN_WIRE_H_
