#include <gtest/gtest.h>

#include "drover/api/plan.pb.h"
#include "sdk/testing/memory_rows.h"
#include "testing/handlers.h"

namespace drover::jobs {
namespace {

TEST(Versions, TheNewestStayAndTheNewestStableAndAllWithATag) {
  const struct {
    const char* name;
    std::string versions;  // the newest first: . plain, s stable, t tagged
    std::string going;     // by their places, the newest is a
  } cases[] = {
      {"few", "...", ""},
      {"as many as are tracked", "......", ""},
      {"one more", ".......", "g"},
      {"the stable one is old", "........s.", "ghj"},
      {"a newer stable one stands for it", "..s......s", "ghij"},
      {"a tag keeps, beyond the number", "t......t.", "i"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    std::vector<KeptVersion> kept;
    for (const char version : c.versions) {
      kept.push_back({std::string(1, static_cast<char>('a' + kept.size())), version == 's', version == 't'});
    }
    std::string going;
    for (const std::string& key : superfluous(kept)) going += key;
    EXPECT_EQ(c.going, going);
  }
}

class Stability : public ::testing::Test {
 protected:
  Stability() {
    EXPECT_TRUE(declare_tables(rows_, tables_).ok());
    write(1, 1);
    write(2, 2);
  }
  void write(uint64_t index, int priority) {
    v1::JobRegistered command;
    command.mutable_job()->set_namespace_("default");
    command.mutable_job()->set_id("web");
    command.mutable_job()->set_priority(priority);
    EXPECT_TRUE(rows_.apply(command, index).ok());
  }
  void mark(uint64_t version, bool stable, uint64_t index) {
    v1::JobStabilityChanged command;
    command.set_namespace_("default");
    command.set_job_id("web");
    command.set_job_version(version);
    command.set_stable(stable);
    EXPECT_TRUE(rows_.apply(command, index).ok());
  }
  v1::Job version(uint64_t number) { return *tables_.versions.get(rows_, job_version_key("default", "web", number)); }
  v1::Job current() { return *tables_.jobs.get(rows_, job_key("default", "web")); }

  drover::testing::MemoryRows rows_;
  Tables tables_;
};

TEST_F(Stability, OfTheCurrentVersionIsTheJobs) {
  mark(1, true, 3);
  EXPECT_TRUE(current().stable());
  EXPECT_TRUE(version(1).stable());
  EXPECT_FALSE(version(0).stable());
  EXPECT_EQ(3U, current().modify_index());
  EXPECT_EQ(2U, current().job_modify_index()) << "the description is the same";
  mark(1, false, 4);
  EXPECT_FALSE(current().stable());
  EXPECT_FALSE(version(1).stable());
}

TEST_F(Stability, OfAnEarlierVersionIsThatVersionsOnly) {
  mark(0, true, 3);
  EXPECT_TRUE(version(0).stable());
  EXPECT_FALSE(current().stable());
  EXPECT_EQ(2U, current().modify_index());
}

TEST_F(Stability, WhatChangesNothingWritesNothing) {
  mark(0, false, 3);
  mark(7, true, 4);
  EXPECT_EQ(2U, rows_.table_index(tables_.versions.id()));
  EXPECT_EQ(2U, rows_.table_index(tables_.jobs.id()));
}

class Versioned : public testing::Handlers {
 protected:
  // Versions 0, 1 and 2 with priorities 51 to 53.
  Versioned() {
    for (int priority = 51; priority <= 53; ++priority)
      register_job(described("\"Priority\":" + std::to_string(priority) + ","));
  }
  Result<v1::RegisterJobResponse> revert(uint64_t version, std::optional<uint64_t> prior = {}) {
    v1::RevertJobRequest request;
    request.set_path_job_id("web");
    request.set_job_id("web");
    request.set_job_version(version);
    if (prior) request.set_enforce_prior_version(*prior);
    return ask<v1::RegisterJobResponse>("Revert", request);
  }
  void mark_stable(uint64_t version) {
    v1::JobStabilityChanged command;
    command.set_namespace_("default");
    command.set_job_id("web");
    command.set_job_version(version);
    command.set_stable(true);
    EXPECT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  }
  Result<v1::TagJobVersionResponse> tag(const std::string& name, uint64_t version, bool latest = false) {
    v1::TagJobVersionRequest request;
    request.set_job_id("web");
    request.set_name(name);
    request.set_version(version);
    request.set_description("of the test");
    request.set_latest(latest);
    return ask<v1::TagJobVersionResponse>("TagVersion", request);
  }
  Result<v1::TagJobVersionResponse> untag(const std::string& name) {
    v1::UntagJobVersionRequest request;
    request.set_job_id("web");
    request.set_name(name);
    return ask<v1::TagJobVersionResponse>("UntagVersion", request);
  }
};

TEST_F(Versioned, AnEarlierOneBecomesTheNewest) {
  mark_stable(0);
  const auto answer = revert(0);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(3U, job()->version());
  EXPECT_EQ(51, job()->priority());
  EXPECT_FALSE(job()->stable()) << "the new version has yet to prove itself";
  EXPECT_TRUE(version(0).stable());
  EXPECT_EQ(answer->job_modify_index(), job()->job_modify_index());
  EXPECT_EQ(answer->eval_id(), host_.rows().told<v1::EvalsUpdated>().back().evaluations(0).id());
}

TEST_F(Versioned, RevertingIsRefusedWhereItMakesNoSense) {
  EXPECT_EQ("can't revert to current version", revert(2).status().message());
  EXPECT_EQ("job \"web\" in namespace \"default\" at version 9 not found", revert(9).status().message());
  EXPECT_EQ("Current job has version 2; enforcing version 1", revert(0, 1).status().message());
  EXPECT_EQ(2U, job()->version());
  EXPECT_TRUE(revert(0, 2).ok());
  v1::RevertJobRequest request;
  request.set_path_job_id("web");
  EXPECT_EQ("JobID must be specified", ask<v1::RegisterJobResponse>("Revert", request).status().message());
  request.set_job_id("db");
  EXPECT_EQ("Job ID does not match", ask<v1::RegisterJobResponse>("Revert", request).status().message());
  request.set_path_job_id("db");
  EXPECT_EQ("job \"db\" not found", ask<v1::RegisterJobResponse>("Revert", request).status().message());
}

TEST_F(Versioned, AStoppedJobStartsAgainByGoingBack) {
  deregister("web");
  EXPECT_TRUE(job()->stop());
  EXPECT_TRUE(revert(2).ok());
  EXPECT_FALSE(job()->stop());
  EXPECT_TRUE(revert(3).ok()) << "and stops by going back to the version that was stopped";
  EXPECT_TRUE(job()->stop());
}

TEST_F(Versioned, AMarkNeedsItsVersion) {
  v1::JobStabilityRequest request;
  request.set_path_job_id("web");
  request.set_job_id("web");
  request.set_job_version(1);
  request.set_stable(true);
  EXPECT_TRUE(ask<v1::JobStabilityResponse>("Stable", request).ok());
  EXPECT_TRUE(version(1).stable());
  request.set_job_version(8);
  EXPECT_EQ("job \"web\" in namespace \"default\" at version 8 not found",
            ask<v1::JobStabilityResponse>("Stable", request).status().message());
}

TEST_F(Versioned, ANameBelongsToOneVersionAndKeepsIt) {
  const auto answer = tag("golden", 0);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ("of the test", version(0).version_tag().description());
  EXPECT_EQ(answer->tagged_time(), version(0).version_tag().tagged_time());
  EXPECT_EQ("tag \"golden\" already exists on a different version of job \"web\"", tag("golden", 1).status().message());
  EXPECT_TRUE(tag("golden", 0).ok()) << "the same again";
  EXPECT_EQ("job \"web\" version 7 not found", tag("silver", 7).status().message());
  for (int priority = 60; priority < 70; ++priority)
    register_job(described("\"Priority\":" + std::to_string(priority) + ","));
  EXPECT_EQ("web", version(0).id());
  EXPECT_EQ("", version(1).id());
  EXPECT_TRUE(untag("golden").ok());
  EXPECT_EQ("tag \"golden\" not found on job \"web\"", untag("golden").status().message());
  register_job(described("\"Priority\":70,"));
  EXPECT_EQ("", version(0).id()) << "without its name it goes with the others";
}

TEST_F(Versioned, TheNameOfTheNewestIsNoNewVersion) {
  EXPECT_TRUE(tag("golden", 0, true).ok());
  EXPECT_EQ("golden", job()->version_tag().name());
  register_job(described("\"Priority\":53,"));
  EXPECT_EQ(2U, job()->version());
  deregister("web");
  EXPECT_FALSE(job()->has_version_tag());
  EXPECT_EQ("golden", version(2).version_tag().name());
}

TEST_F(Versioned, DiffsAreToTheOneBeforeOrToTheOneThatIsNamed) {
  EXPECT_TRUE(tag("first", 0).ok());
  v1::JobVersionsRequest request;
  request.set_job_id("web");
  request.set_diffs(true);
  const auto old_priorities = [&] {
    const auto answer = ask<v1::JobVersionsResponse>("Versions", request);
    if (!answer) return std::string(answer.status().message());
    std::string text;
    for (const v1::JobDiff& diff : answer->diffs()) text += (diff.fields().empty() ? "-" : diff.fields(0).old()) + " ";
    return text;
  };
  EXPECT_EQ("52 51 ", old_priorities());
  request.set_diff_version(1);
  EXPECT_EQ("52 - 52 ", old_priorities());
  request.set_diff_tag("first");
  EXPECT_EQ("51 51 - ", old_priorities());
  request.set_diff_tag("second");
  EXPECT_EQ("tag \"second\" not found", old_priorities());
  request.clear_diff_tag();
  request.set_diff_version(5);
  EXPECT_EQ("version 5 not found", old_priorities());
}

}  // namespace
}  // namespace drover::jobs
