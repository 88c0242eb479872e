// Host volumes as the API shows them. Functions of a snapshot.
#pragma once

#include "drover/tables.h"
#include "server/tables.h"

namespace drover {
class Call;
}
namespace drover::v1 {
class DescribedHostVolume;
class HostVolumeStub;
}  // namespace drover::v1

namespace drover::host_volumes {

v1::HostVolumeStub stub_of(const v1::DynamicHostVolume& row, const ReadView& view, const Tables& tables);
v1::DescribedHostVolume described(const v1::DynamicHostVolume& row, const ReadView& view, const Tables& tables);
// Adds the allocations that use it, as far as the caller may read them.
void add_users(const v1::DynamicHostVolume& row, const Tables& tables, const Call& call,
               v1::DescribedHostVolume& shown);

}  // namespace drover::host_volumes
