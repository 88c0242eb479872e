// Which descriptions of host volumes are accepted, and how one changes a volume that is known already. Pure. [any]
#pragma once

#include <cstdint>

#include "drover/result.h"

namespace drover::v1 {
class DescribedHostVolume;
class DynamicHostVolume;
}  // namespace drover::v1

namespace drover::host_volumes {

enum class Purpose : uint8_t { creating, registering };

// Errors: invalid_argument with everything that is wrong.
Status check_volume(const v1::DescribedHostVolume& said, Purpose purpose);

// The row of a new volume, without identifier, node, step and indexes.
v1::DynamicHostVolume new_volume(const v1::DescribedHostVolume& said, Purpose purpose);

// The row as the description changes it. Errors: invalid_argument with everything that may not change so.
Result<v1::DynamicHostVolume> changed_volume(const v1::DynamicHostVolume& row, const v1::DescribedHostVolume& said,
                                             Purpose purpose);

}  // namespace drover::host_volumes
