// Where a job goes: the region and the namespace, which the call and the job may both name. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "drover/methods.h"

namespace drover::v1 {
class Job;
class Namespace;
}  // namespace drover::v1

namespace drover::jobs {

// Sets both in the job. The call's names stand before those of the job; the namespace "default" is that of a call
// that names none. No region and the region "global" are the server's own, whatever that is called.
// Errors: failed_precondition "No path to region …" when the job names another region than the server's.
Status resolve_destination(v1::Job& job, const QueryOptions& query, std::string_view own_region);

// A text for each kind of thing that the job uses and its namespace does not let it: drivers of tasks, networks of
// groups. `name_space`: null when it is not there, and that alone is said then.
std::vector<std::string> refused_by(const v1::Namespace* name_space, const v1::Job& job);
std::string nonexistent_namespace(const v1::Job& job);

}  // namespace drover::jobs
