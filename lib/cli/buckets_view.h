// What `leeway buckets` shows: a screen, or a JSON document.

#ifndef LEEWAY_CLI_BUCKETS_VIEW_H_
#define LEEWAY_CLI_BUCKETS_VIEW_H_

#include <string>

#include "cli/invocation.h"
#include "cli/options.h"
#include "cli/table.h"
#include "leeway/buckets.h"
#include "leeway/traffic.h"

namespace leeway::cli {

struct BucketsView {
  const Traffic& traffic;
  const TrafficArguments& arguments;
  const BucketStudyOptions& options;
  const BucketStudy& study;
};

std::string BucketsScreen(const BucketsView& view, const Ink& ink);
std::string BucketsJson(const BucketsView& view, const Stopwatch& watch);

}  // namespace leeway::cli

#endif  // LEEWAY_CLI_BUCKETS_VIEW_H_
