// Readers of the two published traces that the reference figures come from. For tests: they end
// the process on a file that is not what they expect.

#ifndef LEEWAY_TESTS_RETUNE_SUPPORT_RECORDED_TRAFFIC_H_
#define LEEWAY_TESTS_RETUNE_SUPPORT_RECORDED_TRAFFIC_H_

#include <string>

#include "tests/retune/support/synthetic_traffic.h"

namespace leeway::retune::testing {

// Rows window_start_s,seq,count, ascending by window; gzip or plain.
Windows ReadLengthHistograms(const std::string& path);

// Rows TIMESTAMP,ContextTokens,…, cut into windows of `window_s` seconds from the first arrival.
Windows ReadAzureArrivals(const std::string& path, double window_s);

}  // namespace leeway::retune::testing

#endif  // LEEWAY_TESTS_RETUNE_SUPPORT_RECORDED_TRAFFIC_H_
