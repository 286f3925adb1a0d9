// What it takes to bring a tensor from row-major order into a layout, or back.
//
// It is a copy through DRAM, one side of it at the efficiency of the runs that both orders have in
// common: a transfer is made of granules, and a run of fewer bytes wastes the rest of each
// (COST_MODEL sections 4 and 8). Tiles that stand out beyond the shape are padding, which moves
// too. Not modelled: a transpose unit on the core that would hide the copy behind other work.
//
// Threading: pure function.

#ifndef LEEWAY_DEVICE_RELAYOUT_H_
#define LEEWAY_DEVICE_RELAYOUT_H_

#include <cstdint>
#include <span>

#include "plan/body.h"

namespace leeway::device {

struct Relayout {
  double plain_bytes = 0;  // in row-major order
  double laid_bytes = 0;   // in the layout, padding included
  double run_bytes = 0;    // that follow each other in both
  double efficiency = 1;   // of the side in runs, above 0
  // plain + laid / efficiency.
  double traffic() const { return plain_bytes + laid_bytes / efficiency; }
};

Relayout RelayoutOf(const plan::Tensor& tensor, const plan::Layout& layout,
                    std::span<const std::int64_t> dims, std::uint32_t granule_bytes);

}  // namespace leeway::device

#endif  // LEEWAY_DEVICE_RELAYOUT_H_
