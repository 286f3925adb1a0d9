#include "leeway/simulate.h"

leeway::Status Serve(const leeway::Plan& plan, const leeway::Device& device,
                     const leeway::Traffic& traffic) {
  return leeway::Simulate(plan, device, traffic).status();
}
