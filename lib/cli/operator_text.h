// An operator on the command line: gemm:m=512,n=768,k=768.

#ifndef LEEWAY_CLI_OPERATOR_TEXT_H_
#define LEEWAY_CLI_OPERATOR_TEXT_H_

#include <string>
#include <variant>

#include "leeway/cost.h"

namespace leeway::cli {

// Returns the operator, named as it is spelled, or what is wrong with the text.
std::variant<OperatorSpec, std::string> ParseOperator(const std::string& text);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_OPERATOR_TEXT_H_
