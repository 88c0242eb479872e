#include "volumes/coming_claims.h"

#include <gtest/gtest.h>

#include "testing/storage_world.h"

namespace drover::scheduler {
namespace {

using testing::ask_volume;
using testing::id_of;
using testing::make_alloc;
using testing::make_job;

// "volume: claimants" by volume.
std::string text(const ComingClaims& claims) {
  std::string text;
  const auto all = claims.all();
  if (!all) return text;
  for (const auto& [volume, of_it] : *all) {
    text += text.empty() ? volume.second : " " + volume.second;
    for (const v1::CsiClaim& claim : of_it) text += ":" + claim.alloc_id().substr(5, 1);
  }
  return text;
}

v1::CsiClaim claim_of(const v1::Allocation& alloc, const std::string& volume) {
  v1::CsiClaim claim;
  claim.set_namespace_(alloc.namespace_());
  claim.set_volume_id(volume);
  claim.set_alloc_id(alloc.id());
  return claim;
}

TEST(ComingClaims, AreThereFromThePlacementToTheClaim) {
  v1::Job job = make_job();
  ask_volume(*job.mutable_task_groups(0), "data").set_per_alloc(true);
  ask_volume(*job.mutable_task_groups(0), "logs", "multi-node-multi-writer", "w").set_read_only(true);
  ComingClaims claims;
  const v1::Allocation first = make_alloc(job, 0, "n1"), second = make_alloc(job, 1, "n1");
  claims.put(first);
  EXPECT_EQ(text(claims), "") << "of a job that nobody knows";
  claims.put_job(job);
  claims.put(first);
  claims.put(second);
  EXPECT_EQ(text(claims), "data[0]:0 data[1]:1 logs:0:1");
  claims.put(first);
  EXPECT_EQ(text(claims), "data[0]:0 data[1]:1 logs:1:0") << "once";
  const v1::CsiClaim& logs = claims.all()->at({"default", "logs"})[0];
  EXPECT_TRUE(logs.read_only());
  EXPECT_EQ(logs.access_mode(), "multi-node-multi-writer");
  EXPECT_EQ(logs.node_id(), id_of("n1"));

  claims.made(claim_of(first, "data[0]"));
  EXPECT_EQ(text(claims), "data[1]:1 logs:1:0");
  claims.erase(second.id());
  EXPECT_EQ(text(claims), "logs:0");
  claims.made(claim_of(first, "logs"));
  EXPECT_EQ(claims.all(), nullptr);
}

TEST(ComingClaims, OfAVersionWithoutVolumesThereAreNone) {
  v1::Job job = make_job();
  ComingClaims claims;
  claims.put_job(job);
  v1::Job next = job;
  next.set_version(1);
  ask_volume(*next.mutable_task_groups(0), "data");
  claims.put_job(next);
  claims.put(make_alloc(job, 0, "n1"));
  claims.put(make_alloc(next, 1, "n1"));
  EXPECT_EQ(text(claims), "data:1");
  claims.erase_job(next);
  claims.put(make_alloc(next, 2, "n1"));
  EXPECT_EQ(text(claims), "data:1");
}

TEST(ComingClaims, WhoeverLooksHasThemAsTheyWere) {
  v1::Job job = make_job();
  ask_volume(*job.mutable_task_groups(0), "data");
  ComingClaims claims;
  claims.put_job(job);
  claims.put(make_alloc(job, 0, "n1"));
  const auto before = claims.all();
  claims.put(make_alloc(job, 1, "n1"));
  EXPECT_EQ(before->at({"default", "data"}).size(), 1U);
  claims.clear_but({make_alloc(job, 1, "n1").id()});
  EXPECT_EQ(text(claims), "data:1");
  EXPECT_EQ(before->at({"default", "data"}).size(), 1U);
}

}  // namespace
}  // namespace drover::scheduler
