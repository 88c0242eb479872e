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
  Table<v1::Job> jobs;                   // by job_key
  Table<v1::Job> versions;               // by job_version_key, the newest first
  Table<v1::JobSubmission> submissions;  // likewise; of the versions that came from a file
};

// The row that registering `job` at that log index writes, after `existing` (null: there is none): with the servers'
// own fields and, when the description differs, the next version. Pure.
v1::Job as_registered(v1::Job job, const v1::Job* existing, uint64_t index, int64_t time);

Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::jobs
