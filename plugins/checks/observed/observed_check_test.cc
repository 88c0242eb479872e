#include "observed/observed_check.h"

#include <gtest/gtest.h>

#include "drover/check_provider.h"
#include "drover/hclspec.h"
#include "drover/json.h"
#include "drover/task_options.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"

#include "drover/v1/check_provider.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::checks {
namespace {

using namespace std::chrono_literals;

// An allocation of group "g" with the tasks "web" and "db", and the port "http" on 10.0.0.7:8080. `services` are JSON.
AllocSpec spec_with(const std::string& of_group, const std::string& of_web) {
  auto job = std::make_shared<v1::Job>();
  EXPECT_TRUE(json_to_message(R"({"ID":"j","Name":"j","TaskGroups":[{"Name":"g","Services":[)" + of_group +
                                  R"(],"Tasks":[{"Name":"web","Services":[)" + of_web + R"(]},{"Name":"db"}]}]})",
                              *job)
                  .ok());
  v1::Allocation alloc;
  alloc.set_id(std::string(16, 'a'));
  alloc.set_name("j.g[0]");
  alloc.set_task_group("g");
  v1::PortMapping& port = *alloc.mutable_allocated_resources()->mutable_shared()->add_ports();
  port.set_label("http");
  port.set_value(8080);
  port.set_to(80);
  port.set_host_ip("10.0.0.7");
  return {std::move(alloc), std::move(job)};
}

std::vector<ObservedCheck> observed(const AllocSpec& spec) {
  const Variables node = {{"attr.kernel.name", "linux"}};
  return observe({.spec = spec, .network = nullptr, .node = node});
}

const std::string kHttp =
    R"({"Name":"a","Type":"http","Path":"/${attr.kernel.name}","Interval":10000000000,"Timeout":2000000000})";
std::string service_with(const std::string& checks, const std::string& more = R"("PortLabel":"http")") {
  return R"({"Name":"s","Provider":"nomad","AddressMode":"auto",)" + more + R"(,"Checks":[)" + checks + "]}";
}

TEST(Observed, AreTheChecksOfTheGroupAndOfItsTasks) {
  const auto found = observed(spec_with(service_with(kHttp), service_with(kHttp)));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].task, "");
  EXPECT_EQ(found[0].inside, "") << "it is restarted as a whole";
  EXPECT_EQ(found[1].task, "web");
  EXPECT_EQ(found[1].inside, "web");
  EXPECT_NE(found[0].id, found[1].id);
  EXPECT_EQ(found[0].problem, "");
  EXPECT_EQ(found[0].address, "10.0.0.7");
  EXPECT_EQ(found[0].port, 8080u);
  EXPECT_EQ(found[0].check->path(), "/linux");
  EXPECT_EQ(found[0].interval, 10s);
  EXPECT_FALSE(found[0].restart);
  EXPECT_EQ(observed(spec_with(service_with(kHttp), service_with(kHttp)))[0].id, found[0].id);
}

TEST(Observed, NameTheTaskThatTheyAreAbout) {
  const std::string script =
      R"({"Name":"a","Type":"script","Command":"/bin/true","TaskName":"db","OnUpdate":"ignore",
          "CheckRestart":{"Limit":3,"Grace":5}})";
  const auto found = observed(spec_with(service_with(script, R"("PortLabel":"nowhere")"), ""));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].inside, "db");
  EXPECT_EQ(found[0].problem, "") << "a script needs no address";
  EXPECT_EQ(found[0].tolerance, Tolerance::failures);
  ASSERT_TRUE(found[0].restart);
  EXPECT_EQ(found[0].restart->limit, 3);
  EXPECT_EQ(found[0].restart->grace, 5ns);
}

TEST(Observed, ThatARegistryRunsNeedNoAddressHere) {
  const std::string check = R"({"Name":"a","Type":"tcp","AddressMode":"driver","Interval":1000000000,
                               "FailuresBeforeCritical":3})";
  std::string service = service_with(check);
  service.replace(service.find("nomad"), 5, "consul");
  const AllocSpec spec = spec_with("", service);
  const Variables node;
  const RunsRemotely runs = [](const std::string& provider, const std::string& type) {
    return provider == "consul" && type == "tcp";
  };
  const auto found = observe({.spec = spec, .network = nullptr, .node = node, .runs_remotely = runs});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_remote);
  EXPECT_EQ(found[0].problem, "");
  EXPECT_EQ(found[0].thresholds.failures, 0) << "the registry counts";
  EXPECT_EQ(found[0].tolerance, Tolerance::nothing);
  EXPECT_EQ(found[0].registry_id.size(), 40u);
}

TEST(Observed, SayWhyTheyCannotRun) {
  const auto found = observed(spec_with(service_with(kHttp, R"("PortLabel":"nowhere")"), ""));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].problem.find("port label not found"), std::string::npos) << found[0].problem;
}

TEST(Observed, OfATaskSayThatTheNetworkTheyAskForIsNotThere) {
  const std::string shared = R"({"Name":"a","Type":"tcp","AddressMode":"alloc","Interval":1000000000})";
  const auto found = observed(spec_with("", service_with(shared)));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].problem.find("unable to get address"), std::string::npos) << found[0].problem;
}

TEST(Observed, UseTheirOwnPortWhereTheServiceHasNone) {
  const std::string own = R"({"Name":"a","Type":"tcp","PortLabel":"http","Interval":1000000000})";
  const auto found = observed(spec_with(service_with(own, R"("PortLabel":"nowhere")"), ""));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].port, 8080u) << found[0].problem;
}

TEST(Observed, RunAlikeUntilTheirPlaceOrTheirOptionsAreOthers) {
  const auto found = [](const std::string& check, const std::string& more) {
    return observed(spec_with(service_with(check, more), ""))[0];
  };
  const auto with_body = [](const std::string& check) { return check.substr(0, check.size() - 1) + R"(,"Body":"x"})"; };
  const std::string by_label = R"("PortLabel":"http")";
  const ObservedCheck before = found(kHttp, by_label);
  EXPECT_TRUE(runs_alike(before, found(kHttp, by_label)));
  EXPECT_FALSE(runs_alike(before, found(kHttp, by_label + R"(,"Address":"10.0.0.8")")));
  const ObservedCheck other = found(with_body(kHttp), by_label);
  EXPECT_EQ(other.id, before.id) << "what is known of it stays";
  EXPECT_FALSE(runs_alike(before, other));
}

TEST(Options, AreWhatTheCheckSaysUnderTheNamesOfTheSchema) {
  v1::ServiceCheck check;
  ASSERT_TRUE(json_to_message(R"({"Name":"a","Type":"x","Path":"/p","Method":"HEAD","TLSSkipVerify":true,
                                  "Header":{"A":["b"]},"Config":{"depth":3}})",
                              check)
                  .ok());
  const v1::CheckType type = check::type("x", "X.",
                                         hclspec::object_of({{"path", "string"},
                                                             {"depth", "number", true},
                                                             {"tls_skip_verify", "bool"}}));
  const auto bytes = encode_options(check, type);
  ASSERT_TRUE(bytes.ok()) << bytes.status().message();
  auto options = TaskOptions::from_msgpack(*bytes);
  EXPECT_EQ(options->text("path"), "/p");
  EXPECT_EQ(options->integer("depth"), 3);
  EXPECT_TRUE(options->boolean("tls_skip_verify"));
  EXPECT_TRUE(options->finish().ok()) << "nothing else";

  check.set_config(R"({"deep":3})");
  const auto wrong = encode_options(check, type);
  EXPECT_NE(wrong.status().message().find("deep"), std::string::npos) << wrong.status().message();
  EXPECT_FALSE(encode_options(check, check::type("y", "Y.", {})).ok()) << "it takes no options";
}

}  // namespace
}  // namespace drover::checks
