#include "services/plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "drover/v1/service_provider.pb.h"

namespace drover::consul {
namespace {

using Json = nlohmann::json;

constexpr const char* kNode = "n1";
const std::string kId = "_nomad-task-a-group-g-web-http";
const std::string kCheck = "_nomad-check-c1";

v1::ServiceInstance instance() {
  v1::ServiceInstance out;
  out.set_id(kId);
  out.set_service("web");
  out.set_address("10.0.0.7");
  out.set_port(8080);
  out.add_tags("a");
  out.add_tags("b");
  (*out.mutable_meta())["owner"] = "ada";
  (*out.mutable_tagged_addresses())["wan"] = "192.0.2.1:80";
  v1::InstanceCheck& check = *out.add_checks();
  check.set_id("c1");
  check.set_name("alive");
  check.set_type("tcp");
  check.set_address("10.0.0.7");
  check.set_port(8080);
  check.mutable_interval()->set_seconds(10);
  check.mutable_timeout()->set_seconds(2);
  return out;
}

WantedService wanted(const v1::ServiceInstance& from = instance()) {
  auto out = wanted_service(from, kNode);
  EXPECT_TRUE(out.ok()) << out.status().message();
  return out.value_or({});
}

// As Consul tells of it, once it is registered.
Known registered(const WantedService& what) {
  Known out;
  KnownService& service = out.services[what.service.id] = what.service;
  service.tagged_addresses["lan_ipv4"] = {.address = service.address, .port = service.port};
  for (const auto& [id, check] : what.checks)
    out.checks[id] = {.id = id, .name = "alive", .service_id = what.service.id, .status = "passing", .output = ""};
  return out;
}

std::string text_of(const std::vector<Operation>& operations) {
  static constexpr const char* kWords[] = {"-service ", "+service ", "-check ", "+check "};
  std::string out;
  for (const Operation& each : operations)
    out += (out.empty() ? "" : ", ") + std::string(kWords[static_cast<size_t>(each.kind)]) + each.id;
  return out;
}

TEST(Plan, MakesConsulSayWhatTheNodeWants) {
  struct Case {
    const char* name;
    std::function<void(Known&)> change;
    std::string operations;
  };
  const auto service = [](Known& known) -> KnownService& { return known.services.at(kId); };
  const Case cases[] = {
      {"nothing is other", [](Known&) {}, ""},
      {"all is lost", [](Known& k) { k = {}; }, "+service " + kId},
      {"a check is lost", [](Known& k) { k.checks.clear(); }, "+check " + kCheck},
      {"other tags", [&](Known& k) { service(k).tags = {"a", "x"}; }, "+service " + kId},
      {"the same tags in another order", [&](Known& k) { service(k).tags = {"b", "a"}; }, ""},
      {"another port", [&](Known& k) { service(k).port = 1; }, "+service " + kId},
      {"another address", [&](Known& k) { service(k).address = "x"; }, "+service " + kId},
      {"another name", [&](Known& k) { service(k).name = "x"; }, "+service " + kId},
      {"more meta", [&](Known& k) { service(k).meta["x"] = "y"; }, "+service " + kId},
      {"another weight", [&](Known& k) { service(k).passing_weight = 5; }, "+service " + kId},
      {"a tagged address is gone", [&](Known& k) { service(k).tagged_addresses.erase("wan"); }, "+service " + kId},
      {"override is off", [&](Known& k) { service(k).has_tag_override = true; }, "+service " + kId},
      {"a check that nobody wants",
       [](Known& k) { k.checks["_nomad-check-x"] = {.id = "_nomad-check-x", .service_id = kId}; },
       "-check _nomad-check-x"},
      {"a check that a person added to it", [](Known& k) { k.checks["mine"] = {.id = "mine", .service_id = kId}; }, ""},
      {"its own that nobody wants",
       [](Known& k) {
         k.services["_nomad-task-old"] = {.id = "_nomad-task-old", .meta = {{kNodeMeta, kNode}}};
       },
       "-service _nomad-task-old"},
      {"the same of another node",
       [](Known& k) {
         k.services["_nomad-task-old"] = {.id = "_nomad-task-old", .meta = {{kNodeMeta, "n2"}}};
       },
       ""},
      {"one that another program named so",
       [](Known& k) {
         k.services["_nomad-task-x"] = {.id = "_nomad-task-x"};
       },
       ""},
      {"the agent's own", [](Known& k) { k.services["_nomad-client-x"] = {.meta = {{kNodeMeta, kNode}}}; }, ""},
      {"a foreign one and its check",
       [](Known& k) {
         k.services["web"] = {.id = "web", .name = "web"};
         k.checks["_nomad-check-x"] = {.id = "_nomad-check-x", .service_id = "web"};
       },
       ""},
  };
  const WantedService want = wanted();
  for (const Case& each : cases) {
    Known known = registered(want);
    each.change(known);
    EXPECT_EQ(text_of(plan({.node_id = kNode, .services = {{kId, want}}}, known, {})), each.operations) << each.name;
  }
}

TEST(Plan, KeepsWhatItDoesNotKnowWhileItIsYoung) {
  Known known = registered(wanted());
  Remembered before{.tags = {}, .is_young = true};
  EXPECT_EQ(text_of(plan({.node_id = kNode}, known, before)), "");
  before.tags[kId] = {};
  EXPECT_EQ(text_of(plan({.node_id = kNode}, known, before)), "-service " + kId) << "it is taken out on purpose";
  EXPECT_EQ(text_of(plan({.node_id = kNode}, known, {})), "-service " + kId);
}

TEST(Plan, LeavesTagsToOthersWhereTheJobSaysSo) {
  v1::ServiceInstance from = instance();
  from.set_enable_tag_override(true);
  const WantedService want = wanted(from);
  Known known = registered(want);
  known.services.at(kId).tags = {"by hand"};
  const Wanted all{.node_id = kNode, .services = {{kId, want}}};
  EXPECT_EQ(text_of(plan(all, known, {})), "");
  EXPECT_EQ(text_of(plan(all, known, {.tags = {{kId, {"b", "a"}}}})), "") << "the job says what it said";
  EXPECT_EQ(text_of(plan(all, known, {.tags = {{kId, {"other"}}}})), "+service " + kId) << "the job was changed";
  known.services.at(kId).port = 1;
  const auto operations = plan(all, known, {});
  ASSERT_EQ(text_of(operations), "+service " + kId);
  EXPECT_EQ(Json::parse(operations[0].body)["Tags"], Json({"by hand"}));
}

TEST(Plan, RegistersWhatConsulReads) {
  const auto operations = plan({.node_id = kNode, .services = {{kId, wanted()}}}, {}, {});
  ASSERT_EQ(operations.size(), 1u);
  const Json body = Json::parse(operations[0].body);
  const Json expected = Json::parse(R"({"ID":"_nomad-task-a-group-g-web-http","Name":"web","Tags":["a","b"],
    "Address":"10.0.0.7","Port":8080,"Meta":{"drover-node":"n1","external-source":"nomad","owner":"ada"},
    "TaggedAddresses":{"wan":{"Address":"192.0.2.1","Port":80}},"EnableTagOverride":false,
    "Weights":{"Passing":1,"Warning":1},"Checks":[{"CheckID":"_nomad-check-c1","Name":"alive","TCP":"10.0.0.7:8080",
    "Interval":"10000ms","Timeout":"2000ms"}]})");
  EXPECT_EQ(body, expected) << body.dump(1);
}

TEST(Registration, DescribesEveryKindOfCheck) {
  struct Case {
    std::function<void(v1::InstanceCheck&)> change;
    const char* expected;  // beside ID, Name and ServiceID
  };
  const Case cases[] = {
      {[](v1::InstanceCheck& c) {
         c.set_type("http");
         c.set_path("health?x=1");
         c.set_method("HEAD");
         c.set_header(R"({"A":["b"]})");
         c.set_body("text");
         c.set_initial_status("warning");
         c.set_success_before_passing(2);
         c.set_failures_before_critical(3);
       },
       R"({"HTTP":"http://10.0.0.7:8080/health?x=1","Method":"HEAD","Header":{"A":["b"]},"Body":"text",
           "Status":"warning","SuccessBeforePassing":2,"FailuresBeforeCritical":3,"Interval":"10000ms",
           "Timeout":"2000ms"})"},
      {[](v1::InstanceCheck& c) {
         c.set_type("http");
         c.set_protocol("https");
         c.set_path("/");
         c.set_tls_skip_verify(true);
         c.set_address("::1");
       },
       R"({"HTTP":"https://[::1]:8080/","TLSSkipVerify":true,"Interval":"10000ms","Timeout":"2000ms"})"},
      {[](v1::InstanceCheck& c) {
         c.set_type("grpc");
         c.set_grpc_service("shop");
       },
       R"({"GRPC":"10.0.0.7:8080/shop","GRPCUseTLS":false,"Interval":"10000ms","Timeout":"2000ms"})"},
      {[](v1::InstanceCheck& c) { c.set_type("script"); }, R"({"TTL":"41000ms"})"},
      {[](v1::InstanceCheck& c) { c.set_type("redis"); }, R"({"TTL":"41000ms"})"},
      {[](v1::InstanceCheck& c) { c.clear_address(); },
       R"({"TCP":"127.0.0.1:8080","Interval":"10000ms","Timeout":"2000ms"})"},
  };
  for (const Case& each : cases) {
    v1::ServiceInstance from = instance();
    each.change(*from.mutable_checks(0));
    Json expected = Json::parse(each.expected);
    expected["ID"] = kCheck;
    expected["Name"] = "alive";
    expected["ServiceID"] = kId;
    const Json found = Json::parse(wanted(from).checks.at(kCheck).body);
    EXPECT_EQ(found, expected) << found.dump(1);
  }
}

TEST(Registration, ReadsTaggedAddresses) {
  const std::pair<const char*, TaggedAddress> cases[] = {{"10.0.0.1", {"10.0.0.1", 8080}},
                                                         {"10.0.0.1:9", {"10.0.0.1", 9}},
                                                         {"::1", {"::1", 8080}},
                                                         {"[::1]:9", {"::1", 9}},
                                                         {"[::1]", {"::1", 8080}}};
  for (const auto& [text, expected] : cases) {
    v1::ServiceInstance from = instance();
    (*from.mutable_tagged_addresses())["wan"] = text;
    EXPECT_EQ(wanted(from).service.tagged_addresses.at("wan"), expected) << text;
  }
  v1::ServiceInstance from = instance();
  (*from.mutable_tagged_addresses())["wan"] = "x:y";
  const auto wrong = wanted_service(from, kNode);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.status().message(), "tagged_addresses: wan: \"x:y\" has no port behind its colon");
}

}  // namespace
}  // namespace drover::consul
