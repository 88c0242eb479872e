#include "drover/tables.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "drover/v1/job.pb.h"

namespace drover {
namespace {

TEST(ChangedRow, AllWhoAskShareOneMessage) {
  v1::Job job;
  job.set_id("web");
  const std::string bytes = serialize(job);
  const ChangedRow row(bytes);
  std::vector<const v1::Job*> seen(8);
  {
    std::vector<std::jthread> threads;
    for (const v1::Job*& found : seen) threads.emplace_back([&] { found = &row.as<v1::Job>(); });
  }
  for (const v1::Job* found : seen) EXPECT_EQ(found, seen[0]);
  EXPECT_EQ(seen[0]->id(), "web");
  EXPECT_EQ(row.bytes(), bytes);
}

}  // namespace
}  // namespace drover
