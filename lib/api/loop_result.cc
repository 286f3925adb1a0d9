#include "leeway/loop_result.h"

#include "report/loop_report.h"
#include "retune/loop_record.h"

namespace leeway {
inline namespace v0 {

const LoopSummary& LoopResult::summary() const { return record_->summary; }
Plan LoopResult::frozen_plan() const { return Plan(record_->frozen_plan); }
Plan LoopResult::adapted_plan() const { return Plan(record_->adapted_plan); }
const std::string& LoopResult::frozen_telemetry() const { return record_->frozen_telemetry; }
const std::string& LoopResult::adapted_telemetry() const { return record_->adapted_telemetry; }
std::string LoopResult::ToMarkdown() const { return report::LoopMarkdown(record_->summary); }
std::string LoopResult::ToJson() const { return report::LoopJson(record_->summary); }

}  // namespace v0
}  // namespace leeway
