// The document of methods in every HTTP form.
#include "openapi.h"

#include <google/protobuf/descriptor.h>

#include <nlohmann/json.hpp>

#include "drover/api/description.pb.h"
#include "drover/api/jobs.pb.h"
#include "gtest/gtest.h"
#include "http_test.pb.h"

namespace drover::api {
namespace {

using nlohmann::json;

json document() {
  Routes routes;
  for (const auto* file : {drover::test::http::ThingRequest::descriptor()->file(), v1::JobRequest::descriptor()->file(),
                           v1::OpenApiRequest::descriptor()->file()}) {
    for (int i = 0; i < file->service(0)->method_count(); ++i)
      EXPECT_TRUE(routes.add(*file->service(0)->method(i)).ok());
  }
  return json::parse(openapi_document(routes, "1.2.3"));
}

const json& operation(const json& all, const char* path, const char* verb) { return all.at("paths").at(path).at(verb); }

// "path id, query count" and references by their last part.
std::string parameters_of(const json& operation) {
  std::string text;
  for (const json& each : operation.at("parameters")) {
    const std::string reference = each.value("$ref", "");
    text += (text.empty() ? "" : ", ") + (reference.empty() ? each.value("in", "") + " " + each.value("name", "")
                                                            : reference.substr(reference.rfind('/') + 1));
  }
  return text;
}

TEST(OpenApi, NamesThePathsVerbsAndParametersOfAMethod) {
  const json all = document();

  EXPECT_EQ(all["openapi"], "3.0.3");
  EXPECT_EQ(all["info"]["version"], "1.2.3");
  EXPECT_EQ(parameters_of(operation(all, "/v1/test/thing/{id}", "get")),
            "path id, query count, query all, query plain, region, index, wait");
  EXPECT_EQ(parameters_of(operation(all, "/v1/test/thing/{id}", "put")), "path id, region");
  EXPECT_EQ(parameters_of(operation(all, "/v1/test/follow", "get")), "query id, query count, query all, query plain");
  EXPECT_EQ(parameters_of(operation(all, "/v1/jobs", "get")),
            "query meta, region, namespace, index, wait, stale, prefix, per_page, next_token, reverse");
  EXPECT_EQ(operation(all, "/v1/test/thing/{id}", "put")["operationId"], "WebWrite");
  EXPECT_EQ(operation(all, "/v1/test/thing/{id}", "post")["operationId"], "WebWritePost");
  EXPECT_FALSE(all["paths"].contains("/v1/test/inside"));
}

TEST(OpenApi, SaysBodiesAnswersAndRights) {
  const json all = document();
  const json& registering = operation(all, "/v1/jobs", "put");

  EXPECT_EQ(registering["requestBody"]["content"]["application/json"]["schema"]["$ref"],
            "#/components/schemas/RegisterJobRequest");
  EXPECT_EQ(registering["responses"]["200"]["content"]["application/json"]["schema"]["$ref"],
            "#/components/schemas/RegisterJobResponse");
  EXPECT_EQ(registering["x-drover-access"], json({{"namespace", "submit-job"}}));
  EXPECT_TRUE(registering["responses"].contains("403"));
  EXPECT_FALSE(operation(all, "/v1/test/thing/{id}", "delete")["responses"]["200"].contains("content"));
  EXPECT_TRUE(
      operation(all, "/v1/test/large", "get")["responses"]["200"]["content"].contains("application/octet-stream"));
  EXPECT_TRUE(operation(all, "/v1/test/text", "get")["responses"]["200"]["content"].contains("text/plain"));
  EXPECT_TRUE(operation(all, "/v1/test/large", "put")["requestBody"]["content"].contains("application/octet-stream"));
  EXPECT_FALSE(operation(all, "/v1/test/maybe", "post")["requestBody"]["required"]);
}

TEST(OpenApi, MethodsThatAParameterTellsApartAreOneOperation) {
  const json all = document();
  const json& kinds = operation(all, "/v1/test/kinds", "get");

  EXPECT_EQ(kinds["operationId"], "WebOthers");
  EXPECT_EQ(kinds["responses"]["200"]["content"]["application/json"]["schema"]["oneOf"].size(), 2U);
}

TEST(OpenApi, TakesTheCommentsOfTheDeclarations) {
  const json all = document();
  const json& describing = operation(all, "/v1/openapi.json", "get");

  EXPECT_EQ(describing["summary"], "The API of this agent as an OpenAPI 3 document.");
  EXPECT_EQ(describing["security"], json::array());
  EXPECT_FALSE(operation(all, "/v1/test/text", "get").contains("summary"));
}

TEST(OpenApi, SchemasHaveTheFormsOfTheApi) {
  const json all = document();
  const auto property = [&](const char* type, const char* name) {
    return all.at("components").at("schemas").at(type).at("properties").at(name);
  };

  EXPECT_EQ(property("RegisterJobResponse", "EvalID")["type"], "string");
  EXPECT_TRUE(property("RegisterJobResponse", "EvalID").contains("pattern"));
  EXPECT_EQ(property("RegisterJobResponse", "JobModifyIndex")["minimum"], 0);
  EXPECT_EQ(property("JobListStub", "Datacenters")["items"]["type"], "string");
  EXPECT_EQ(property("JobListStub", "Datacenters")["nullable"], true);
  EXPECT_EQ(property("JobListStub", "Status")["enum"][1], "pending");
  EXPECT_EQ(property("JobSummary", "Summary")["additionalProperties"]["$ref"], "#/components/schemas/TaskGroupSummary");
  EXPECT_EQ(property("JobListStub", "JobSummary")["allOf"][0]["$ref"], "#/components/schemas/JobSummary");
  EXPECT_EQ(property("Task", "KillTimeout")["type"], "integer");
  EXPECT_EQ(property("PlanJobResponse", "NextPeriodicLaunch")["format"], "date-time");
  EXPECT_TRUE(all["components"]["schemas"].contains("drover.test.http.ThingReply"));
}

TEST(OpenApi, EveryReferenceLeadsSomewhere) {
  const json all = document();
  const std::function<void(const json&)> look = [&](const json& part) {
    if (!part.is_structured()) return;
    for (const json& each : part) look(each);
    if (!part.is_object() || !part.contains("$ref")) return;
    EXPECT_TRUE(all.contains(json::json_pointer(part["$ref"].get<std::string>().substr(1)))) << part["$ref"];
  };
  look(all);
}

}  // namespace
}  // namespace drover::api
