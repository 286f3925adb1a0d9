// Random valid plans that use every kind of field, in text form.
#ifndef LEEWAY_TESTS_PLAN_RANDOM_PLAN_H_
#define LEEWAY_TESTS_PLAN_RANDOM_PLAN_H_

#include <cstdint>
#include <string>

namespace leeway::plan {

std::string RandomPlan(std::uint64_t seed);

}  // namespace leeway::plan

#endif  // LEEWAY_TESTS_PLAN_RANDOM_PLAN_H_
