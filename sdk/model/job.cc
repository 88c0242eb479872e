#include "drover/model/job.h"

#include <algorithm>

#include "drover/v1/job.pb.h"

namespace drover {

const v1::TaskGroup* find_group(const v1::Job& job, std::string_view name) {
  const auto at = std::ranges::find(job.task_groups(), name, &v1::TaskGroup::name);
  return at == job.task_groups().end() ? nullptr : &*at;
}

}  // namespace drover
