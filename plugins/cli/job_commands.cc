// job run, validate, stop, inspect, history.
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "drover/job_validator.h"
#include "eval_monitor.h"
#include "job_source.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"
#include "plan_text.h"

namespace drover::cli {
namespace {

using nlohmann::json;
Result<int64_t> whole_number(const std::string& word, std::string_view flag) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < 0) {
    return invalid_argument("-" + std::string(flag) + " must be a whole number, not \"" + word + "\"");
  }
  return value;
}

int job_run(Run& run) {
  auto job = read_job_source(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error getting job struct", job.status());
  warn_of_integrations(run);
  json request = {{"Job", json::parse(job->job, nullptr, false)}};
  if (run.arguments.on("output")) {
    run.out << request.dump(4) << "\n";
    return 0;
  }
  if (run.arguments.is_set("check-index")) {
    auto index = whole_number(run.arguments.value("check-index"), "check-index");
    if (!index) return run.fail("Error", index.status());
    request["EnforceIndex"] = true;
    request["JobModifyIndex"] = *index;
  }
  if (run.arguments.is_set("eval-priority")) {
    auto priority = whole_number(run.arguments.value("eval-priority"), "eval-priority");
    if (!priority) return run.fail("Error", priority.status());
    request["EvalPriority"] = *priority;
  }
  request["Submission"] = json::parse(job->submission, nullptr, false);
  request["PreserveCounts"] = run.arguments.on("preserve-counts");
  request["PolicyOverride"] = run.arguments.on("policy-override");
  auto answer = run.client.write("PUT", "/v1/jobs", {}, request.dump());
  if (!answer) return run.fail("Error submitting job", answer.status());
  if (std::string warnings = text(*answer, "Warnings"); !warnings.empty())
    run.out << "Job Warnings:\n" << warnings << "\n\n";
  const std::string eval = text(*answer, "EvalID");
  if (run.arguments.on("detach") || eval.empty()) {
    run.out << "Job registration successful\n";
    if (!eval.empty()) run.out << "Evaluation ID: " << eval << "\n";
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
  auto job = read_job_source(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error getting job struct", job.status());
  warn_of_integrations(run);
  auto answer = run.client.write("PUT", "/v1/validate/job", {}, "{\"Job\":" + job->job + "}");
  if (answer) return show_findings(run, text(*answer, "Error"), text(*answer, "Warnings"));
  if (answer.status().code() == Code::unavailable) return validate_here(run, job->job, answer.status());
  return run.fail("Error validating job", answer.status());
}

// Exactly "y" goes on; an empty answer or one beginning with n does not.
std::optional<int> ask(Run& run, const std::string& question) {
  run.out << question << " [y/N] " << std::flush;
  std::string answer;
  std::getline(run.host.in(), answer);
  if (answer == "y") return std::nullopt;
  if (answer.empty() || answer[0] == 'n' || answer[0] == 'N') {
    run.out << "Cancelling\n";
    return 0;
  }
  if (answer[0] == 'y') {
    run.out << "For confirmation, an exact 'y' is required.\n";
    return 0;
  }
  run.out << "No confirmation detected. For confirmation, an exact 'y' is required.\n";
  return 1;
}

int job_stop(Run& run) {
  int worst = 0;
  for (const std::string& typed : run.arguments.positional()) {
    auto job = find_job(run, typed);
    if (!job) {
      worst = run.fail("Error finding job", job.status());
      continue;
    }
    const std::string id = text(*job, "ID");
    if (id != typed && !run.arguments.on("yes")) {
      if (auto code = ask(run, "Are you sure you want to stop job \"" + id + "\"?")) return *code;
    }
    Parameters parameters;
    if (run.arguments.on("purge")) parameters["purge"] = "true";
    if (run.arguments.is_set("eval-priority")) parameters["eval_priority"] = run.arguments.value("eval-priority");
    auto answer = run.client.write("DELETE", "/v1/job/" + escape(id), parameters);
    if (!answer) {
      worst = run.fail("Error deregistering job", answer.status());
      continue;
    }
    const std::string eval = text(*answer, "EvalID");
    if (eval.empty()) continue;
    if (run.arguments.on("detach")) {
      run.out << eval << "\n";
    } else {
      worst = std::max(worst, monitor_evaluation(run, eval));
    }
  }
  return worst;
}

// The values that the file's variables had, in the form of a variable file.
std::string variables_text(const json& submission) {
  std::string out;
  for (const auto& [name, value] : member(submission, "VariableFlags").items()) {
    out += name + " = " + value.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  }
  out += text(submission, "Variables");
  return out.empty() ? out : "\n# Variables\n" + out;
}

// The file that the job came from, as it was.
int inspect_source(Run& run, const std::string& id) {
  Parameters parameters;
  if (run.arguments.is_set("version")) parameters["version"] = run.arguments.value("version");
  auto submission = run.client.get("/v1/job/" + escape(id) + "/submission", parameters);
  if (!submission) return run.fail("Error retrieving the job's file", submission.status());
  if (text(*submission, "Format") != "hcl2") return run.usage("Error: this version of the job did not come from HCL");
  run.out << text(*submission, "Source");
  if (run.arguments.on("with-vars")) run.out << variables_text(*submission);
  return 0;
}

int job_inspect(Run& run) {
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error inspecting job", job.status());
  if (run.arguments.on("hcl")) return inspect_source(run, text(*job, "ID"));
  if (run.arguments.on("with-vars")) return run.usage("Error: -with-vars goes with -hcl");
  if (run.arguments.is_set("version")) {
    auto version = whole_number(run.arguments.value("version"), "version");
    if (!version) return run.fail("Error", version.status());
    auto versions = run.client.get("/v1/job/" + escape(text(*job, "ID")) + "/versions");
    if (!versions) return run.fail("Error retrieving job versions", versions.status());
    const json* wanted = nullptr;
    for (const json& each : member(*versions, "Versions")) {
      if (number(each, "Version") == *version) wanted = &each;
    }
    if (!wanted) return run.usage("Error: version " + std::to_string(*version) + " of the job is not kept");
    job = Result<json>(*wanted);
  }
  if (auto code = print_by_template(run, *job)) return *code;
  run.out << (run.arguments.on("json") ? *job : json{{"Job", *job}}).dump(4) << "\n";
  return 0;
}

int job_history(Run& run) {
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error retrieving job", job.status());
  auto versions = run.client.get("/v1/job/" + escape(text(*job, "ID")) + "/versions", {{"diffs", "true"}});
  if (!versions) return run.fail("Error retrieving job versions", versions.status());
  json shown = json::array(), diffs = json::array();  // a diff is to the version before, the oldest has none
  for (size_t i = 0; i < member(*versions, "Versions").size(); ++i) {
    const json& version = (*versions)["Versions"][i];
    const std::string own = std::to_string(number(version, "Version"));
    if (run.arguments.is_set("version") && own != run.arguments.value("version")) continue;
    shown.push_back(version);
    diffs.push_back(i < member(*versions, "Diffs").size() ? (*versions)["Diffs"][i] : json());
  }
  if (shown.empty()) return run.usage("Error: no such version is kept");
  if (auto code = print_object(run, run.arguments.is_set("version") ? shown[0] : shown)) return *code;
  for (size_t i = 0; i < shown.size(); ++i) {
    const json& version = shown[i];
    if (run.arguments.on("full")) {
      run.out << version.dump(4) << "\n";
    } else {
      run.out << (i == 0 ? "" : "\n")
              << format_pairs({{"Version", std::to_string(number(version, "Version"))},
                               {"Stable", member(version, "Stable") == true ? "true" : "false"},
                               {"Submit Date", full_time(number(version, "SubmitTime"))}});
    }
    if (run.arguments.on("p") && !diffs[i].is_null()) run.out << "Diff        =\n" << diff_text(diffs[i], false);
  }
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
                              on_off("full", "Show the whole job of each version"),
                              with_value("version", "", "Only this version")}),
           1, 1, job_history}};
}

}  // namespace drover::cli
