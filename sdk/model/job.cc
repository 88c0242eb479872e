#include "drover/model/job.h"

#include <algorithm>

#include "drover/messages.h"
#include "drover/v1/job.pb.h"

namespace drover {

const v1::TaskGroup* find_group(const v1::Job& job, std::string_view name) {
  const auto at = std::ranges::find(job.task_groups(), name, &v1::TaskGroup::name);
  return at == job.task_groups().end() ? nullptr : &*at;
}

const v1::Task* find_task(const v1::TaskGroup& group, std::string_view name) {
  const auto at = std::ranges::find(group.tasks(), name, &v1::Task::name);
  return at == group.tasks().end() ? nullptr : &*at;
}

std::string specification(v1::Job job) {
  job.clear_status();
  job.clear_status_description();
  job.clear_stable();
  job.clear_version();
  job.clear_version_tag();
  job.clear_submit_time();
  job.clear_create_index();
  job.clear_modify_index();
  job.clear_job_modify_index();
  return serialize(job);
}

bool runs_everywhere(const v1::Job& job) { return job.type() == "system" || job.type() == "sysbatch"; }

bool is_parameterized(const v1::Job& job) { return job.has_parameterized_job() && !job.dispatched(); }

bool is_periodic(const v1::Job& job) { return job.has_periodic(); }

bool starts_children(const v1::Job& job) { return is_parameterized(job) || is_periodic(job); }

bool is_dns_name(std::string_view name) {
  if (name.size() > 253) return false;
  while (true) {
    const std::string_view label = name.substr(0, name.find('.'));
    const bool is_good = !label.empty() && label.size() <= 63 && label.front() != '-' && label.back() != '-';
    const bool is_plain = std::ranges::all_of(label, [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
    });
    if (!is_good || !is_plain) return false;
    if (label.size() == name.size()) return true;
    name.remove_prefix(label.size() + 1);
  }
}

}  // namespace drover
