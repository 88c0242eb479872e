#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "drover/api/services.pb.h"
#include "job_functions.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_node.h"
#include "services/service_query.h"

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

// The result of one call of a template's function, "error: …" where it is refused, and what the servers were asked.
std::string called(std::string_view name, const std::vector<nlohmann::json>& given, std::string& asked) {
  testing::FakeHost host;
  drover::testing::FakeNode node;
  EXPECT_TRUE(host.rows().extend<NodeCalls>("agent", node).ok());
  host.delay_tasks();
  host.answer_calls_with([&](const CallContext& context, const std::string& bytes) -> Result<std::string> {
    DROVER_TRY(const auto request, parse_message<v1::GetServiceRequest>(bytes));
    EXPECT_TRUE(context.query.stale);
    asked = context.query.name_space + "/" + request.service_name() + "@" + context.query.region + ":" +
            request.choose();
    if (request.service_name() == "away") return unavailable("no servers");
    if (context.method.ends_with("List")) {
      v1::ListServicesResponse answer;
      answer.add_namespaces()->add_services()->set_service_name("api");
      return serialize(answer);
    }
    v1::ServiceRegistrationsResponse answer;
    for (const auto& [id, tags] : {std::pair("1", "ba"), std::pair("2", "b")}) {
      v1::ServiceRegistration& row = *answer.add_services();
      row.set_id(id);
      for (const char tag : std::string(tags)) row.add_tags(std::string(1, tag));
    }
    return serialize(answer);
  });
  ServerWatches watches;
  watches.start(host);
  static const Variables kEnvironment{{"NOMAD_NAMESPACE", "prod"}}, kNode;
  static const std::set<std::string, std::less<>> kDenied;
  const World world{.environment = kEnvironment,
                    .node = kNode,
                    .now_ns = 0,
                    .read_file = {},
                    .watch = [&](const auto& question) { return watches.use(Uuid::random(), question); }};
  JobFunctions functions(world, kDenied);
  std::vector<Value> arguments;
  for (const auto& each : given) arguments.push_back(value_of(each));
  const auto found = functions.call(name, arguments);
  if (!found) return "error: " + found.status().message();
  std::string text;
  for (const auto& row : **found) {
    text += row.value("ID", row["Name"].get<std::string>());
    for (const auto& tag : row["Tags"]) text += tag.get<std::string>();
  }
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
      {"nomadService", {"api"}, "1ab2b", "prod/api@:"},
      {"nomadService", {"a.api@west"}, "1ab", "prod/api@west:"},
      {"nomadService", {2, "me", "api"}, "1ab2b", "prod/api@:2|me"},
      {"nomadService", {"away"}, "missing nomad.service(away)", "prod/away@:"},
      {"nomadService", {"x", "y"}, "error: takes a name, or a number, a key and a name", ""},
      {"nomadService", {0, "me", "api"}, "error: the number of instances must be at least 1", ""},
      {"nomadService", {"a b"}, "error: nomad.service: invalid format: \"a b\"", ""},
      {"nomadServices", {}, "api", "prod/@:"},
      {"nomadServices", {"@west"}, "api", "prod/@west:"},
  };
  for (const auto& c : cases) {
    std::string asked;
    EXPECT_EQ(called(c.name, c.arguments, asked), c.result) << c.name << " " << c.asked;
    EXPECT_EQ(asked, c.asked) << c.name;
  }
}

}  // namespace
}  // namespace drover::templates
