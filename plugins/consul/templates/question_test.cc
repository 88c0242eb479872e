#include "templates/question.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "templates/values.h"

namespace drover::consul {
namespace {

using Json = nlohmann::json;
using text_template::Value;

Result<Question> question(const char* function, const std::string& arguments) {
  std::vector<Value> values;
  for (const Json& each : Json::parse(arguments)) values.push_back(text_template::value_of(each));
  return question_of(function, values);
}

TEST(QuestionOf, AsksAsConsulTemplateDoes) {
  struct Case {
    const char *function, *arguments, *path, *name;
    bool waits;
  };
  const Case cases[] = {
      {"key", R"(["a/b c"])", "/v1/kv/a/b%20c", "kv.block(a/b c)", true},
      {"key", R"(["/a@dc2"])", "/v1/kv/a?dc=dc2", "kv.block(a@dc2)", true},
      {"keyExists", R"(["a"])", "/v1/kv/a", "kv.exists(a)", false},
      {"keyOrDefault", R"(["a","x"])", "/v1/kv/a", "kv.get(a)", false},
      {"ls", R"(["a"])", "/v1/kv/a?recurse", "kv.list(a)", false},
      {"safeLs", R"(["a"])", "/v1/kv/a?recurse", "kv.list(a)", true},
      {"tree", R"(["a@dc2"])", "/v1/kv/a?recurse&dc=dc2", "kv.list(a@dc2)", false},
      {"safeTree", R"(["a"])", "/v1/kv/a?recurse", "kv.list(a)", true},
      {"service", R"(["web"])", "/v1/health/service/web?passing=1", "health.service(web|passing)", false},
      {"service", R"(["v1.web@dc2~near"])", "/v1/health/service/web?passing=1&tag=v1&dc=dc2&near=near",
       "health.service(v1.web@dc2~near|passing)", false},
      {"service", R"(["web|any"])", "/v1/health/service/web", "health.service(web)", false},
      {"service", R"(["web","warning, critical"])", "/v1/health/service/web", "health.service(web|critical,warning)",
       false},
      {"services", R"([])", "/v1/catalog/services", "catalog.services", false},
      {"services", R"(["@dc2"])", "/v1/catalog/services?dc=dc2", "catalog.services(@dc2)", false},
      {"nodes", R"([])", "/v1/catalog/nodes", "catalog.nodes", false},
      {"nodes", R"(["@dc2~n"])", "/v1/catalog/nodes?dc=dc2&near=n", "catalog.nodes(@dc2~n)", false},
      {"node", R"([])", "/v1/catalog/node/", "catalog.node", false},
      {"node", R"(["m@dc2"])", "/v1/catalog/node/m?dc=dc2", "catalog.node(m@dc2)", false},
      {"datacenters", R"([])", "/v1/catalog/datacenters", "catalog.datacenters", false},
      {"key", R"([""])", "", "", false},
      {"ls", R"([""])", "", "", false},
  };
  for (const Case& each : cases) {
    const auto found = question(each.function, each.arguments);
    ASSERT_TRUE(found.ok()) << each.function << each.arguments << found.status().message();
    EXPECT_EQ(found->path, each.path);
    EXPECT_EQ(found->name, each.name);
    EXPECT_EQ(found->waits, each.waits) << each.function;
  }
}

TEST(QuestionOf, RefusesWhatMeansNothing) {
  struct Case {
    const char *function, *arguments, *error;
  };
  const Case cases[] = {
      {"key", "[]", "takes 1 arguments, not 0"},
      {"key", "[1]", "expected a string, not int"},
      {"key", R"(["@dc"])", "kv.block: invalid format: \"@dc\""},
      {"key", R"(["a@"])", "kv.block: invalid format: \"a@\""},
      {"service", R"(["a b"])", "health.service: invalid format: \"a b\""},
      {"service", R"(["web|good"])", "health.service: invalid filter: \"good\" in \"good\""},
      {"services", R"(["dc"])", "catalog.services: invalid format: \"dc\""},
      {"nodes", R"(["dc"])", "catalog.nodes: invalid format: \"dc\""},
      {"node", R"(["@dc"])", "catalog.node: invalid format: \"@dc\""},
      {"datacenters", "[true]", "takes 0 arguments, not 1"},
      {"caLeaf", R"(["web"])", "is for Consul's service mesh, which this version does not carry out"},
      {"caRoots", "[]", "is for Consul's service mesh, which this version does not carry out"},
      {"connect", R"(["web"])", "is for Consul's service mesh, which this version does not carry out"},
  };
  for (const Case& each : cases) {
    const auto found = question(each.function, each.arguments);
    ASSERT_FALSE(found.ok()) << each.function << each.arguments;
    EXPECT_EQ(found.status().message(), each.error);
  }
}

const char* kPairs = R"([{"Key":"a/","Value":null,"Flags":0,"CreateIndex":1,"ModifyIndex":1,"LockIndex":0},
  {"Key":"a/x","Value":"b25l","Flags":7,"CreateIndex":2,"ModifyIndex":3,"LockIndex":0},
  {"Key":"a/y/z","Value":"dHdv","Flags":0,"CreateIndex":4,"ModifyIndex":4,"LockIndex":0}])";

std::string keys_of(const char* function) {
  const auto asked = question(function, R"(["a"])");
  const auto answer = value_in(Form::keys, kPairs, true);
  std::string out;
  for (const Json& pair : asked->pick(*answer))
    out += pair["Key"].get<std::string>() + "=" + pair["Value"].get<std::string>() + " ";
  return out;
}

TEST(Values, OfKeys) {
  EXPECT_EQ(keys_of("ls"), "x=one ");
  EXPECT_EQ(keys_of("tree"), "x=one y/z=two ");
  EXPECT_EQ(*value_in(Form::key, R"([{"Key":"a","Value":"b25l"}])", true), "one");
  EXPECT_EQ(*value_in(Form::key, R"([{"Key":"a","Value":null}])", true), "");
  EXPECT_TRUE(value_in(Form::key, "", false)->is_null());
  EXPECT_EQ(*value_in(Form::keys, "", false), Json::array());
  EXPECT_FALSE(value_in(Form::key, "<html>", true).ok());
  const auto otherwise = question("keyOrDefault", R"(["a","x"])");
  EXPECT_EQ(otherwise->pick("one"), "one");
  EXPECT_EQ(otherwise->pick(""), "x");
}

TEST(Values, OfServices) {
  const auto names = value_in(Form::service_names, R"({"web":["b","a","b"],"consul":[]})", true);
  EXPECT_EQ(*names, Json::parse(R"([{"Name":"consul","Tags":[]},{"Name":"web","Tags":["a","b"]}])"));
  const Json answer = Json::parse(R"([
    {"Node":{"ID":"i","Node":"n2","Address":"10.0.0.2","Datacenter":"dc1","Meta":null},
     "Service":{"ID":"w2","Service":"web","Tags":["b","a"],"Address":"","Port":80,"Meta":{"k":"v"}},
     "Checks":[{"CheckID":"c","Status":"warning"}]},
    {"Node":{"Node":"n1","Address":"10.0.0.1"},"Service":{"ID":"w1","Service":"web","Address":"10.0.0.9","Port":81},
     "Checks":[{"CheckID":"c","Status":"passing"},{"CheckID":"_node_maintenance","Status":"critical"}]}])");
  const Json all = instances_of(answer, {}, true);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["ID"], "w1");
  EXPECT_EQ(all[0]["Address"], "10.0.0.9");
  EXPECT_EQ(all[0]["Status"], "maintenance");
  EXPECT_EQ(all[1]["Address"], "10.0.0.2") << "the node's, where the service has none";
  EXPECT_EQ(all[1]["Tags"], Json({"a", "b"}));
  EXPECT_EQ(all[1]["ServiceMeta"]["k"], "v");
  EXPECT_EQ(instances_of(answer, {"warning", "passing"}, true).size(), 1u);
  EXPECT_EQ(instances_of(answer, {}, false)[0]["ID"], "w2") << "nearest first, as Consul says";
}

TEST(Values, OfNodes) {
  const auto nodes = value_in(Form::nodes, R"([{"Node":"b","Address":"2"},{"Node":"a","Address":"1"}])", true);
  EXPECT_EQ((*nodes)[0]["Node"], "a");
  const auto node = value_in(Form::node, R"({"Node":{"Node":"a"},"Services":{"y":{"ID":"y","Service":"s"},
                                             "x":{"ID":"x","Service":"t"}}})",
                             true);
  EXPECT_EQ((*node)["Node"]["Node"], "a");
  EXPECT_EQ((*node)["Services"][0]["ID"], "y");
  EXPECT_TRUE(value_in(Form::node, "null", true)->is_null());
}

}  // namespace
}  // namespace drover::consul
