#include "entry.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/api/acl.pb.h"
#include "drover/api/jobs.pb.h"
#include "drover/api/variables.pb.h"
#include "drover/v1/acl.pb.h"
#include "drover/v1/job.pb.h"

namespace drover::audit {
namespace {

using Json = nlohmann::json;

const google::protobuf::MethodDescriptor* find_method(const std::string& service, const std::string& name) {
  const auto* found = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName("drover.v1." + service);
  return found ? found->FindMethodByName(name) : nullptr;
}
Audited of(const std::string& service, const std::string& name) { return *audited(*find_method(service, name)); }

TEST(Entry, SaysWhoAskedForWhat) {
  v1::RegisterJobRequest request;
  request.mutable_job()->set_id("web");
  CallContext context;
  context.identity = {Identity::Kind::token, "accessor"};
  context.remote_address = "10.0.0.7:4242";
  context.query.name_space = "prod";
  context.query.token = "SECRET";
  context.node_secret = "SECRET";
  const std::string line = line_of(of("Jobs", "Register"), context, request.SerializeAsString(),
                                   permission_denied("SECRET"), "global", 1'700'000'000'000'000'000);
  EXPECT_TRUE(line.ends_with("}\n"));
  EXPECT_EQ(line.find("SECRET"), std::string::npos) << line;
  const Json said = Json::parse(line);
  EXPECT_EQ(said["time"], "2023-11-14T22:13:20Z");
  EXPECT_EQ(said["method"], "Jobs.Register");
  EXPECT_EQ(said["operation"], "PUT");
  EXPECT_EQ(said["endpoint"], "/v1/jobs");
  EXPECT_EQ(said["identity"], Json::parse(R"({"kind":"token","name":"accessor"})"));
  EXPECT_EQ(said["address"], "10.0.0.7:4242");
  EXPECT_EQ(said["namespace"], "prod");
  EXPECT_EQ(said["region"], "global");
  EXPECT_EQ(said["object"]["id"], "web");
  EXPECT_EQ(said["outcome"], "denied");
  EXPECT_EQ(said["code"], "permission_denied");
}

TEST(Entry, HasNoSecretsOfTheRequest) {
  v1::ApplyAclTokenRequest token;
  token.mutable_token()->set_secret_id(std::string(16, 'S'));
  token.mutable_token()->set_name("ci");
  token.mutable_token()->set_accessor_id(std::string(16, 'a'));
  const auto of_token = object_of(of("Acl", "ApplyToken"), token.SerializeAsString());
  EXPECT_EQ(of_token.at("name"), "ci");
  EXPECT_EQ(of_token.at("accessor_id"), "61616161-6161-6161-6161-616161616161");
  EXPECT_FALSE(of_token.contains("secret_id"));
  v1::ApplyVariableRequest variable;
  variable.set_path("a/b");
  variable.mutable_variable()->set_items("{\"password\":\"SECRET\"}");
  for (const auto& [name, value] : object_of(of("Variables", "Apply"), variable.SerializeAsString()))
    EXPECT_EQ(value.find("SECRET"), std::string::npos) << name;
  v1::ExchangeOneTimeTokenRequest exchange;
  exchange.set_one_time_secret_id(std::string(16, 'S'));
  EXPECT_TRUE(object_of(of("Acl", "ExchangeOneTimeToken"), exchange.SerializeAsString()).empty());
}

TEST(Entry, SurvivesWhatIsNoRequest) {
  EXPECT_TRUE(object_of(of("Jobs", "Register"), "\xff\xff").empty());
  CallContext context;
  context.identity.name = "\xff";
  EXPECT_TRUE(Json::accept(line_of(of("Jobs", "Get"), context, "", ok_status(), "r", 0)));
}

TEST(Audited, AreMethodsOfTheApi) {
  EXPECT_FALSE(audited(*find_method("Acl", "WhoAmI")));
  const Audited token = of("Acl", "ApplyToken");
  ASSERT_EQ(token.forms.size(), 2u);
  EXPECT_EQ(token.forms[1].path, "/v1/acl/token/{accessor_id}");
}

TEST(Filter, LeavesOutEndpoints) {
  const struct {
    Filter filter;
    HttpForm form;
    bool is_out;
  } cases[] = {{{{"/v1/metrics"}, {}}, {"/v1/metrics", {"GET"}}, true},
               {{{"/v1/metrics"}, {}}, {"/v1/metrics/x", {"GET"}}, false},
               {{{"/v1/*"}, {"GET"}}, {"/v1/jobs", {"GET"}}, true},
               {{{"/v1/*"}, {"GET"}}, {"/v1/jobs", {"PUT"}}, false},
               {{{"*"}, {"*"}}, {"/v1/job/{job_id=**}", {"DELETE"}}, true},
               {{{"*"}, {"POST"}}, {"/v1/jobs/parse", {"PUT", "POST"}}, true},
               {{{"*"}, {"POST"}}, {"/v1/var/x", {"PUT"}}, false},
               {{{}, {}}, {"/v1/jobs", {"GET"}}, false}};
  for (const auto& c : cases) EXPECT_EQ(c.filter.leaves_out(c.form), c.is_out) << c.form.path;
}

}  // namespace
}  // namespace drover::audit
