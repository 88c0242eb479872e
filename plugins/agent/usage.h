// Resources that tasks use, in the API's form. Pure.
#pragma once

#include "drover/task_driver.h"

namespace hashicorp::nomad::plugins::drivers::proto {
class TaskResourceUsage;
}
namespace drover::v1 {
class ResourceUsage;
}

namespace drover::agent {

v1::ResourceUsage to_usage(const driver::TaskResourceUsage& from);
// Sums up `from` into `to`.
void add_usage(const v1::ResourceUsage& from, v1::ResourceUsage& to);

}  // namespace drover::agent
