#include "drover/json.h"

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"

namespace drover {
namespace {

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Json, NamesAreTheApisOwn) {
  v1::Job job;
  job.set_id("web");
  job.set_job_modify_index(7);
  job.add_task_groups()->add_tasks()->mutable_resources()->set_memory_mb(64);
  std::string json = message_to_json(job);
  EXPECT_TRUE(contains(json, R"("ID":"web")")) << json;
  EXPECT_TRUE(contains(json, R"("JobModifyIndex":7)"));
  EXPECT_TRUE(contains(json, R"("MemoryMB":64)"));
}

TEST(Json, AbsentThingsAreNull) {
  std::string json = message_to_json(v1::Job());
  EXPECT_TRUE(contains(json, R"("TaskGroups":null)")) << json;
  EXPECT_TRUE(contains(json, R"("Meta":null)"));
  EXPECT_TRUE(contains(json, R"("Update":null)"));
  EXPECT_TRUE(contains(json, R"("Status":null)"));
  EXPECT_TRUE(contains(message_to_json(v1::Service()), R"("Name":"")"));
}

TEST(Json, SomeFieldsStayWhereEmptyOnesAreLeftOut) {
  const std::string json = message_to_json(v1::Evaluation());
  EXPECT_TRUE(contains(json, R"("DeploymentID":"")")) << json;
  EXPECT_TRUE(contains(json, R"("FailedTGAllocs":null)"));
  EXPECT_FALSE(contains(json, "NodeID"));
}

TEST(Json, AnObjectThatSaysNothingMayBeNull) {
  v1::AllocatedResources resources;
  (*resources.mutable_task_lifecycles())["main"];
  (*resources.mutable_task_lifecycles())["side"].set_hook("prestart");
  const std::string json = message_to_json(resources);
  EXPECT_TRUE(contains(json, R"("TaskLifecycles":{"main":null,"side":{"Hook":"prestart","Sidecar":false}})")) << json;
}

TEST(Json, OmitEmptyObjectsDropEmptyFieldsButKeepPlainStructs) {
  v1::Allocation alloc;
  alloc.set_name("web.a[0]");
  EXPECT_EQ(
      R"({"Name":"web.a[0]","DesiredTransition":{"Migrate":null,"Reschedule":null,"ForceReschedule":null,"NoShutdownDelay":null},"DeploymentID":"","DeploymentStatus":null})",
      message_to_json(alloc));
}

TEST(Json, FormsOfValues) {
  v1::Evaluation eval;
  Uuid id = Uuid::random();
  eval.set_id(id.bytes());
  eval.set_status(v1::EVAL_STATUS_BLOCKED);
  eval.set_wait_until(1700000000000000000);
  std::string json = message_to_json(eval);
  EXPECT_TRUE(contains(json, "\"ID\":\"" + id.to_string() + "\""));
  EXPECT_TRUE(contains(json, R"("Status":"blocked")"));
  EXPECT_TRUE(contains(json, R"("WaitUntil":"2023-11-14T22:13:20Z")"));
  v1::Node node;
  node.set_secret_id(id.bytes());
  EXPECT_FALSE(contains(message_to_json(node), id.to_string()));
}

TEST(Json, RoundTrip) {
  v1::Job job;
  job.set_id("web \"quoted\" \xe2\x82\xac");
  job.set_priority(70);
  (*job.mutable_meta())["k"] = "v";
  v1::TaskGroup* group = job.add_task_groups();
  group->set_count(0);
  group->add_networks()->add_dynamic_ports()->set_label("http");
  v1::Task* task = group->add_tasks();
  task->set_config(R"({"args":["-c","sleep 1"],"command":"/bin/sh"})");
  task->set_kill_timeout(5'000'000'000);
  v1::Job back;
  ASSERT_TRUE(json_to_message(message_to_json(job, {.pretty = true}), back).ok());
  EXPECT_EQ(job.SerializeAsString(), back.SerializeAsString());
}

TEST(Json, ReadsDurationsAsTextAndNamesInAnyCase) {
  v1::Job job;
  ASSERT_TRUE(
      json_to_message(R"({"id":"a","taskgroups":[{"Tasks":[{"KillTimeout":"1m30s"}]}],"Unknown":[1,{}]})", job).ok());
  EXPECT_EQ("a", job.id());
  EXPECT_EQ(90'000'000'000, job.task_groups(0).tasks(0).kill_timeout());
}

TEST(Json, ErrorsNameThePlace) {
  struct Case {
    const char* json;
    const char* message;
  };
  const Case cases[] = {
      {R"({"TaskGroups":[{"Count":"three"}]})", "TaskGroups[0].Count: expected a whole number, found string"},
      {R"({"TaskGroups":{}})", "TaskGroups: expected a list, found object"},
      {R"({"ID":7})", "ID: expected a string, found number"},
      {R"({"Meta":{"a":1}})", "Meta[\"a\"]: expected a string, found number"},
      {R"({"Priority":99999999999})", "Priority: 99999999999 is out of range"},
      {R"([])", "the body: expected an object, found array"},
      {"{\n  \"ID\": nope}", "invalid JSON at line 2, column 10"},
      {"", "invalid JSON at line 1, column 1: unexpected end"},
  };
  for (const Case& c : cases) {
    v1::Job job;
    Status status = json_to_message(c.json, job);
    EXPECT_EQ(Code::invalid_argument, status.code()) << c.json;
    EXPECT_TRUE(contains(status.message(), c.message)) << status.message();
  }
  v1::Job job;
  EXPECT_TRUE(contains(json_to_message(std::string(100000, '['), job).message(), "nested deeper"));
}

TEST(Json, ParametersFillFields) {
  v1::Job job;
  const auto* type = v1::Job::descriptor();
  EXPECT_TRUE(text_to_field("", *type->FindFieldByName("stop"), job).ok());
  EXPECT_TRUE(job.stop());
  EXPECT_TRUE(text_to_field("12", *type->FindFieldByName("version"), job).ok());
  EXPECT_EQ(12u, job.version());
  EXPECT_FALSE(text_to_field("-1", *type->FindFieldByName("version"), job).ok());
  EXPECT_FALSE(text_to_field("maybe", *type->FindFieldByName("stop"), job).ok());
}

}  // namespace
}  // namespace drover
