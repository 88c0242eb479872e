// The tables of this plugin and what its log commands do to them. Deterministic. [apply]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "drover/plugin.h"
#include "drover/tables.h"
#include "scaling/rows.h"

namespace drover::v1 {
class Job;
class JobListStub;
class JobSubmission;
}  // namespace drover::v1

namespace drover::jobs {

inline constexpr uint64_t kTrackedVersions = 6;

struct KeptVersion {
  std::string key;
  bool stable = false, tagged = false;
};
// The keys of the versions that need not be kept: the newest ones stay, the newest stable one, to which a job may be
// reverted, and all with a tag. Pure.
std::vector<std::string> superfluous(const std::vector<KeptVersion>& newest_first);

struct Tables {
  Table<v1::Job> jobs;                   // by job_key
  Table<v1::Job> versions;               // by job_version_key, the newest first
  Table<v1::JobSubmission> submissions;  // likewise; of the versions that came from a file
  // By job_key: what a list shows of a job, so that it decodes nothing else. The numbers of a job's children are kept
  // here, those of its allocations by the scheduler.
  Table<v1::JobListStub> stubs;
  ScalingTables scaling;
  std::optional<TableId> namespaces = {};  // of the plugin namespaces; none where it is not loaded
};

// The row that registering `job` at that log index writes, after `existing` (null: there is none): with the servers'
// own fields and, when the description differs, the next version. Pure.
v1::Job as_registered(v1::Job job, const v1::Job* existing, uint64_t index, int64_t time);

// The list entry of a job, without numbers. A state that was saved before such rows were kept has none: then it is made
// of the job.
v1::JobListStub stub_of(const v1::Job& job);

// Errors: invalid_argument when the job's namespace is not there.
Status in_known_namespace(const ReadView& view, const Tables& tables, const v1::Job& job);

// Requires: `tables` outlives the declarations.
Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::jobs
