// job run, validate, stop, inspect, history.

#include <google/protobuf/descriptor.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "confirm.h"
#include "drover/api/jobs.pb.h"
#include "drover/job_validator.h"
#include "evals/eval_monitor.h"
#include "job_source.h"
#include "jobs/launch_text.h"
#include "jobs/plan_file.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "plan_text.h"

namespace drover::cli {
namespace {

using nlohmann::json;
// Exactly what the plan says, or nothing.
Result<Answer<v1::RegisterJobResponse>> run_plan(Run& run, const v1::RegisterJobRequest& source) {
  for (const char* flag : {"check-index", "eval-priority", "preserve-counts"}) {
    if (run.arguments.is_set(flag)) {
      return invalid_argument("-plan and -" + std::string(flag) + " exclude each other: the plan says it");
    }
  }
  DROVER_TRY(v1::ExactPlan plan, read_plan_file(run.arguments.value("plan")));
  v1::RunPlanRequest request;
  *request.mutable_job() = source.job();
  request.set_job_id(request.job().id());
  *request.mutable_submission() = source.submission();
  request.set_policy_override(run.arguments.on("policy-override"));
  *request.mutable_plan() = std::move(plan);
  return run.client.call<v1::Jobs::RunPlan>(request);
}

int job_run(Run& run) {
  std::string job;
  auto source = read_job_source(run, run.arguments.positional()[0], job);
  if (!source) return run.fail("Error getting job struct", source.status());
  warn_of_integrations(run);
  v1::RegisterJobRequest& request = *source;
  if (run.arguments.is_set("consul-namespace"))
    request.mutable_job()->set_consul_namespace(run.arguments.value("consul-namespace"));
  if (run.arguments.on("output")) {
    json shown = json::parse(job);
    if (request.job().has_consul_namespace()) shown["ConsulNamespace"] = request.job().consul_namespace();
    run.out << json{{"Job", std::move(shown)}}.dump(4) << "\n";
    return 0;
  }
  follow_namespace(run, request.job());
  for (const auto& [flag, name] :
       {std::pair("check-index", "job_modify_index"), std::pair("eval-priority", "eval_priority")}) {
    const auto& field = *request.GetDescriptor()->FindFieldByName(name);
    if (run.arguments.is_set(flag) && !text_to_field(run.arguments.value(flag), field, request).ok())
      return run.usage("Error: -" + std::string(flag) + " must be a whole number");
  }
  request.set_enforce_index(run.arguments.is_set("check-index"));
  request.set_preserve_counts(run.arguments.on("preserve-counts"));
  request.set_policy_override(run.arguments.on("policy-override"));
  auto answer = run.arguments.is_set("plan") ? run_plan(run, request) : run.client.call<v1::Jobs::Register>(request);
  if (!answer) return run.fail("Error submitting job", answer.status());
  if (const std::string& warnings = answer->message.warnings(); !warnings.empty())
    run.out << "Job Warnings:\n" << warnings << "\n\n";
  const std::string& eval = answer->message.eval_id();
  if (run.arguments.on("detach") || eval.empty()) {
    run.out << "Job registration successful\n";
    if (!eval.empty()) run.out << "Evaluation ID: " << id_text(eval) << "\n";
    if (const std::string next = next_launch_text(request.job()); !next.empty())
      run.out << "Approximate next launch time: " << next << "\n";
    return 0;
  }
  return monitor_evaluation(run, eval);
}

int show_findings(Run& run, const std::string& errors, const std::string& warnings) {
  if (!errors.empty()) {
    run.err << "Job validation errors:\n" << errors;
    return 1;
  }
  if (!warnings.empty()) run.out << "Job Warnings:\n" << warnings << "\n\n";
  run.out << "Job validation successful\n";
  return 0;
}

// Without servers the same rules hold, but nobody can say what they know beside the job.
int validate_here(Run& run, const std::string& job, const Status& why) {
  const auto* validator =
      static_cast<const JobValidator*>(run.host.find_extension(JobValidator::kExtensionPoint, "jobs"));
  if (!validator) return run.fail("Error validating job", why);
  auto findings = validator->validate(job);
  if (!findings) return run.fail("Error validating job", findings.status());
  run.err << "Warning: " << why.message() << "; the job is checked by this program alone\n";
  return show_findings(run, findings->errors, findings->warnings);
}

int job_validate(Run& run) {
  std::string job;
  auto source = read_job_source(run, run.arguments.positional()[0], job);
  if (!source) return run.fail("Error getting job struct", source.status());
  warn_of_integrations(run);
  follow_namespace(run, source->job());
  v1::ValidateJobRequest request;
  *request.mutable_job() = source->job();
  auto answer = run.client.call<v1::Jobs::Validate>(request);
  if (answer) return show_findings(run, answer->message.error(), answer->message.warnings());
  if (answer.status().code() == Code::unavailable) return validate_here(run, job, answer.status());
  return run.fail("Error validating job", answer.status());
}

int job_stop(Run& run) {
  int worst = 0;
  for (const std::string& typed : run.arguments.positional()) {
    auto job = find_job(run, typed);
    if (!job) {
      worst = run.fail("Error finding job", job.status());
      continue;
    }
    v1::DeregisterJobRequest request;
    const std::string& id = job->message.job().id();
    request.set_job_id(id);
    if (id != typed && !run.arguments.on("yes")) {
      if (auto code = ask(run, "Are you sure you want to stop job \"" + id + "\"?")) return *code;
    }
    request.set_purge(run.arguments.on("purge"));
    request.set_no_shutdown_delay(run.arguments.on("no-shutdown-delay"));
    Parameters priority;  // as it was typed: the server says what is wrong with it
    if (run.arguments.is_set("eval-priority")) priority.emplace("eval_priority", run.arguments.value("eval-priority"));
    auto answer = run.client.call<v1::Jobs::Deregister>(request, priority);
    if (!answer) {
      worst = run.fail("Error deregistering job", answer.status());
      continue;
    }
    const std::string& eval = answer->message.eval_id();
    if (eval.empty()) continue;
    if (run.arguments.on("detach")) {
      run.out << id_text(eval) << "\n";
    } else {
      worst = std::max(worst, monitor_evaluation(run, eval));
    }
  }
  return worst;
}

// The values that the file's variables had, in the form of a variable file.
std::string variables_text(const v1::JobSubmission& submission) {
  std::string out;
  for (const auto& [name, value] : sorted(submission.variable_flags())) {
    out += name + " = " + json(value).dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  out += submission.variables();
  return out.empty() ? out : "\n# Variables\n" + out;
}

// The file that the job came from, as it was.
int inspect_source(Run& run, const std::string& id) {
  v1::JobSubmissionRequest request;
  request.set_job_id(id);
  Parameters version;  // as it was typed
  if (run.arguments.is_set("version")) version.emplace("version", run.arguments.value("version"));
  auto answer = run.client.call<v1::Jobs::Submission>(request, version);
  if (!answer) return run.fail("Error retrieving the job's file", answer.status());
  const v1::JobSubmission& submission = answer->message.submission();
  if (submission.format() != "hcl2") return run.usage("Error: this version of the job did not come from HCL");
  run.out << submission.source();
  if (run.arguments.on("with-vars")) run.out << variables_text(submission);
  return 0;
}

Result<Answer<v1::JobVersionsResponse>> versions_of(Run& run, const std::string& id, bool with_diffs) {
  v1::JobVersionsRequest request;
  request.set_job_id(id);
  request.set_diffs(with_diffs);
  request.set_diff_tag(run.arguments.value("diff-tag"));
  Parameters version;  // as it was typed
  if (run.arguments.is_set("diff-version")) version.emplace("diff_version", run.arguments.value("diff-version"));
  return run.client.call<v1::Jobs::Versions>(request, version);
}

int job_inspect(Run& run) {
  auto found = find_job(run, run.arguments.positional()[0]);
  if (!found) return run.fail("Error inspecting job", found.status());
  const std::string& id = found->message.job().id();
  if (run.arguments.on("hcl")) return inspect_source(run, id);
  json job = found->json();
  if (run.arguments.on("with-vars")) return run.usage("Error: -with-vars goes with -hcl");
  if (run.arguments.is_set("version")) {
    const std::string version = run.arguments.value("version");
    auto versions = versions_of(run, id, false);
    if (!versions) return run.fail("Error retrieving job versions", versions.status());
    const auto& kept = versions->message.versions();
    const auto wanted =
        std::ranges::find(kept, version, [](const v1::Job& each) { return std::to_string(each.version()); });
    if (wanted == kept.end()) return run.usage("Error: version " + version + " of the job is not kept");
    job = versions->json()["Versions"][static_cast<size_t>(wanted - kept.begin())];
  }
  if (auto code = print_by_template(run, job)) return *code;
  run.out << (run.arguments.on("json") ? job : json{{"Job", job}}).dump(4) << "\n";
  return 0;
}

std::string version_text(const v1::Job& version) {
  std::vector<std::pair<std::string, std::string>> pairs = {{"Version", std::to_string(version.version())},
                                                            {"Stable", yes_no(version.stable())},
                                                            {"Submit Date", full_time(version.submit_time())}};
  if (version.has_version_tag()) {
    pairs.emplace_back("Tag Name", version.version_tag().name());
    pairs.emplace_back("Tag Description", version.version_tag().description());
  }
  return format_pairs(pairs);
}

int job_history(Run& run) {
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error retrieving job", job.status());
  const bool shows_diffs =
      run.arguments.on("p") || run.arguments.is_set("diff-tag") || run.arguments.is_set("diff-version");
  if (run.arguments.is_set("diff-tag") && run.arguments.is_set("diff-version"))
    return run.usage("Error: -diff-tag and -diff-version exclude each other");
  auto versions = versions_of(run, job->message.job().id(), true);
  if (!versions) return run.fail("Error retrieving job versions", versions.status());
  const auto& diffs = versions->message.diffs();  // each to the version before, which the oldest has not; or to one
  const json all = versions->json()["Versions"];
  json shown = json::array();
  std::string text;
  for (int i = 0; i < versions->message.versions_size(); ++i) {
    const v1::Job& version = versions->message.versions(i);
    const std::string own = std::to_string(version.version());
    if (run.arguments.is_set("version") && own != run.arguments.value("version")) continue;
    text += run.arguments.on("full") ? all[static_cast<size_t>(i)].dump(4) + "\n"
                                     : (shown.empty() ? "" : "\n") + version_text(version);
    if (shows_diffs && i < diffs.size() && diffs[i].type() != v1::DIFF_TYPE_NONE)
      text += "Diff        =\n" + diff_text(diffs[i], false);
    shown.push_back(all[static_cast<size_t>(i)]);
  }
  if (shown.empty()) return run.usage("Error: no such version is kept");
  if (auto code = print_object(run, run.arguments.is_set("version") ? shown[0] : shown)) return *code;
  run.out << text;
  return 0;
}

Definition define_run(std::string name) {
  std::vector<Flag> flags = job_source_flags();
  flags.push_back(on_off("detach", "Do not wait for the evaluation"));
  flags.push_back(on_off("verbose", "Show full identifiers"));
  flags.push_back(on_off("output", "Print the job as the API takes it, and submit nothing"));
  flags.push_back(on_off("preserve-counts", "Keep the counts of groups that run already"));
  flags.push_back(on_off("policy-override", "Go on where a policy that may be overridden forbids it"));
  for (Flag& flag : integration_flags(true)) flags.push_back(std::move(flag));
  flags.push_back(with_value("consul-namespace", "",
                             "Consul's namespace of the services and templates of groups that name none"));
  flags.push_back(with_value("plan", "", "Do exactly what this file of job plan -out says, or nothing"));
  flags.push_back(with_value("check-index", "",
                             "Register only if the job's modify index is this; 0: only if there is no such job"));
  flags.push_back(with_value("eval-priority", "", "Priority of the evaluation, 1 to 100"));
  return {std::move(name),
          "Starts running a job, or updates a running one.",
          "<path>",
          "  The path names a job file in HCL or JSON; \"-\" reads it from standard input. The evaluation\n"
          "  is followed until it ends. Exit code 2: some allocations could not be placed.\n",
          std::move(flags),
          1,
          1,
          job_run};
}

Definition define_validate(std::string name) {
  std::vector<Flag> flags = job_source_flags();
  for (Flag& flag : integration_flags(false)) flags.push_back(std::move(flag));
  return {std::move(name),
          "Checks a job file and has the servers check it too.",
          "<path>",
          "  Where no agent answers this program checks alone, by the same rules, and says so.\n",
          std::move(flags),
          1,
          1,
          job_validate};
}

Definition define_stop(std::string name) {
  return {std::move(name),
          "Stops running jobs.",
          "<job> [<job>…]",
          "",
          {on_off("detach", "Do not wait for the evaluation"), on_off("verbose", "Show full identifiers"),
           on_off("yes", "Do not ask"), on_off("purge", "Forget the job at once instead of after a while"),
           on_off("no-shutdown-delay", "Leave out the groups' and tasks' shutdown_delay"),
           with_value("eval-priority", "", "Priority of the evaluation, 1 to 100")},
          1,
          100,
          job_stop};
}

Definition define_inspect(std::string name) {
  return {std::move(name),
          "Shows a job as the servers hold it.",
          "<job>",
          "",
          {with_value("version", "", "An earlier version"), on_off("hcl", "Show the file that the job came from"),
           on_off("with-vars", "With -hcl: the values of its variables as well"),
           on_off("json", "The job alone, without the object around it"), template_flag()},
          1,
          1,
          job_inspect};
}

}  // namespace

std::vector<Definition> job_commands() {
  return {define_run("job run"),
          define_run("run"),
          define_validate("job validate"),
          define_validate("validate"),
          define_stop("job stop"),
          define_stop("stop"),
          define_inspect("job inspect"),
          define_inspect("inspect"),
          {"job history", "Shows the kept versions of a job.", "<job>", "",
           with_object_flags({on_off("p", "Show what differs from the version before"),
                              with_value("diff-tag", "", "Show what differs from the version of that name"),
                              with_value("diff-version", "", "Show what differs from that version"),
                              on_off("full", "Show the whole job of each version"),
                              with_value("version", "", "Only this version")}),
           1, 1, job_history}};
}

}  // namespace drover::cli
