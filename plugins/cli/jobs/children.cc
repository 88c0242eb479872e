#include "jobs/children.h"

#include "drover/api/jobs.pb.h"
#include "drover/model/job.h"
#include "output.h"

namespace drover::cli {

int show_children(Run& run, const v1::Job& job, const v1::JobSummary& summary) {
  const bool parameterized = is_parameterized(job);
  if (parameterized) {
    const v1::ParameterizedJob& input = job.parameterized_job();
    run.out << "\nParameterized Job\n"
            << format_pairs({{"Payload", input.payload()},
                             {"Required Metadata", joined(input.meta_required(), ", ")},
                             {"Optional Metadata", joined(input.meta_optional(), ", ")}});
  }
  const v1::JobChildrenSummary& children = summary.children();
  run.out << "\nChildren Job Summary\n"
          << format_list({{"Pending", "Running", "Dead"},
                          {std::to_string(children.pending()), std::to_string(children.running()),
                           std::to_string(children.dead())}});
  const std::string prefix = job.id() + (parameterized ? "/dispatch-" : "/periodic-");
  auto jobs = run.client.call<v1::Jobs::List>({}, {{"prefix", prefix}});
  if (!jobs) return run.fail("Error querying job", jobs.status());
  std::vector<std::vector<std::string>> rows = {{"ID", "Status"}};
  for (const v1::JobListStub& child : jobs->message.jobs()) {
    if (child.parent_id() == job.id()) rows.push_back({child.id(), word(child.status())});
  }
  if (rows.size() == 1) {
    run.out << (parameterized ? "\nNo dispatched instances of parameterized job found\n"
                              : "\nNo instances of periodic job found\n");
    return 0;
  }
  run.out << (parameterized ? "\nDispatched Jobs\n" : "\nPreviously Launched Jobs\n") << format_list(rows);
  return 0;
}

}  // namespace drover::cli
