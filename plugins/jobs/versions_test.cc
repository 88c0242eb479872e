#include <gtest/gtest.h>

#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/job_counts.pb.h"
#include "sdk/testing/memory_rows.h"
#include "tables.h"

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

}  // namespace
}  // namespace drover::jobs
