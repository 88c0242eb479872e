#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drover/text_template.h"
#include "drover/v1/node_variables.pb.h"
#include "job_functions.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_node.h"

namespace drover::templates {
namespace {

using namespace std::chrono_literals;

class NomadVar : public ::testing::Test {
 protected:
  NomadVar() {
    EXPECT_TRUE(host_.rows().extend<NodeCalls>("agent", node_).ok());
    host_.delay_tasks();
    host_.answer_calls_with(
        [this](const CallContext& context, const std::string& bytes) { return answer(context, bytes); });
    watches_.start(host_);
  }

  Result<std::string> answer(const CallContext& context, const std::string& bytes) {
    ++asked_;
    DROVER_TRY(const auto request, parse_message<v1::NodeVariableRequest>(bytes));
    EXPECT_EQ(request.node_id(), std::string(16, 'n'));
    EXPECT_EQ(request.secret_id(), std::string(16, 's'));
    EXPECT_EQ(request.alloc_id(), allocation_.bytes());
    EXPECT_EQ(request.task(), "t");
    if (!refusal_.ok()) return refusal_;
    if (context.method.ends_with("List")) {
      v1::NodeVariablesResponse response;
      for (const auto& [path, items] : variables_) {
        if (path.starts_with(request.path())) response.add_variables()->set_path(path);
      }
      return serialize(response);
    }
    v1::NodeVariableResponse response;
    if (const auto at = variables_.find(request.path()); at != variables_.end()) {
      response.mutable_variable()->set_path(at->first);
      response.set_items(at->second);
    }
    return serialize(response);
  }

  // The text that a template makes.
  std::string run(const std::string& text) {
    static const Variables kNone;
    static const std::set<std::string, std::less<>> kNothing;
    const World world{.environment = kNone,
                      .node = kNone,
                      .now_ns = 0,
                      .read_file = {},
                      .watch = [this](const auto& question) { return watches_.use(allocation_, question); },
                      .reader = {.name_space = "default", .job = "web", .group = "g", .task = "t"},
                      .region = "global",
                      .patience = 10s};
    JobFunctions functions(world, kNothing);
    const auto form = text_template::Template::parse(text, {.functions = &functions});
    if (!form) return form.status().message();
    auto out = form->run(nullptr, {.functions = &functions});
    used_ = functions.reads();
    missing_ = functions.missing();
    return out ? *out : out.status().message();
  }

  testing::FakeHost host_;
  drover::testing::FakeNode node_;
  ServerWatches watches_;
  const Uuid allocation_ = Uuid::random();
  std::map<std::string, std::string> variables_ = {{"nomad/jobs/web", R"({"host":"h","port":"1"})"}};
  ServerReads::All used_;
  std::set<std::string> missing_;
  Status refusal_;
  int asked_ = 0;
};

TEST_F(NomadVar, GivesItemsAndWhatIsSaidOfThem) {
  const struct {
    const char* text;
    const char* out;
  } cases[] = {
      {R"({{ with nomadVar "nomad/jobs/web" }}{{ .host }}:{{ .port }}{{ end }})", "h:1"},
      {R"({{ range $k, $v := nomadVar "nomad/jobs/web" }}{{ $k }}={{ $v }};{{ end }})", "host=h;port=1;"},
      {R"({{ range (nomadVar "nomad/jobs/web").Tuples }}{{ .K }}={{ .V }};{{ end }})", "host=h;port=1;"},
      {R"({{ range nomadVar "nomad/jobs/web" }}{{ .Key }}={{ .Value }};{{ end }})", "host=h;port=1;"},
      {R"({{ (nomadVar "nomad/jobs/web").Keys }})", "[host port]"},
      {R"({{ (nomadVar "nomad/jobs/web").Values }})", "[h 1]"},
      {R"({{ (nomadVar "nomad/jobs/web").Metadata.Path }})", "nomad/jobs/web"},
      {R"({{ with nomadVar "nomad/jobs/web@default.global" }}{{ .host.Value }}{{ end }})", "h"},
      {R"({{ nomadVarExists "nomad/jobs/web" }} {{ nomadVarExists "nomad/jobs/none" }})", "true false"},
      {R"({{ range nomadVarList "nomad/" }}{{ .Path }};{{ end }})", "nomad/jobs/web;"},
      {R"({{ range nomadVarList }}{{ .Path }};{{ end }})", "nomad/jobs/web;"},
      {R"({{ len (nomadVarList "x") }})", "0"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(run(c.text), c.out) << c.text;
    EXPECT_TRUE(missing_.empty()) << c.text;
  }
  EXPECT_NE(run(R"({{ nomadVar "a@b.elsewhere" }})").find("another region, \"elsewhere\""), std::string::npos);
  EXPECT_NE(run(R"({{ nomadVar }})").find("takes one argument"), std::string::npos);
}

TEST_F(NomadVar, WaitsForWhatMustBeThere) {
  run(R"({{ nomadVar "nomad/jobs/none" }}{{ nomadVarListSafe "x" }})");
  EXPECT_EQ(missing_, (std::set<std::string>{"nomad.var.block(nomad/jobs/none)", "nomad.var.list(x)"}));
}

TEST_F(NomadVar, IsRefusedInWordsThatHelp) {
  refusal_ = permission_denied("Permission denied");
  EXPECT_NE(run(R"({{ nomadVar "secret" }})").find("Permission denied: a task reads nomad/jobs"), std::string::npos);
}

TEST_F(NomadVar, IsWatchedOnceAndChanges) {
  run(R"({{ with nomadVar "nomad/jobs/web" }}{{ .host }}{{ end }})");
  const auto first = used_;
  run(R"({{ with nomadVar "nomad/jobs/web" }}{{ .port }}{{ end }})");
  EXPECT_EQ(asked_, 1);
  const auto& held = first.begin()->second;
  EXPECT_EQ(held.use->now().change, held.change);
  variables_["nomad/jobs/web"] = R"({"host":"other"})";
  host_.run_delayed();
  EXPECT_GT(held.use->now().change, held.change);
  EXPECT_EQ(run(R"({{ with nomadVar "nomad/jobs/web" }}{{ .host }}{{ end }})"), "other");
}

}  // namespace
}  // namespace drover::templates
