#include "leeway/types.h"

#include <algorithm>
#include <cctype>
#include <string>

#include "tests/catch.h"
#include "tests/plan/schema_fields.h"

namespace leeway::plan {
namespace {

TEST_CASE("a dtype has the schema's number and name, and the bits that its name says",
          "[plan][types]") {
  text::SchemaPool pool(text::SchemaPool::Strings::kText);
  const std::unique_ptr<google::protobuf::Message> plan = pool.New(Schema::kPlan);
  const google::protobuf::EnumDescriptor* dtypes =
      plan->GetDescriptor()->file()->FindEnumTypeByName("DType");
  REQUIRE(dtypes != nullptr);
  // Value 0 is "unspecified".
  CHECK(dtypes->value_count() == static_cast<int>(kLastDType) + 1);
  for (int i = 1; i < dtypes->value_count(); ++i) {
    const std::string& name = dtypes->value(i)->name();
    CAPTURE(name);
    const auto dtype = static_cast<DType>(dtypes->value(i)->number());
    CHECK(DTypeName(dtype) == name);
    const auto digit = std::find_if(name.begin(), name.end(),
                                    [](unsigned char c) { return std::isdigit(c) != 0; });
    // A BOOL is a byte; all others say how many bits they have.
    const int bits = digit == name.end() ? 8 : std::stoi(std::string(digit, name.end()));
    CHECK(BitsPerElement(dtype) == bits);
  }
}

}  // namespace
}  // namespace leeway::plan
