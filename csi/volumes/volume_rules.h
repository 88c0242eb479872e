// Which descriptions of volumes are accepted, and how one changes a volume that is known already. Pure. [any]
#pragma once

#include <cstdint>

#include "drover/result.h"

namespace drover::v1 {
class CsiVolume;
class Volume;
}  // namespace drover::v1

namespace drover::volumes {

enum class Purpose : uint8_t { registering, creating };

// Errors: invalid_argument with everything that is wrong.
Status check_volume(const v1::Volume& said, Purpose purpose);

// The row of a new volume, without secrets and indexes. From where a volume that is there already is reached the
// request says; of one that is created its storage does.
v1::CsiVolume new_volume(const v1::Volume& said, Purpose purpose);

// True when places are asked for.
bool asks_for_topologies(const v1::Volume& said);

// The row as the description changes it, secrets aside. The capacity stays: wants_more() says whether it must grow.
// Errors: invalid_argument with everything that may not change so.
Result<v1::CsiVolume> changed_volume(const v1::CsiVolume& row, const v1::Volume& said);

// True when the row asks for more than the volume has; where the storage does not say how large that is, for more than
// was asked for before.
bool wants_more(const v1::CsiVolume& row, int64_t asked_before);

}  // namespace drover::volumes
