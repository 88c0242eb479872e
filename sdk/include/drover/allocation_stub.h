// The entry of an allocation in the lists of the API. In libdrover_api. Pure. [any]
#pragma once

#include <string>

namespace drover::v1 {
class Allocation;
class AllocationListStub;
}  // namespace drover::v1

namespace drover {

// The parts of an allocation that not every list shows.
struct StubParts {
  bool resources = false;
  bool task_states = true;
};
// `job_type`: of the job that it names; empty when that is not known.
v1::AllocationListStub stub_of(const v1::Allocation& alloc, const std::string& job_type, StubParts parts = {});

}  // namespace drover
