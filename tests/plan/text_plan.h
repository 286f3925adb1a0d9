// Plans in text form, for tests.
#ifndef LEEWAY_TESTS_PLAN_TEXT_PLAN_H_
#define LEEWAY_TESTS_PLAN_TEXT_PLAN_H_

#include <memory>
#include <string>
#include <string_view>

#include "plan/body.h"
#include "plan/load.h"

namespace leeway::plan {

// The bytes of a plan in text form; the test fails where it is malformed.
std::string Encode(std::string_view text, std::string_view name = "test");

// What loading finds, one line each.
std::string FindingsOf(std::string_view bytes);

// The checked plan; the test fails where it has findings.
std::shared_ptr<const Body> Load(std::string_view text);

// A shipped plan, from the source tree.
std::shared_ptr<const Body> LoadModel(const std::string& name);
std::string ReadSource(const std::string& path);

}  // namespace leeway::plan

#endif  // LEEWAY_TESTS_PLAN_TEXT_PLAN_H_
