// The handlers of the Jobs service over a state in memory, for their tests.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "drover/api/jobs.pb.h"
#include "drover/json.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/deployment.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "tables.h"

namespace drover::jobs::testing {

class Handlers : public ::testing::Test {
 protected:
  Handlers() {
    host_.rows().add_table(job_counts_table().spec());
    allocs_ = Table<v1::Allocation>(host_.rows().add_table(allocs_table().spec()));
    deployments_ = Table<v1::Deployment>(host_.rows().add_table(deployments_table().spec()));
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(rpc_.start(host_).ok());
  }

  // A job with one group g of two, and what `more` adds to its JSON: `"Type":"batch",`.
  static v1::Job described(const std::string& more = "", const std::string& of_group = "") {
    v1::Job job;
    const Status read = json_to_message("{" + more + R"("ID":"web","TaskGroups":[{"Name":"g","Count":2,)" + of_group +
                                            R"("Tasks":[{"Name":"t","Driver":"raw_exec"}]}]})",
                                        job);
    EXPECT_TRUE(read.ok()) << read.message();
    return job;
  }
  template <typename Response, typename Request>
  Result<Response> ask(const std::string& method, const Request& request) {
    return host_.answer<Response>("/drover.v1.Jobs/" + method, request);
  }
  v1::RegisterJobResponse register_job(const v1::Job& job) {
    v1::RegisterJobRequest request;
    *request.mutable_job() = job;
    const auto answer = ask<v1::RegisterJobResponse>("Register", request);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer ? *answer : v1::RegisterJobResponse();
  }
  v1::DeregisterJobResponse deregister(const std::string& id, bool purge = false) {
    v1::DeregisterJobRequest request;
    request.set_job_id(id);
    request.set_purge(purge);
    const auto answer = ask<v1::DeregisterJobResponse>("Deregister", request);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer ? *answer : v1::DeregisterJobResponse();
  }
  std::optional<v1::Job> job(const std::string& id = "web") {
    return tables_.jobs.get(*host_.snapshot(), job_key("default", id));
  }
  v1::Job version(uint64_t number) {
    return tables_.versions.get(*host_.snapshot(), job_version_key("default", "web", number)).value_or(v1::Job());
  }

  drover::testing::FakeHost host_;
  Table<v1::Allocation> allocs_;
  Table<v1::Deployment> deployments_;
  Tables tables_;
  Rpc rpc_{tables_};
};

}  // namespace drover::jobs::testing
