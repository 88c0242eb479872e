// How large a volume becomes. Pure. [any]
#pragma once

#include <cstdint>

#include "drover/result.h"

namespace csi::v1 {
class CapacityRange;
}

namespace drover::hostpath {

struct Room;

inline constexpr int64_t kBlock = 4096;  // bytes; the least size, and of block devices the unit

// Errors: invalid_argument for a negative bound; out_of_range when the limit lies below what is required.
Status check_range(const csi::v1::CapacityRange& range);
// At least `least`, a gibibyte when nothing is asked. Errors: out_of_range when the limit is in the way.
Result<int64_t> size_of(const csi::v1::CapacityRange& range, bool is_block, int64_t least);
// Errors: out_of_range when it never fits; resource_exhausted when `more` is not left now.
Status check_room(const Room& room, int64_t size, int64_t more);

}  // namespace drover::hostpath
