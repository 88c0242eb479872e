// Jobs and their node pools.
#include <gtest/gtest.h>

#include "drover/api/plan.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "testing/handlers.h"

namespace drover::jobs {
namespace {

class JobPools : public testing::Handlers {
 protected:
  JobPools() {
    const Table<v1::NodePool> pools(host_.rows().add_table(node_pools_table().spec()));
    host_.commit([&](WriteTransaction& rows) {
      v1::NodePool pool;
      pool.set_name("gpu");
      EXPECT_TRUE(pools.put(rows, pool).ok());
    });
  }
  std::string registered(const std::string& id, const std::string& pool) {
    v1::RegisterJobRequest request;
    *request.mutable_job() = described(R"("NodePool":")" + pool + R"(",)");
    request.mutable_job()->set_id(id);
    return ask<v1::RegisterJobResponse>("Register", request).status().to_string();
  }
  std::string jobs_of(const std::string& pool) {
    v1::ListJobsOfPoolRequest request;
    request.set_name(pool);
    const auto answer = ask<v1::ListJobsResponse>("OfPool", request);
    if (!answer) return answer.status().to_string();
    std::string names;
    for (const v1::JobListStub& job : answer->jobs()) names += job.id() + " ";
    return names;
  }
};

TEST_F(JobPools, AJobIsInAPoolThatIsThere) {
  EXPECT_EQ(registered("a", "gpu"), "ok");
  EXPECT_EQ(registered("b", "all"), "ok");
  EXPECT_EQ(registered("c", ""), "ok");
  EXPECT_EQ(registered("d", "none"), "invalid_argument: job \"d\" is in nonexistent node pool \"none\"");
  EXPECT_NE(registered("e", "a b").find("is no name of a node pool"), std::string::npos);
  EXPECT_EQ(jobs_of("gpu"), "a ");
  EXPECT_EQ(jobs_of("all"), "b ");
  EXPECT_EQ(jobs_of("default"), "c ");
  EXPECT_EQ(jobs_of("none"), "not_found: node pool not found");
}

TEST_F(JobPools, APlanIsOfAPoolThatIsThere) {
  v1::PlanJobRequest request;
  *request.mutable_job() = described(R"("NodePool":"none",)");
  EXPECT_EQ(ask<v1::PlanJobResponse>("Plan", request).status().message(),
            "job \"web\" is in nonexistent node pool \"none\"");
}

}  // namespace
}  // namespace drover::jobs
