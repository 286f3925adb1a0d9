// What `leeway loop` shows, and the files that it leaves.

#ifndef LEEWAY_CLI_LOOP_VIEW_H_
#define LEEWAY_CLI_LOOP_VIEW_H_

#include <string>
#include <vector>

#include "cli/invocation.h"
#include "cli/loop_arguments.h"
#include "cli/run_folder.h"
#include "cli/table.h"
#include "leeway/guardrails.h"
#include "leeway/loop.h"

namespace leeway::cli {

struct LoopView {
  const LoopArguments& arguments;
  const LoopOptions& options;
  const LoopResult& result;
  const std::vector<Guardrail>& guardrails;
  std::string folder;  // of the files that are there by now; empty if there are none
};

std::string LoopScreen(const LoopView& view, const Ink& ink);
// The result's own document, with the version, the folder and what differs from run to run.
std::string LoopDocument(const LoopView& view, const Stopwatch& watch);

// Names of the files of a run.
std::vector<std::string> LoopFileNames();
// The files, the manifest last. Equal inputs and options give equal bytes.
std::vector<RunFile> LoopFiles(const LoopView& view);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_LOOP_VIEW_H_
