// job revert, job start, job tag: going back to a version of a job, and naming one.
#include <algorithm>

#include "cli_command.h"
#include "drover/api/jobs.pb.h"
#include "jobs/follow.h"
#include "lookup.h"
#include "output.h"

namespace drover::cli {
namespace {

int revert_to(Run& run, const std::string& job, uint64_t version, const std::string& what) {
  v1::RevertJobRequest request;
  request.set_path_job_id(job);
  request.set_job_id(job);
  request.set_job_version(version);
  auto answer = run.client.call<v1::Jobs::Revert>(request);
  if (!answer) return run.fail(what, answer.status());
  show_warnings(run, answer->message.warnings());
  if (answer->message.eval_id().empty()) run.out << "Job registration successful\n";
  return follow_evaluation(run, answer->message.eval_id());
}

int job_revert(Run& run) {
  const auto& words = run.arguments.positional();
  v1::RevertJobRequest number;
  if (!text_to_field(words[1], *number.GetDescriptor()->FindFieldByName("job_version"), number).ok())
    return run.usage("Error: the version must be a whole number");
  auto job = find_job(run, words[0]);
  if (!job) return run.fail("Error finding job", job.status());
  return revert_to(run, job->message.job().id(), number.job_version(), "Error reverting job");
}

// A stopped job goes on with the newest version that was not stopped.
int job_start(Run& run) {
  auto found = find_job(run, run.arguments.positional()[0]);
  if (!found) return run.fail("Error finding job", found.status());
  const v1::Job& job = found->message.job();
  if (!job.stop()) {
    run.out << "Job \"" << job.id() << "\" has not been stopped and has the following status: " << word(job.status())
            << "\n";
    return 0;
  }
  v1::JobVersionsRequest request;
  request.set_job_id(job.id());
  auto answer = run.client.call<v1::Jobs::Versions>(request);
  if (!answer) return run.fail("Error retrieving job versions", answer.status());
  const auto& kept = answer->message.versions();
  const auto last = std::ranges::find(kept, false, [](const v1::Job& version) { return version.stop(); });
  if (last == kept.end()) return run.usage("Error: no version of the job from before it was stopped is kept");
  return revert_to(run, job.id(), last->version(), "Error starting job");
}

int tag_apply(Run& run) {
  if (run.arguments.value("name").empty()) return run.usage("Error: A version tag name is required");
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error finding job", job.status());
  v1::TagJobVersionRequest request;
  request.set_job_id(job->message.job().id());
  request.set_name(run.arguments.value("name"));
  request.set_description(run.arguments.value("description"));
  request.set_version(job->message.job().version());
  if (run.arguments.is_set("version") &&
      !text_to_field(run.arguments.value("version"), *request.GetDescriptor()->FindFieldByName("version"), request)
           .ok())
    return run.usage("Error: -version must be a whole number");
  auto answer = run.client.call<v1::Jobs::TagVersion>(request);
  if (!answer) return run.fail("Error tagging job version", answer.status());
  run.out << "Job version " << request.version() << " tagged with name \"" << request.name() << "\"\n";
  return 0;
}

int tag_unset(Run& run) {
  if (run.arguments.value("name").empty()) return run.usage("Error: A version tag name is required");
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error finding job", job.status());
  v1::UntagJobVersionRequest request;
  request.set_job_id(job->message.job().id());
  request.set_name(run.arguments.value("name"));
  auto answer = run.client.call<v1::Jobs::UntagVersion>(request);
  if (!answer) return run.fail("Error removing tag from job version", answer.status());
  run.out << "JobVersionTag \"" << request.name() << "\" removed from job \"" << request.job_id() << "\"\n";
  return 0;
}

}  // namespace

std::vector<Definition> job_version_commands() {
  return {
      {"job revert", "Makes an earlier version of a job the newest one.", "<job> <version>",
       "  drover job history shows the versions that are kept.\n", with_follow_flags({}), 2, 2, job_revert},
      {"job start", "Starts a stopped job at its last version.", "<job>", "", with_follow_flags({}), 1, 1, job_start},
      {"job tag apply",
       "Names a version of a job, which is kept from then on.",
       "<job>",
       "",
       {with_value("name", "", "The name"), with_value("description", "", "What is special about it"),
        with_value("version", "", "The version; the newest without it")},
       1,
       1,
       tag_apply},
      {"job tag unset",
       "Takes the name of a version away.",
       "<job>",
       "",
       {with_value("name", "", "The name")},
       1,
       1,
       tag_unset}};
}

}  // namespace drover::cli
