#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "drover/api/services.pb.h"
#include "drover/node_calls.h"
#include "job_functions.h"
#include "sdk/testing/fake_host.h"
#include "services/service_watch.h"

namespace drover::templates {
namespace {

TEST(ServiceQuery, IsReadFromItsText) {
  const struct {
    const char* text;
    const char* tag;
    const char* name;
    const char* region;
    const char* shown;
  } cases[] = {
      {"api", "", "api", "", "nomad.service(api)"},
      {"v1.api", "v1", "api", "", "nomad.service(v1.api)"},
      {"v1.2.api@west", "v1.2", "api", "west", "nomad.service(v1.2.api@west)"},
      {"api@west", "", "api", "west", "nomad.service(api@west)"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const auto wish = parse_service(c.text);
    ASSERT_TRUE(wish.ok());
    EXPECT_EQ(wish->tag, c.tag);
    EXPECT_EQ(wish->query.name, c.name);
    EXPECT_EQ(wish->query.region, c.region);
    EXPECT_EQ(name_of(*wish), c.shown);
  }
  for (const char* text : {"", "a b", "@west", "api@", "api@a@b"}) EXPECT_FALSE(parse_service(text).ok()) << text;
  EXPECT_EQ(name_of(*parse_services("")), "nomad.services");
  EXPECT_EQ(name_of(*parse_services("@west")), "nomad.services(@west)");
  EXPECT_FALSE(parse_services("west").ok());
}

// The result of one call of a template's function, "error: …" where it is refused.
std::string called(std::string_view name, const std::vector<nlohmann::json>& given, std::string& asked) {
  static const Variables kEnvironment{{"NOMAD_NAMESPACE", "prod"}}, kNode;
  static const std::set<std::string, std::less<>> kDenied;
  const World world{
      .environment = kEnvironment,
      .node = kNode,
      .now_ns = 0,
      .read_file = {},
      .find_services = [&](const ServiceQuery& query) -> Value {
        asked = query.name_space + "/" + query.name + "@" + query.region + ":" + query.choose;
        if (query.name == "away") return nullptr;
        return value_of(nlohmann::json::array({{{"ID", "1"}, {"Tags", {"a", "b"}}}, {{"ID", "2"}, {"Tags", {"b"}}}}));
      }};
  JobFunctions functions(world, kDenied);
  std::vector<Value> arguments;
  for (const auto& each : given) arguments.push_back(value_of(each));
  const auto found = functions.call(name, arguments);
  if (!found) return "error: " + found.status().message();
  std::string text;
  for (const auto& row : **found) text += row.value("ID", "?");
  for (const std::string& each : functions.missing()) text += "missing " + each;
  return text;
}

TEST(ServiceFunctions, AskForWhatTheyAreGiven) {
  const struct {
    const char* name;
    std::vector<nlohmann::json> arguments;
    const char* result;
    const char* asked;
  } cases[] = {
      {"nomadService", {"api"}, "12", "prod/api@:"},
      {"nomadService", {"a.api@west"}, "1", "prod/api@west:"},
      {"nomadService", {2, "me", "api"}, "12", "prod/api@:2|me"},
      {"nomadService", {"away"}, "missing nomad.service(away)", "prod/away@:"},
      {"nomadService", {"x", "y"}, "error: takes a name, or a number, a key and a name", ""},
      {"nomadService", {0, "me", "api"}, "error: the number of instances must be at least 1", ""},
      {"nomadService", {"a b"}, "error: nomad.service: invalid format: \"a b\"", ""},
      {"nomadServices", {}, "12", "prod/@:"},
      {"nomadServices", {"@west"}, "12", "prod/@west:"},
  };
  for (const auto& c : cases) {
    std::string asked;
    EXPECT_EQ(called(c.name, c.arguments, asked), c.result) << c.name << " " << c.asked;
    EXPECT_EQ(asked, c.asked) << c.name;
  }
}

class FakeNode final : public NodeCalls {
 public:
  std::optional<NodeProofOf> proof() const override { return NodeProofOf{.id = Uuid(), .secret = "", .name = "n"}; }
  CallContext context(std::string method, std::chrono::nanoseconds, std::stop_token stop) const override {
    CallContext context;
    context.method = std::move(method);
    context.stop = std::move(stop);
    return context;
  }
  Variables variables() const override { return {}; }
};

TEST(ServiceWatch, ReadsOnceForAllWhoAskTheSameAndTellsChangesByAnotherVersion) {
  testing::FakeHost host;
  FakeNode node;
  ASSERT_TRUE(host.rows().extend<NodeCalls>("agent", node).ok());
  host.delay_tasks();
  int calls = 0, port = 80;
  bool is_away = false;
  host.answer_calls_with([&](const CallContext&, const std::string&) -> Result<std::string> {
    ++calls;
    if (is_away) return unavailable("no servers");
    v1::ServiceRegistrationsResponse answer;
    v1::ServiceRegistration& row = *answer.add_services();
    row.set_service_name("api");
    row.set_port(port);
    return answer.SerializeAsString();
  });
  ServiceWatch watch;
  watch.start(host);
  const ServiceQuery query{.name_space = "default", .region = "", .name = "api", .choose = ""};
  (void)watch.find(query);
  EXPECT_EQ(watch.version(query), 1U);
  EXPECT_EQ(watch.version(query), 1U);
  EXPECT_EQ(calls, 1);
  host.run_delayed();  // the same again
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(watch.version(query), 1U);
  port = 81;
  host.run_delayed();
  EXPECT_EQ(watch.version(query), 2U);
  EXPECT_EQ((*watch.find(query)->rows)[0]["Port"], 81);
  is_away = true;  // what was known stays
  host.run_delayed();
  EXPECT_EQ(watch.version(query), 2U);
  host.forward_clock().advance(ServiceWatch::kForgetAfter * 2);
  const int before = calls;
  host.run_delayed();  // nobody has asked for long
  host.run_delayed();
  EXPECT_EQ(calls, before);
  watch.stop();
}

}  // namespace
}  // namespace drover::templates
