#include "leeway/text.h"

#include <limits>
#include <memory>
#include <utility>

#include "base/status_macros.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"
#include "google/protobuf/util/json_util.h"
#include "text/json_scan.h"
#include "text/schema_pool.h"

namespace leeway {
namespace text {
namespace {

namespace pb = google::protobuf;

constexpr std::size_t kMaxInput = std::size_t{1} << 30;
// The schemas nest about ten deep.
constexpr int kMaxDepth = 64;

std::string Located(std::string_view name, Position at, std::string_view what) {
  return std::string(name) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) +
         ": " + std::string(what);
}

// Protobuf's sentences start with a capital and end with a full stop.
std::string Lower(std::string text) {
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a') text[0] += 'a' - 'A';
  while (!text.empty() && (text.back() == '.' || text.back() == '\n')) text.pop_back();
  return text;
}

// Keeps the first error; the parser goes on after some.
class FirstError : public pb::io::ErrorCollector {
 public:
  void AddError(int line, pb::io::ColumnNumber column, const std::string& message) override {
    if (!message_.empty()) return;
    at_ = {line + 1, column + 1};
    message_ = Lower(message);
  }

  Position at() const { return at_; }
  std::string message() const { return message_.empty() ? "malformed" : message_; }

 private:
  Position at_{1, 1};
  std::string message_;
};

Status CheckSize(std::string_view text, std::string_view name) {
  if (text.size() <= kMaxInput) return Status();
  return base::ResourceExhausted(std::string(name) + ": " + std::to_string(text.size()) +
                                 " bytes exceed 1 GiB");
}

// Some editors put a byte order mark first, which is no part of the text.
std::string_view WithoutMark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.substr(0, kMark.size()) == kMark ? text.substr(kMark.size()) : text;
}

// Serializes what a text form held. The strings are checked first: the encoder would print
// complaints about bad ones, and write them.
Result<std::string> EncodeChecked(const pb::Message& message, std::string_view name) {
  const std::vector<Flaw> flaws = FindFlaws(message, *message.GetDescriptor());
  for (const Flaw& flaw : flaws) {
    if (flaw.kind != Flaw::Kind::kNotUtf8) continue;
    return base::InvalidArgument(std::string(name) + ": " + flaw.path + ": text is not UTF-8");
  }
  if (message.ByteSizeLong() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    return base::ResourceExhausted(std::string(name) + ": the binary form exceeds 2 GiB");
  }
  return Encode(message);
}

// Returns `bytes` as a message, refusing what its text form could not hold.
Result<std::unique_ptr<pb::Message>> Decode(SchemaPool& pool, Schema schema, std::string_view bytes,
                                            std::string_view name) {
  LEEWAY_RETURN_IF_ERROR(CheckSize(bytes, name));
  const int size = static_cast<int>(bytes.size());
  std::unique_ptr<pb::Message> message = pool.New(schema);
  SchemaPool raw_pool(SchemaPool::Strings::kBytes);
  const std::unique_ptr<pb::Message> raw = raw_pool.New(schema);
  if (!raw->ParseFromArray(bytes.data(), size)) {
    return base::DataLoss(std::string(name) + ": not a " + std::string(SchemaName(schema)) +
                          ": truncated or no protobuf message");
  }
  std::string unknown;
  for (const Flaw& flaw : FindFlaws(*raw, *message->GetDescriptor())) {
    if (flaw.kind == Flaw::Kind::kNotUtf8) {
      return base::DataLoss(std::string(name) + ": " + flaw.path + ": text is not UTF-8");
    }
    unknown += unknown.empty() ? "" : ", ";
    unknown += (flaw.path.empty() ? "" : flaw.path + ": ") + std::to_string(flaw.field);
  }
  if (!unknown.empty()) {
    return base::FailedPrecondition(std::string(name) +
                                    ": a text form would lose the unknown fields " + unknown);
  }
  if (!message->ParseFromArray(bytes.data(), size)) {
    return Status(StatusCode::kInternal, std::string(name) + ": parses in one pool only");
  }
  return message;
}

}  // namespace
}  // namespace text

inline namespace v0 {

namespace pb = google::protobuf;

std::string_view SchemaName(Schema schema) {
  switch (schema) {
    case Schema::kPlan:
      return "leeway.plan.v1.Plan";
    case Schema::kDeployment:
      return "leeway.deploy.v1alpha.Deployment";
    case Schema::kDevice:
      return "leeway.device.v1alpha.Device";
    case Schema::kTraffic:
      return "leeway.traffic.v1alpha.Traffic";
    case Schema::kTelemetry:
      return "leeway.telemetry.v1alpha.Snapshot";
  }
  return "";
}

Result<std::string> TextToBinary(Schema schema, std::string_view text, std::string_view name) {
  LEEWAY_RETURN_IF_ERROR(text::CheckSize(text, name));
  text = text::WithoutMark(text);
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  const std::unique_ptr<pb::Message> message = pool.New(schema);
  text::FirstError error;
  pb::TextFormat::Parser parser;
  parser.RecordErrorsTo(&error);
  parser.SetRecursionLimit(text::kMaxDepth);
  pb::io::ArrayInputStream stream(text.data(), static_cast<int>(text.size()));
  if (!parser.Parse(&stream, message.get())) {
    return base::InvalidArgument(text::Located(name, error.at(), error.message()));
  }
  return text::EncodeChecked(*message, name);
}

Result<std::string> JsonToBinary(Schema schema, std::string_view json, std::string_view name) {
  LEEWAY_RETURN_IF_ERROR(text::CheckSize(json, name));
  json = text::WithoutMark(json);
  if (const std::optional<text::JsonError> error = text::FindJsonError(json, text::kMaxDepth)) {
    return base::InvalidArgument(text::Located(name, error->at, error->what));
  }
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  const std::unique_ptr<pb::Message> message = pool.New(schema);
  const pb::util::Status parsed =
      pb::util::JsonStringToMessage(pb::StringPiece(json.data(), json.size()), message.get());
  if (!parsed.ok()) {
    const std::string what(parsed.message().data(), parsed.message().size());
    return base::InvalidArgument(
        text::Located(name, text::LocateJsonField(json, what), text::Lower(what)));
  }
  return text::EncodeChecked(*message, name);
}

Result<std::string> BinaryToText(Schema schema, std::string_view bytes, std::string_view name) {
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  LEEWAY_ASSIGN_OR_RETURN(const std::unique_ptr<pb::Message> message,
                          text::Decode(pool, schema, bytes, name));
  pb::TextFormat::Printer printer;
  printer.SetUseUtf8StringEscaping(true);
  std::string out;
  if (!printer.PrintToString(*message, &out)) {
    return base::ResourceExhausted(std::string(name) + ": the text form is too large");
  }
  return out;
}

Result<std::string> BinaryToJson(Schema schema, std::string_view bytes, std::string_view name) {
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  LEEWAY_ASSIGN_OR_RETURN(const std::unique_ptr<pb::Message> message,
                          text::Decode(pool, schema, bytes, name));
  pb::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string out;
  const pb::util::Status printed = pb::util::MessageToJsonString(*message, &out, options);
  if (!printed.ok()) {
    const std::string what(printed.message().data(), printed.message().size());
    return Status(StatusCode::kInternal, std::string(name) + ": " + text::Lower(what));
  }
  return out;
}

}  // namespace v0
}  // namespace leeway
