// job plan.
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/api/jobs.pb.h"
#include "job_source.h"
#include "jobs/plan_file.h"
#include "object_output.h"
#include "output.h"
#include "plan_text.h"

namespace drover::cli {
namespace {

constexpr int kPlanError = 255;  // 1 says that allocations would change

int job_plan(Run& run) {
  const std::string path = run.arguments.positional()[0];
  std::string job;
  auto source = read_job_source(run, path, job);
  if (!source) return run.fail("Error getting job struct", source.status()), kPlanError;
  warn_of_integrations(run);
  follow_namespace(run, source->job());
  v1::PlanJobRequest request;
  *request.mutable_job() = source->job();
  request.set_job_id(request.job().id());
  request.set_diff(run.arguments.on("diff"));
  request.set_policy_override(run.arguments.on("policy-override"));
  request.set_exact(run.arguments.is_set("out"));
  auto answer = run.client.call<v1::Jobs::Plan>(request);
  if (!answer) return run.fail("Error during plan", answer.status()), kPlanError;
  const v1::PlanJobResponse& plan = answer->message;
  if (request.exact()) {
    const Status kept = write_plan_file(run.arguments.value("out"), plan);
    if (!kept.ok()) return run.fail("Error writing the plan", kept), kPlanError;
  }
  const int code = plan.has_annotations() ? static_cast<int>(changes_allocations(plan)) : kPlanError;
  if (run.arguments.on("json-output") && run.arguments.is_set("t")) {
    return run.usage("Error: -json-output and -t exclude each other"), kPlanError;
  }
  if (auto printed = print_by_template(run, answer->json())) return *printed == 0 ? code : kPlanError;
  if (run.arguments.on("json-output")) {
    run.out << answer->json().dump(4) << "\n";
    return code;
  }
  if (request.diff()) run.out << diff_text(plan.diff(), run.verbose()) << "\n";
  run.out << "Scheduler dry-run:\n" << dry_run_text(plan, request.job().type(), now_ns()) << "\n";
  if (const std::string preempted = preemptions_text(plan); !preempted.empty())
    run.out << "Preemptions:\n\n" << preempted << "\n";
  if (!plan.warnings().empty()) run.out << "Job Warnings:\n" << plan.warnings() << "\n\n";
  if (request.exact()) {
    const std::string file = run.arguments.value("out");
    run.out << "The plan is in " << file << ". To do exactly that, or nothing:\n\ndrover job run -plan " << file << " "
            << path << "\n\n";
  }
  const std::string index = std::to_string(plan.job_modify_index());
  // Scripts look for these words.
  run.out << "Job Modify Index: " << index
          << "\nTo submit the job with version verification run:\n\ndrover job run -check-index " << index;
  for (const char* flag : {"var", "var-file"}) {
    for (const std::string& value : run.arguments.values(flag)) run.out << " -" << flag << "=\"" << value << "\"";
  }
  run.out << " " << path
          << "\n\nWith -check-index the job only runs if its modify index is still this one. If it is not,\n"
             "somebody has changed the job since, and this plan may not hold.\n";
  return code;
}

Definition define_plan(std::string name) {
  std::vector<Flag> flags = job_source_flags();
  Flag diff = on_off("diff", "Show what differs from the running job; on unless switched off");
  diff.fallback = "true";
  flags.push_back(std::move(diff));
  flags.push_back(with_value("out", "", "Write the plan to this file, for job run -plan"));
  flags.push_back(on_off("verbose", "Show what is new or gone in full"));
  flags.push_back(on_off("json-output", "The API's answer; the exit code is the same"));
  flags.push_back(template_flag());
  flags.push_back(on_off("policy-override", "Go on where a policy that may be overridden forbids it"));
  for (Flag& flag : integration_flags(false)) flags.push_back(std::move(flag));
  return {std::move(name),
          "Shows what running a job would change.",
          "<path>",
          "  The path names a job file as for job run. The scheduler decides as it would now and writes\n"
          "  nothing. Exit codes: 0, no allocation would change; 1, some would be created or destroyed;\n"
          "  255, an error, or no scheduler that could say.\n",
          std::move(flags),
          1,
          1,
          job_plan};
}

}  // namespace

std::vector<Definition> job_plan_commands() { return {define_plan("job plan"), define_plan("plan")}; }

}  // namespace drover::cli
