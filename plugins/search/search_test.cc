#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "contexts.h"
#include "drover/api/search.pb.h"
#include "drover/keys.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/namespace.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/task.pb.h"
#include "drover/v1/variable.pb.h"
#include "fuzzy.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/permissions.h"

namespace drover::search {
namespace {

TEST(FuzzyNames, HoldTheTextWhateverTheCase) {
  const struct {
    const char* name;
    const char* text;
    int place;  // -1: nowhere
  } cases[] = {
      {"redis", "red", 0}, {"my-Redis", "redis", 3}, {"REDIS", "redis", 0}, {"redis", "rediss", -1}, {"", "a", -1},
      {"aab", "ab", 1},    {"a.b", "a", 0},          {"ÄB", "b", 2},        {"abc", "", 0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.name) + " " + c.text);
    const auto place = place_in(c.name, c.text);
    EXPECT_EQ(place ? static_cast<int>(*place) : -1, c.place);
  }
}

TEST(FuzzyNames, AreArrangedWithTheBestFirst) {
  std::vector<Match> matches = {
      {"my-web", {}, 3}, {"website", {}, 0}, {"web", {"b"}, 0}, {"web", {"a"}, 0}, {"weba", {}, 0}};
  arrange(matches);
  std::string order;
  for (const Match& match : matches) order += match.name + (match.scope.empty() ? "" : "/" + match.scope[0]) + " ";
  EXPECT_EQ(order, "web/a web/b weba website my-web ");
}

// A cluster's tables with a few rows, all of whose names hold "web".
class Search : public ::testing::Test {
 protected:
  Search() {
    jobs_ = Table<v1::Job>(host_.rows().add_table(jobs_table().spec()));
    allocs_ = Table<v1::Allocation>(host_.rows().add_table(allocs_table().spec()));
    evals_ = Table<v1::Evaluation>(host_.rows().add_table(evals_table().spec()));
    nodes_ = Table<v1::Node>(host_.rows().add_table(nodes_table().spec()));
    volumes_ = Table<v1::CsiVolume>(host_.rows().add_table(csi_volumes_table().spec()));
    host_volumes_ = Table<v1::DynamicHostVolume>(host_.rows().add_table(host_volumes_table().spec()));
    variables_ = Table<v1::VariableMetadata>(host_.rows().add_table(
        Table<v1::VariableMetadata>::spec("variables", {}, [](const v1::VariableMetadata& row, RowKeys& keys) {
          keys.primary(KeyBuilder().text(row.namespace_()).text(row.path()).take());
        })));
    policies_ = Table<v1::ScalingPolicy>(host_.rows().add_table(
        Table<v1::ScalingPolicy>::spec("scaling_policies", {}, [](const v1::ScalingPolicy& row, RowKeys& keys) {
          keys.primary(row.id());
        })));
    namespaces_ = host_.rows().add_table(namespaces_table().spec());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    fill();
    rpc_.start(host_, {});
  }

  static std::string id(char digit) { return Uuid::parse(id_text(digit))->bytes(); }
  static std::string id_text(char digit) { return std::string(8, digit) + "-1111-2222-3333-444444444444"; }

  void put_job(const std::string& name_space, const std::string& name) {
    host_.commit([&](WriteTransaction& rows) {
      v1::Job job;
      job.set_namespace_(name_space);
      job.set_id(name);
      job.set_name(name);
      auto& group = *job.add_task_groups();
      group.set_name("web-group");
      group.add_services()->set_name("web-service");
      auto& task = *group.add_tasks();
      task.set_name("the-web-task");
      task.set_config(R"({"image":"docker.io/web:7","command":["web"],"class":"com.Web"})");
      task.add_services()->set_name("other");
      EXPECT_TRUE(jobs_.put(rows, job).ok());
    });
  }

  void fill() {
    put_job("default", "web");
    put_job("prod", "web-shop");
    host_.commit([&](WriteTransaction& rows) {
      for (const auto& [digit, name_space] : {std::pair{'a', "default"}, std::pair{'b', "prod"}}) {
        v1::Allocation alloc;
        alloc.set_id(id(digit));
        alloc.set_namespace_(name_space);
        alloc.set_name("web.web-group[0]");
        EXPECT_TRUE(allocs_.put(rows, alloc).ok());
        v1::Evaluation eval;
        eval.set_id(id(digit));
        eval.set_namespace_(name_space);
        EXPECT_TRUE(evals_.put(rows, eval).ok());
        v1::CsiVolume volume;
        volume.set_namespace_(name_space);
        volume.set_id(std::string("web-data-") + digit);
        EXPECT_TRUE(volumes_.put(rows, volume).ok());
        v1::VariableMetadata variable;
        variable.set_namespace_(name_space);
        variable.set_path("jobs/web");
        EXPECT_TRUE(variables_.put(rows, variable).ok());
        v1::ScalingPolicy policy;
        policy.set_id(id_text(digit));
        (*policy.mutable_target())["Namespace"] = name_space;
        EXPECT_TRUE(policies_.put(rows, policy).ok());
      }
      for (const char digit : {'c', 'd'}) {
        v1::Node node;
        node.set_id(id(digit));
        node.set_name(std::string("web-node-") + digit);
        (*node.mutable_csi_node_plugins())["web-disk"].set_healthy(true);
        if (digit == 'd') (*node.mutable_csi_node_plugins())["other"].set_healthy(true);
        EXPECT_TRUE(nodes_.put(rows, node).ok());
      }
      v1::DynamicHostVolume volume;
      volume.set_id(id('e'));
      volume.set_namespace_("default");
      volume.set_name("web-cache");
      EXPECT_TRUE(host_volumes_.put(rows, volume).ok());
    });
  }

  template <typename Request>
  std::string ask(const std::string& method, const Request& request, const std::string& name_space,
                  std::shared_ptr<const Permissions> permissions) {
    host_.call_as({.permissions = std::move(permissions)});
    QueryOptions query;
    query.name_space = name_space;
    const auto answer = host_.answer<v1::SearchResponse>("/drover.v1.Search/" + method, request, query);
    if (!answer) return answer.status().to_string();
    std::string text = answer->matches();
    for (const auto& [name, is_truncated] : answer->truncations()) text += is_truncated ? " more " + name : "";
    return text;
  }
  std::string prefix(const std::string& text, const std::string& where, const std::string& name_space = "default",
                     std::shared_ptr<const Permissions> permissions = all_permissions()) {
    v1::SearchRequest request;
    request.set_prefix(text);
    request.set_context(where);
    return ask("Prefix", request, name_space, std::move(permissions));
  }
  std::string fuzzy(const std::string& text, const std::string& where, const std::string& name_space = "default",
                    std::shared_ptr<const Permissions> permissions = all_permissions()) {
    v1::FuzzySearchRequest request;
    request.set_text(text);
    request.set_context(where);
    return ask("Fuzzy", request, name_space, std::move(permissions));
  }
  drover::testing::FakeHost host_;
  Table<v1::Job> jobs_;
  Table<v1::Allocation> allocs_;
  Table<v1::Evaluation> evals_;
  Table<v1::Node> nodes_;
  Table<v1::CsiVolume> volumes_;
  Table<v1::DynamicHostVolume> host_volumes_;
  Table<v1::VariableMetadata> variables_;
  Table<v1::ScalingPolicy> policies_;
  TableId namespaces_;
  Rpc rpc_;
};

TEST_F(Search, FindsTheBeginningsOfIdentifiers) {
  EXPECT_EQ(prefix("web", "jobs"), R"({"jobs":["web"]})");
  EXPECT_EQ(prefix("web", "jobs", "prod"), R"({"jobs":["web-shop"]})");
  EXPECT_EQ(prefix("web", "jobs", "*"), R"({"jobs":["web","web-shop"]})");
  EXPECT_EQ(prefix("eb", "jobs"), R"({"jobs":[]})");
  EXPECT_EQ(prefix("aaa", "allocs"), R"({"allocs":[")" + id_text('a') + R"("]})");
  EXPECT_EQ(prefix(id_text('a'), "evals"), R"({"evals":[")" + id_text('a') + R"("]})");
  EXPECT_EQ(prefix("b", "evals"), R"({"evals":[]})");  // it is of another namespace
  EXPECT_EQ(prefix("web", "evals"), R"({"evals":[]})");
  EXPECT_EQ(prefix("c", "nodes", "prod"), R"({"nodes":[")" + id_text('c') + R"("]})");
  EXPECT_EQ(prefix("", "plugins"), R"({"plugins":["other","web-disk"]})");
  EXPECT_EQ(prefix("w", "plugins"), R"({"plugins":["web-disk"]})");
  EXPECT_EQ(prefix("web", "volumes"), R"({"volumes":["web-data-a"]})");
  EXPECT_EQ(prefix("ee", "host_volumes"), R"({"host_volumes":[")" + id_text('e') + R"("]})");
  EXPECT_EQ(prefix("b", "scaling_policy", "*"), R"({"scaling_policy":[")" + id_text('b') + R"("]})");
  EXPECT_EQ(prefix("jobs/", "vars"), R"({"vars":["jobs/web"]})");
  EXPECT_EQ(prefix("def", "namespaces"), R"({"namespaces":["default"]})");
  EXPECT_EQ(prefix("web", "all"),
            R"({"allocs":[],"evals":[],"host_volumes":[],"jobs":["web"],"namespaces":[],"nodes":[],)"
            R"("plugins":["web-disk"],"scaling_policy":[],"vars":[],"volumes":["web-data-a"]})");
}

TEST_F(Search, SaysThatThereIsMore) {
  for (int i = 0; i < 20; ++i) put_job("default", "job-" + std::to_string(10 + i));
  EXPECT_EQ(prefix("job-", "jobs").find("more"), std::string::npos);
  put_job("default", "job-30");
  const std::string found = prefix("job-", "jobs");
  EXPECT_NE(found.find("\"job-29\"]} more jobs"), std::string::npos) << found;
  const std::string by_name = fuzzy("job-", "jobs");
  EXPECT_NE(by_name.find("job-29"), std::string::npos) << by_name;
  EXPECT_EQ(by_name.find("job-30"), std::string::npos) << by_name;
  EXPECT_TRUE(by_name.ends_with(" more jobs")) << by_name;
}

TEST_F(Search, FindsPartsOfNames) {
  EXPECT_EQ(fuzzy("WEB", "jobs"),
            R"({"classes":[{"ID":"com.Web","Scope":["default","web","web-group","the-web-task"]}],)"
            R"("groups":[{"ID":"web-group","Scope":["default","web"]}],)"
            R"("images":[{"ID":"docker.io/web:7","Scope":["default","web","web-group","the-web-task"]}],)"
            R"("jobs":[{"ID":"web","Scope":["default","web"]}],)"
            R"("services":[{"ID":"web-service","Scope":["default","web","web-group"]}],)"
            R"("tasks":[{"ID":"the-web-task","Scope":["default","web","web-group"]}]})");
  EXPECT_EQ(fuzzy("web", "tasks", "*"), R"({"tasks":[{"ID":"the-web-task","Scope":["default","web","web-group"]},)"
                                        R"({"ID":"the-web-task","Scope":["prod","web-shop","web-group"]}]})");
  EXPECT_EQ(fuzzy("group", "allocs"),
            R"({"allocs":[{"ID":"web.web-group[0]","Scope":["default",")" + id_text('a') + R"("]}]})");
  EXPECT_EQ(fuzzy("node-d", "nodes"), R"({"nodes":[{"ID":"web-node-d","Scope":[")" + id_text('d') + R"("]}]})");
  EXPECT_EQ(fuzzy("web", "vars"), R"({"vars":[{"ID":"jobs/web","Scope":["default","jobs/web"]}]})");
  EXPECT_EQ(fuzzy("cache", "host_volumes"),
            R"({"host_volumes":[{"ID":"web-cache","Scope":["default",")" + id_text('e') + R"("]}]})");
  EXPECT_EQ(fuzzy("disk", "plugins"), R"({"plugins":[{"ID":"web-disk"}]})");
  EXPECT_EQ(fuzzy("web-d", "volumes"), R"({"volumes":[{"ID":"web-data-a"}]})");  // the beginning alone
  EXPECT_EQ(fuzzy("data", "volumes"), R"({})");
}

TEST_F(Search, RefusesWhatItCannotMean) {
  EXPECT_EQ(prefix("a", "quotas"),
            "invalid_argument: context must be one of [allocs jobs nodes evals plugins volumes host_volumes "
            "scaling_policy vars namespaces] or 'all' for all contexts; got \"quotas\"");
  EXPECT_NE(prefix("a", "").find("got \"\""), std::string::npos);
  EXPECT_EQ(fuzzy("w", "all"), "invalid_argument: fuzzy search query must be at least 2 characters, got 1");
}

TEST_F(Search, HonoursItsLimits) {
  rpc_.start(host_, {.objects = 1, .results = 100, .shortest_text = 1});
  put_job("default", "web-2");
  EXPECT_EQ(fuzzy("w", "groups"), R"({"groups":[{"ID":"web-group","Scope":["default","web"]}]} more jobs)");
  rpc_.start(host_, {.objects = 10, .results = 1});
  EXPECT_EQ(fuzzy("web", "groups"), R"({"groups":[{"ID":"web-group","Scope":["default","web"]}]} more groups)");
  rpc_.start(host_, {.enabled = false});
  EXPECT_EQ(fuzzy("web", "all"), "failed_precondition: fuzzy search is not enabled");
}

TEST_F(Search, ShowsNobodyMoreThanHeMaySee) {
  const auto of_prod = std::make_shared<const drover::testing::OnlyIn>("prod");
  EXPECT_EQ(prefix("web", "jobs", "*", of_prod), R"({"jobs":["web-shop"]})");
  EXPECT_EQ(prefix("web", "jobs", "default", of_prod), "permission_denied: Permission denied");
  EXPECT_EQ(prefix("jobs", "vars", "*", of_prod), R"({"vars":["jobs/web"]})");
  EXPECT_EQ(prefix("jobs", "vars", "default", of_prod), R"({"vars":[]})");
  EXPECT_EQ(prefix("", "namespaces", "default", of_prod), R"({"namespaces":[]})");
  EXPECT_EQ(prefix("", "evals", "*", of_prod), R"({"evals":[")" + id_text('b') + R"("]})");
  EXPECT_EQ(fuzzy("web", "tasks", "*", of_prod),
            R"({"tasks":[{"ID":"the-web-task","Scope":["prod","web-shop","web-group"]}]})");
  const auto nobody = std::make_shared<const Permissions>();
  EXPECT_EQ(prefix("", "all", "*", nobody), R"({"namespaces":[],"vars":[]})");
  EXPECT_EQ(fuzzy("web", "all", "*", nobody), "{}");
  for (const char* where : {"jobs", "nodes", "plugins", "volumes", "host_volumes", "allocs", "scaling_policy"})
    EXPECT_EQ(prefix("", where, "*", nobody), "permission_denied: Permission denied") << where;
}

}  // namespace
}  // namespace drover::search
