// Finding a job, allocation, node, evaluation or deployment by what a person typed of its identifier.
#pragma once

#include <string>

#include "cli_command.h"

namespace drover::v1 {
class AllocationResponse;
class AllocationStubsResponse;
class AllocationWithJob;
class DeploymentResponse;
class EvaluationResponse;
class JobResponse;
class NodeResponse;
}  // namespace drover::v1

namespace drover::cli {

// The one job with this ID, or whose ID begins so. With the namespace "*" it is looked for in all, and the command goes
// on in the job's own. Errors: not_found; invalid_argument listing several matches.
Result<Answer<v1::JobResponse>> find_job(Run& run, const std::string& id);
// Likewise.
Result<Answer<v1::AllocationResponse>> find_alloc(Run& run, const std::string& id);
Result<Answer<v1::NodeResponse>> find_node(Run& run, const std::string& id);
Result<Answer<v1::EvaluationResponse>> find_eval(Run& run, const std::string& id);
Result<Answer<v1::DeploymentResponse>> find_deployment(Run& run, const std::string& id);
// The node as it was typed, or with -self the identifier of that of the agent that answers; empty: neither. Errors:
// failed_precondition when that agent is a server only.
Result<std::string> named_or_own_node(Run& run);
// `all`: also those of earlier jobs with that ID.
Result<Answer<v1::AllocationStubsResponse>> allocs_of(Run& run, const std::string& job, bool all = false);
// The identifier of an allocation of the job, by chance one of those that run; unless it must run, else of the others.
// Errors: not_found.
Result<std::string> some_alloc_of(Run& run, const std::string& job, bool must_run = false);
// The task named, or the only one. Errors: invalid_argument naming the choices.
Result<std::string> pick_task(const v1::AllocationWithJob& alloc, const std::string& wanted);

}  // namespace drover::cli
