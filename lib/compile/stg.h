// The Standard Task Graph Set's text form; see ParseTaskGraph() in leeway/task_graph.h.

#ifndef LEEWAY_COMPILE_STG_H_
#define LEEWAY_COMPILE_STG_H_

#include <string_view>

#include "leeway/status.h"
#include "leeway/task_graph.h"

namespace leeway::compile {

Result<TaskGraph> ParseStg(std::string_view text, std::string_view name);

}  // namespace leeway::compile

#endif  // LEEWAY_COMPILE_STG_H_
