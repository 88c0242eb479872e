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
}  // namespace drover::v1

namespace drover::jobs {

inline constexpr uint64_t kTrackedVersions = 6;

struct Tables {
  Table<v1::Job> jobs;      // by (namespace, id)
  Table<v1::Job> versions;  // by (namespace, id, version), the newest first
};

std::string job_key(std::string_view name_space, std::string_view id);
KeyRange versions_of(std::string_view name_space, std::string_view id);

Status declare_tables(Declarations& declare, Tables& tables);

}  // namespace drover::jobs
