// V6 through the public API. Source: JAX and Pallas on TPU v4 (COST_MODEL section 9): 64
// asynchronous calls of a kernel of 10.8 µs take 76.7 µs each, of one of 1000.8 µs 1004.8 µs each,
// and the caller blocks after about 32. The cost of a call and the depth of the queue are inputs of
// the preset; that the longer kernel hides the host, and when the caller blocks, is not.

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "leeway/plan_builder.h"
#include "leeway/simulate.h"
#include "tests/catch.h"

namespace leeway {
namespace {

constexpr int kCalls = 64;
constexpr Nanos kShort = 10'800ns, kLong = 1'000'800ns;
constexpr Nanos kIssue = 76'700ns;

// One kernel on one core: multiply-adds at the core's peak, 4 · 128² a cycle of 1.05 GHz, beside a
// step launch of 1 µs.
Plan KernelTaking(Nanos time) {
  const std::int64_t cycles = (time - 1us).count() * 105 / 100;
  PlanBuilder b("kernel", {});
  const Size n = b.Dim("n", {1, 8}, BatchRule::kCount);
  const EntryRef e = b.Entry("main");
  const TensorRef x = e.Input("x", DType::kBf16, {n, 64});
  const OpRef op = e.Op("kernel", Custom{cycles * 2 * 4 * 128 * 128, 0}, {x});
  e.Variant("v").Group("kernel", {op}).Pin("matrix:0");
  return std::move(b).Build().value();
}

// A file of so many requests at once.
class Calls {
 public:
  Calls() : folder_((std::filesystem::temp_directory_path() / "leeway-launch-XXXXXX").string()) {
    REQUIRE(::mkdtemp(folder_.data()) != nullptr);
    std::ofstream file(path());
    file << "t,n\n";
    for (int i = 0; i < kCalls; ++i) file << "0,1\n";
  }
  ~Calls() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  Traffic Open() const {
    return Traffic::Open(path(), {.format = "csv", .map = "arrival=t,n=n"}).value();
  }

 private:
  std::string path() const { return folder_ + "/calls.csv"; }
  std::string folder_;
};

// As many runs in flight as there are calls, at the nominal clock.
SimResult CallAgainAndAgain(const Plan& plan, const Device& device) {
  SimulateOptions options;
  options.serving.batching.max_batch_size = 1;
  options.serving.max_concurrent_runs = kCalls;
  options.heat = SimulateOptions::Heat::kOff;
  const Calls calls;
  return Simulate(plan, device, calls.Open(), options).value();
}

double EachMicroseconds(const SimResult& result) {
  return static_cast<double>(result.makespan().count()) / 1e3 / kCalls;
}

}  // namespace

TEST_CASE("V6: short kernels are bound by the host, long ones hide it, as on TPU v4",
          "[api][plumbing]") {
  const Device device = Device::Load("tpu_v4").value();
  const SimResult shorter = CallAgainAndAgain(KernelTaking(kShort), device);
  CHECK(EachMicroseconds(shorter) == Approx(76.7).epsilon(0.03));
  const SimResult longer = CallAgainAndAgain(KernelTaking(kLong), device);
  CHECK(EachMicroseconds(longer) == Approx(1004.8).epsilon(0.03));
}

TEST_CASE("V6: the caller blocks once about 32 calls are in flight", "[api][prediction]") {
  const SimResult result = CallAgainAndAgain(KernelTaking(kLong), Device::Load("tpu_v4").value());
  // When a caller is through with its i-th call: it takes kIssue, and a place of 32.
  std::vector<Nanos> returns, ends;
  int unblocked = 0;
  Nanos waiting{0};
  for (int i = 0; i < kCalls; ++i) {
    const Nanos called = (returns.empty() ? Nanos{0} : returns.back()) + kIssue;
    const Nanos place = i < 32 ? Nanos{0} : ends[static_cast<std::size_t>(i - 32)];
    if (place <= called && unblocked == i) ++unblocked;
    returns.push_back(std::max(called, place));
    ends.push_back(std::max(returns.back(), ends.empty() ? Nanos{0} : ends.back()) + kLong);
    waiting += returns.back() - kIssue;
  }
  CHECK(unblocked >= 30);
  CHECK(unblocked <= 35);
  // What calls wait for the host or for a place is dispatch; once issued they wait for the core.
  const MeanAttribution mean = result.tail_mean(0);
  REQUIRE(mean.count() == kCalls);
  CHECK(mean.part(Cause::kDispatch) == waiting / kCalls);
  CHECK(mean.part(Cause::kLaunch) == kIssue + 1us);
  CHECK(result.makespan() == ends.back());
  CHECK(result.summary().cores[0].busy == kCalls * kLong);
}

TEST_CASE("V6: the attribution says which of the two bounds the calls", "[api][launch]") {
  const Device device = Device::Load("tpu_v4").value();
  const auto part = [&](Nanos kernel, Cause cause) {
    return CallAgainAndAgain(KernelTaking(kernel), device).tail_mean(0).part(cause);
  };
  CHECK(part(kShort, Cause::kDispatch) == kIssue * (kCalls - 1) / 2);
  // They wait for their core beside the other one, which is idle: imbalance.
  CHECK(part(kShort, Cause::kCoreImbalance) == Nanos{0});
  CHECK(part(kLong, Cause::kCoreImbalance) > part(kLong, Cause::kLaunch));
}

}  // namespace leeway
