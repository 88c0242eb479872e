// One input through everything that reads job files from outside: HCL and JSON, the API's form, defaults, rules, diff.
// Built into jobspec_golden_test, which feeds it mutations of its job files; links against libFuzzer as it stands.
#include <cstddef>
#include <cstdint>

#include "drover/api/plan.pb.h"
#include "drover/json.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/trial.pb.h"
#include "plugins/jobs/canonical.h"
#include "plugins/jobs/diff.h"
#include "plugins/jobs/implied.h"
#include "plugins/jobs/validate.h"
#include "plugins/jobspec/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace drover;
  const std::string text(reinterpret_cast<const char*>(data), size);
  v1::Job job;
  (void)json_to_message(text, job);  // the API's own decoder, whatever the text is
  JobParser::Options options{.file_name = "fuzz"};
  options.variables.push_back({JobParser::Assignment::Source::file, "fuzz.vars", text});
  Result<JobParser::Parsed> parsed = jobspec::Parser().parse(text, options);
  if (!parsed) parsed = jobspec::Parser().parse(text, {.file_name = "fuzz"});
  if (!parsed) return 0;
  job.Clear();
  if (!json_to_message(parsed->json, job).ok()) return 0;
  jobs::canonicalize(job);
  (void)jobs::validate(job);
  jobs::add_implied_constraints(job);
  const std::string once = message_to_json(job);
  jobs::canonicalize(job);
  jobs::add_implied_constraints(job);
  DROVER_CHECK(message_to_json(job) == once);
  v1::JobDiff none = jobs::diff_jobs(&job, &job);
  DROVER_CHECK(none.type() == v1::DIFF_TYPE_NONE);
  v1::JobDiff all = jobs::diff_jobs(nullptr, &job);
  jobs::annotate(all, {});
  return 0;
}
