// The command that registers a job, as every way to a new version of a job makes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "drover/methods.h"
#include "validate.h"

namespace drover {
class Host;
}
namespace drover::v1 {
class Job;
class JobRegistered;
class JobSubmission;
class RegisterJobResponse;
}  // namespace drover::v1

namespace drover::jobs {

// Errors: permission_denied while the operator has switched new work off, but for management tokens.
Status may_register(const Call& call, const ReadView& view, const Host& host);

// Says if the caller may submit a job of this content into the job's own namespace, which need not be the call's.
// Errors: permission_denied.
Status may_submit(const v1::Job& job, bool overrides_policies, const Call& call);

// True for a node pool that is there. The two that every cluster has always are.
bool has_pool(const ReadView& view, const Host& host, std::string_view name);
// Errors: invalid_argument when the job's node pool is not there.
Status in_known_pool(const ReadView& view, const Host& host, const v1::Job& job);

// A node says that a plugin of it runs checks of that type.
bool runs_checks(Host& host, const std::string& type);

// Requires: the job was accepted. Jobs that only start children have no evaluation; `priority`: of the evaluation, 0
// for the job's.
v1::JobRegistered registration_of(v1::Job job, std::string_view trigger, int64_t time, int32_t priority = 0);

// Keeps the file that the job came from, unless it is too large: that is a warning.
void keep_submission(const v1::JobSubmission& submission, v1::JobRegistered& command,
                     std::vector<std::string>& warnings);

// Checks a stored version as registering it would: what the servers take may have changed. Errors: invalid_argument.
Status check_again(const v1::Job& version, const Admission& admission);

// Gives each scaling policy the identifier that its group's policy has in `existing` (null: there is none), else a new
// one.
void keep_policy_ids(v1::Job& job, const v1::Job* existing);

// Fills in what only applying it says. `applied`: of a command that answers with JobRegisteredAnswer.
Result<v1::RegisterJobResponse> registered(v1::RegisterJobResponse response, const Applied& applied);

}  // namespace drover::jobs
