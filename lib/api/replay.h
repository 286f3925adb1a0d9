// The arrivals of a recording, bound to a plan, one at a time: what every replay of it reads.
//
// Threading: one thread at a time.
// Lifetime:  borrows the plan; keeps what it reads from.

#ifndef LEEWAY_API_REPLAY_H_
#define LEEWAY_API_REPLAY_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/dim_binding.h"
#include "exec/simulation.h"
#include "leeway/recording.h"
#include "leeway/status.h"
#include "plan/body.h"
#include "traffic/body.h"

namespace leeway::api {

class Replay {
 public:
  // Starts at the first arrival. Errors of DimBinding::Make() and of the traffic.
  static Result<Replay> Begin(const plan::Body& plan, const Recording& recording);

  // Returns the next arrival, nothing at the end. The traffic's errors, and DimBinding::Apply()'s.
  Result<std::optional<exec::SimArrival>> Next();

  const DimBinding& binding() const { return binding_; }

 private:
  Replay(DimBinding binding, std::unique_ptr<traffic::Reader> reader,
         SimulateOptions::AboveDomain above_domain)
      : binding_(std::move(binding)), reader_(std::move(reader)), above_domain_(above_domain) {}

  DimBinding binding_;
  std::unique_ptr<traffic::Reader> reader_;
  SimulateOptions::AboveDomain above_domain_;
};

// The streams of the traffic, of the default level where it states none; one called "default" where
// it names none.
std::vector<exec::SimStream> StreamsOf(const traffic::Body& traffic,
                                       const BatchingOptions& batching);

}  // namespace leeway::api

#endif  // LEEWAY_API_REPLAY_H_
