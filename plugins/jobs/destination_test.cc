#include "destination.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include "drover/v1/job.pb.h"

namespace drover::jobs {
namespace {

constexpr const char* kElsewhere =
    "failed_precondition: No path to region \"mars\", which the job names; this is the region \"eu\"";

TEST(Destination, WhatTheCallNamesStandsBeforeWhatTheJobNames) {
  const struct {
    const char *of_call, *of_job, *expected;  // region/namespace
  } cases[] = {
      {"/default", "/", "eu/default"},
      {"/default", "eu/", "eu/default"},
      {"/default", "global/", "eu/default"},
      {"/default", "mars/", kElsewhere},
      {"eu/default", "mars/", "eu/default"},
      {"eu/default", "/", "eu/default"},
      {"/default", "/prod", "eu/prod"},
      {"/prod", "/", "eu/prod"},
      {"/prod", "/dev", "eu/prod"},
      {"/prod", "/default", "eu/prod"},
      {"/prod", "/prod", "eu/prod"},
      {"/", "/dev", "eu/dev"},
      {"/", "/", "eu/default"},
  };
  const auto split = [](std::string_view text) {
    const size_t slash = text.find('/');
    return std::pair(std::string(text.substr(0, slash)), std::string(text.substr(slash + 1)));
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.of_call) + " and " + c.of_job);
    v1::Job job;
    QueryOptions query;
    std::tie(query.region, query.name_space) = split(c.of_call);
    const auto [region, name_space] = split(c.of_job);
    job.set_region(region);
    job.set_namespace_(name_space);
    const Status settled = resolve_destination(job, query, "eu");
    EXPECT_EQ(c.expected, settled.ok() ? job.region() + "/" + job.namespace_() : settled.to_string());
  }
}

}  // namespace
}  // namespace drover::jobs
