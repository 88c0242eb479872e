// The tables of this plugin and what its log commands do to them. Deterministic. [apply]
#pragma once

#include <string>

#include "drover/plugin.h"
#include "drover/tables.h"

namespace drover::v1 {
class Evaluation;
class Job;
class JobDeregistered;
class JobRegistered;
class JobsDeleted;
class JobStatusChanged;
class JobSubmission;
}  // namespace drover::v1

namespace drover::jobs {

inline constexpr uint64_t kTrackedVersions = 6;

struct Tables {
  Table<v1::Job> jobs;                   // by (namespace, id)
  Table<v1::Job> versions;               // by (namespace, id, version), the newest first
  Table<v1::JobSubmission> submissions;  // likewise; of the versions that came from a file
};

std::string job_key(std::string_view name_space, std::string_view id);
// Of the versions and of the submissions.
std::string version_key(std::string_view name_space, std::string_view id, uint64_t version);
KeyRange versions_of(std::string_view name_space, std::string_view id);

Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::jobs
