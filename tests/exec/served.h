// Whole simulations of a config and a list of arrivals, and all that they tell.

#ifndef LEEWAY_TESTS_EXEC_SERVED_H_
#define LEEWAY_TESTS_EXEC_SERVED_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "exec/simulation.h"

namespace leeway::testing {

struct Served {
  struct Ended {
    std::uint64_t request = 0;  // counted from 1 in order of arrival
    Instant at;
    Nanos latency{0};
    Attribution parts;
    friend bool operator==(const Ended&, const Ended&) = default;
  };
  std::vector<Ended> ok;  // in order of their ends
  std::shared_ptr<exec::SimRecord> record;
};

inline Result<Served> Serve(exec::SimConfig config, const std::vector<exec::SimArrival>& arrivals) {
  Served served;
  const exec::Attributor::OnOk also = config.on_ok;
  config.on_ok = [&](const exec::RequestRecord& record) {
    served.ok.push_back({record.request->user, record.ended, record.latency, record.parts});
    if (also) also(record);
  };
  std::size_t next = 0;
  auto record = exec::RunSimulation(config, [&]() -> Result<std::optional<exec::SimArrival>> {
    if (next == arrivals.size()) return std::optional<exec::SimArrival>();
    return std::optional(arrivals[next++]);
  });
  if (!record.ok()) return record.status();
  served.record = *record;
  return served;
}

inline exec::SimArrival ArrivalAt(std::int64_t at_ns, std::int64_t seq, std::uint32_t stream = 0) {
  exec::SimArrival arrival;
  arrival.at = Instant(Nanos{at_ns});
  arrival.stream = stream;
  arrival.dims = {seq, 1};
  return arrival;
}

}  // namespace leeway::testing

#endif  // LEEWAY_TESTS_EXEC_SERVED_H_
