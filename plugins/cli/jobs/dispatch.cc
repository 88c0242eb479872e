// job dispatch, job periodic force, job eval: what has a job run now.
#include <fstream>
#include <iterator>

#include "cli_command.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/periodic.pb.h"
#include "jobs/follow.h"
#include "lookup.h"
#include "output.h"

namespace drover::cli {
namespace {

// The bytes of a file, or of standard input for "-".
Result<std::string> read_payload(Run& run, const std::string& path) {
  const auto all_of = [](std::istream& in) { return std::string(std::istreambuf_iterator<char>(in), {}); };
  if (path == "-") return all_of(run.host.in());
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found("cannot read " + path);
  return all_of(file);
}

int job_dispatch(Run& run) {
  const auto& words = run.arguments.positional();
  v1::DispatchJobRequest request;
  for (const std::string& pair : run.arguments.values("meta")) {
    const size_t sign = pair.find('=');
    if (sign == std::string::npos)
      return run.usage("Error parsing meta value: " + pair + " is not of the form key=value");
    (*request.mutable_meta())[pair.substr(0, sign)] = pair.substr(sign + 1);
  }
  if (words.size() == 2) {
    auto payload = read_payload(run, words[1]);
    if (!payload) return run.fail("Error reading input data", payload.status());
    request.set_payload(*std::move(payload));
  }
  auto job = find_job(run, words[0]);
  if (!job) return run.fail("Error finding job", job.status());
  request.set_path_job_id(job->message.job().id());
  request.set_job_id(request.path_job_id());
  request.set_id_prefix_template(run.arguments.value("id-prefix-template"));
  request.set_idempotency_token(run.arguments.value("idempotency-token"));
  if (run.arguments.is_set("priority")) {
    const auto& field = *request.GetDescriptor()->FindFieldByName("priority");
    if (!text_to_field(run.arguments.value("priority"), field, request).ok())
      return run.usage("Error: -priority must be a whole number");
  }
  auto answer = run.client.call<v1::Jobs::Dispatch>(request);
  if (!answer) return run.fail("Failed to dispatch job", answer.status());
  const v1::DispatchJobResponse& dispatched = answer->message;
  std::vector<std::pair<std::string, std::string>> pairs = {{"Dispatched Job ID", dispatched.dispatched_job_id()}};
  if (!dispatched.eval_id().empty()) pairs.emplace_back("Evaluation ID", id_text(dispatched.eval_id(), run.verbose()));
  run.out << format_pairs(pairs);
  if (run.arguments.on("detach") || dispatched.eval_id().empty()) return 0;
  run.out << "\n";
  return follow_evaluation(run, dispatched.eval_id());
}

int periodic_force(Run& run) {
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error finding job", job.status());
  v1::ForcePeriodicRequest request;
  request.set_job_id(job->message.job().id());
  auto answer = run.client.call<v1::Periodic::Force>(request);
  if (!answer) return run.fail("Error forcing periodic job \"" + request.job_id() + "\"", answer.status());
  if (run.arguments.on("detach")) run.out << "Force periodic successful\n";
  return follow_evaluation(run, answer->message.eval_id());
}

int job_eval(Run& run) {
  auto job = find_job(run, run.arguments.positional()[0]);
  if (!job) return run.fail("Error finding job", job.status());
  v1::EvaluateJobRequest request;
  request.set_path_job_id(job->message.job().id());
  request.set_job_id(request.path_job_id());
  request.mutable_eval_options()->set_force_reschedule(run.arguments.on("force-reschedule"));
  auto answer = run.client.call<v1::Jobs::Evaluate>(request);
  if (!answer) return run.fail("Error evaluating job", answer.status());
  if (run.arguments.on("detach")) {
    run.out << "Created eval ID: \"" << id_text(answer->message.eval_id(), run.verbose()) << "\"\n";
    return 0;
  }
  return follow_evaluation(run, answer->message.eval_id());
}

}  // namespace

std::vector<Definition> job_dispatch_commands() {
  return {
      {"job dispatch", "Starts a parameterized job with an input.", "<parameterized job> [input source]",
       "  The input source is a file, or \"-\" for standard input; the task finds it where its\n"
       "  dispatch_payload says. The child's ID is printed.\n",
       with_follow_flags({with_value("meta", "", "A key=value for the job's metadata; may be repeated"),
                          with_value("idempotency-token", "", "The same token starts the same child, once"),
                          with_value("id-prefix-template", "", "Text in the child's ID, before the time"),
                          with_value("priority", "", "Priority of the child; the parent's without it")}),
       1, 2, job_dispatch},
      {"job periodic force", "Launches a periodic job now.", "<job>", "", with_follow_flags({}), 1, 1, periodic_force},
      {"job eval", "Has the scheduler look at a job again.", "<job>", "",
       with_follow_flags({on_off("force-reschedule", "Replace allocations that failed for good as well")}), 1, 1,
       job_eval}};
}

}  // namespace drover::cli
