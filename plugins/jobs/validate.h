// Every rule of the job specification that this version knows, all violations at once. Pure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "drover/job_validator.h"
#include "implied.h"
#include "priorities.h"

namespace drover::v1 {
class Identity;
class Job;
class Task;
class TaskGroup;
}  // namespace drover::v1

namespace drover::jobs {

struct Findings {
  std::vector<std::string> errors;  // group["web"].task["app"].resources.cpu: must be at least 1
  std::vector<std::string> warnings;
};

// The jobs that the servers take, by their configuration and their plugins.
struct Admission {
  Priorities priorities = {};
  std::vector<std::string> scheduled = {"service", "batch"};  // types of jobs that have a scheduler
  // Says of a type of check that is none of drover's own whether a plugin of some node runs it. Empty: none does.
  std::function<bool(const std::string& type)> has_check_type = {};
  // Identities that a task has although the job names none. Empty: none.
  std::function<std::vector<v1::Identity>(const v1::TaskGroup& group, const v1::Task& task)> implied_identities = {};
  // Says what speaks against a job in its namespace. Empty: nobody knows the namespaces.
  std::function<std::vector<std::string>(const v1::Job& job)> refused_by_namespace = {};
  bool has_vault = false;  // jobs may use Vault
};

// Requires: the job is canonical. A part that this version cannot carry out is an error, never silently left out.
Findings validate(const v1::Job& job, const Admission& admission = {});

// Checks that the one may take the other's place; both are canonical.
// Errors: failed_precondition when the type changes, or whether it is periodic or parameterized.
Status check_update(const v1::Job& from, const v1::Job& to);

// The same for programs without a server.
class Validator final : public JobValidator {
 public:
  Result<Findings> validate(std::string_view json) const override;
};

// One a line; and as the field's other tools list errors: "2 errors occurred:" and a bullet each.
std::string joined(const std::vector<std::string>& lines);
std::string as_list(const std::vector<std::string>& errors);

}  // namespace drover::jobs
