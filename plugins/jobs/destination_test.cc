#include "destination.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include "drover/json.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/namespace.pb.h"

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

TEST(Capabilities, SayWhatAJobMayUse) {
  const struct {
    const char* name;
    const char* capabilities;
    const char* expected;
  } cases[] = {
      {"nothing said", "", ""},
      {"enabled", R"("EnabledTaskDrivers":["exec","java","docker"])", ""},
      {"not enabled", R"("EnabledTaskDrivers":["exec"])",
       R"(used task drivers ["java" "docker" "java"] are not allowed in namespace "prod")"},
      {"disabled", R"("DisabledTaskDrivers":["docker"])",
       R"(used task driver "docker" is not allowed in namespace "prod")"},
      {"both: disabled", R"("EnabledTaskDrivers":["exec","java","docker"],"DisabledTaskDrivers":["docker"])",
       R"(used task driver "docker" is not allowed in namespace "prod")"},
      {"another is enabled", R"("EnabledNetworkModes":["bridge"])",
       R"(used group network modes ["host" "cni/a"] are not allowed in namespace "prod")"},
      {"one mode", R"("DisabledNetworkModes":["cni/a","none"])",
       R"(used group network mode "cni/a" is not allowed in namespace "prod")"},
      {"both kinds", R"("DisabledTaskDrivers":["docker"],"DisabledNetworkModes":["bridge"])",
       "used task driver \"docker\" is not allowed in namespace \"prod\"|"
       "used group network mode \"bridge\" is not allowed in namespace \"prod\""},
  };
  v1::Job job;
  ASSERT_TRUE(json_to_message(R"({"ID":"web","Namespace":"prod","TaskGroups":[
      {"Networks":[{}],"Tasks":[{"Driver":"exec"},{"Driver":"java"}]},
      {"Networks":[{"Mode":"bridge"}],"Tasks":[{"Driver":"docker"}]},
      {"Networks":[{"Mode":"cni/a"}],"Tasks":[{"Driver":"java"}]}]})",
                              job)
                  .ok());
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    v1::Namespace name_space;
    const std::string json = R"({"Name":"prod","Capabilities":{)" + std::string(c.capabilities) + "}}";
    ASSERT_TRUE(json_to_message(json, name_space).ok());
    std::string said;
    for (const std::string& refusal : refused_by(&name_space, job)) said += (said.empty() ? "" : "|") + refusal;
    EXPECT_EQ(said, c.expected);
  }
  EXPECT_EQ(refused_by(nullptr, job), std::vector<std::string>{"job \"web\" is in nonexistent namespace \"prod\""});
}

}  // namespace
}  // namespace drover::jobs
