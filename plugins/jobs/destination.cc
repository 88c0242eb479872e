#include "destination.h"

#include <google/protobuf/repeated_field.h>

#include <algorithm>

#include "drover/model/namespace.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/namespace.pb.h"

namespace drover::jobs {
namespace {

constexpr std::string_view kGlobal = "global";

using Names = google::protobuf::RepeatedPtrField<std::string>;

bool has(const Names& names, const std::string& name) { return std::ranges::find(names, name) != names.end(); }

bool lets(const Names& enabled, const Names& disabled, const std::string& name) {
  return !has(disabled, name) && (enabled.empty() || has(enabled, name));
}

// Nothing when all may be used; as often as it is used.
void refuse(const std::vector<std::string>& names, const std::string& what, const v1::Namespace& name_space,
            std::vector<std::string>& refusals) {
  if (names.empty()) return;
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "\"" : " \"") + name + "\"";
  const bool is_one = names.size() == 1;
  refusals.push_back("used " + what + (is_one ? " " + list + " is" : "s [" + list + "] are") +
                     " not allowed in namespace \"" + name_space.name() + "\"");
}

}  // namespace

Status resolve_destination(v1::Job& job, const QueryOptions& query, std::string_view own_region) {
  if (!query.name_space.empty() && query.name_space != kDefaultNamespace) job.set_namespace_(query.name_space);
  if (job.namespace_().empty()) job.set_namespace_(std::string(kDefaultNamespace));

  // A call that names another region does not come here.
  const bool is_own = !query.region.empty() || job.region().empty() || job.region() == kGlobal;
  if (!is_own && job.region() != own_region) {
    const std::string own(own_region.empty() ? kGlobal : own_region);
    return failed_precondition("No path to region \"" + job.region() +
                               "\", which the job names; this is the region \"" + own + "\"");
  }
  job.set_region(std::string(own_region));
  return ok_status();
}

std::string nonexistent_namespace(const v1::Job& job) {
  return "job \"" + job.id() + "\" is in nonexistent namespace \"" + job.namespace_() + "\"";
}

std::vector<std::string> refused_by(const v1::Namespace* name_space, const v1::Job& job) {
  if (name_space == nullptr) return {nonexistent_namespace(job)};
  const v1::NamespaceCapabilities& may = name_space->capabilities();
  std::vector<std::string> drivers, modes, refusals;
  for (const v1::TaskGroup& group : job.task_groups()) {
    for (const v1::Task& task : group.tasks()) {
      if (!lets(may.enabled_task_drivers(), may.disabled_task_drivers(), task.driver()))
        drivers.push_back(task.driver());
    }
    for (const v1::NetworkResource& network : group.networks()) {
      const std::string mode = network.mode().empty() ? "host" : network.mode();
      if (!lets(may.enabled_network_modes(), may.disabled_network_modes(), mode)) modes.push_back(mode);
    }
  }
  refuse(drivers, "task driver", *name_space, refusals);
  refuse(modes, "group network mode", *name_space, refusals);
  return refusals;
}

}  // namespace drover::jobs
