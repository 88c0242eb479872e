#include "jobs/job_list.h"

#include "drover/api/jobs.pb.h"
#include "output.h"

namespace drover::cli {

std::vector<std::vector<std::string>> job_rows(const google::protobuf::RepeatedPtrField<v1::JobListStub>& jobs,
                                               bool with_namespaces) {
  std::vector<std::vector<std::string>> rows = {{"ID", "Type", "Priority", "Status", "Submit Date"}};
  if (with_namespaces) rows[0].insert(rows[0].begin() + 1, "Namespace");
  for (const v1::JobListStub& job : jobs) {
    std::vector<std::string> row = {job.id(), job.type(), std::to_string(job.priority()),
                                    word(job.status()) + (job.stop() ? " (stopped)" : ""),
                                    full_time(job.submit_time())};
    if (with_namespaces) row.insert(row.begin() + 1, job.namespace_());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace drover::cli
