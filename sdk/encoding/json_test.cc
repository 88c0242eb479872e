#include "drover/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <random>

#include "drover/message_fields.h"
#include "drover/messages.h"
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

TEST(Json, SerializedMessagesArePrintedAsMessagesAre) {
  v1::Job job;
  job.set_id("web");
  (*job.mutable_meta())["b"] = "2";
  (*job.mutable_meta())["a"] = "1";
  job.add_task_groups()->set_name("g");
  const auto* groups = v1::Job::descriptor()->FindFieldByName("task_groups");
  const std::string bytes = job.SerializeAsString();
  EXPECT_EQ(*serialized_to_json(bytes, *v1::Job::descriptor()), message_to_json(job));
  EXPECT_EQ(*serialized_to_json(bytes, *groups), field_to_json(job, *groups));
  EXPECT_TRUE(contains(message_to_json(job), R"("Meta":{"a":"1","b":"2"})"));
}

// Parts of a message that stand one behind the other merge as protobuf says: numbers and entries replace, messages add,
// lists go on. Unknown fields are passed over.
TEST(Json, PartsOfASerializedMessageAreOne) {
  v1::Evaluation first;
  first.set_priority(50);
  (*first.mutable_queued_allocations())["a"] = 1;
  (*first.mutable_queued_allocations())["b"] = 2;
  v1::Evaluation second;
  second.set_priority(70);
  (*second.mutable_queued_allocations())["a"] = 3;
  std::string bytes = first.SerializeAsString();
  append_field(bytes, 999, 5);
  append_field(bytes, 998, "unknown");
  bytes += second.SerializeAsString();
  EXPECT_EQ(*serialized_to_json(bytes, *v1::Evaluation::descriptor()),
            R"({"Priority":70,"DeploymentID":"","FailedTGAllocs":null,"QueuedAllocations":{"a":3,"b":2}})");

  v1::NodeReservedResources reserved;
  reserved.mutable_cpu()->set_cpu_shares(100);
  reserved.mutable_cpu()->add_reserved_cpu_cores(1);
  v1::NodeReservedResources more;
  more.mutable_cpu()->add_reserved_cpu_cores(2);
  more.mutable_cpu()->add_reserved_cpu_cores(300);
  const auto* cpu = v1::NodeReservedResources::descriptor()->FindFieldByName("cpu");
  v1::NodeReservedResources both = reserved;
  both.MergeFrom(more);
  const auto shown = serialized_to_json(reserved.SerializeAsString() + more.SerializeAsString(), *cpu);
  EXPECT_EQ(*shown, field_to_json(both, *cpu));
  EXPECT_TRUE(contains(*shown, "[1,2,300]")) << *shown;
}

TEST(Json, WhatIsNoSerializedMessageIsRefused) {
  v1::Job job;
  job.add_task_groups()->set_name("group");
  const std::string bytes = job.SerializeAsString();
  for (size_t size = 1; size < bytes.size(); ++size) {
    const auto shown = serialized_to_json(std::string_view(bytes).substr(0, size), *v1::Job::descriptor());
    EXPECT_EQ(shown.status().code(), Code::data_loss) << size;
  }
  google::protobuf::Value deep;
  google::protobuf::Value* inner = &deep;
  for (int i = 0; i < 100; ++i) inner = inner->mutable_list_value()->add_values();
  EXPECT_EQ(serialized_to_json(deep.SerializeAsString(), *deep.GetDescriptor()).status().code(), Code::data_loss);
  EXPECT_GT(message_to_json(deep).size(), 1000u);
}

// Whatever protobuf makes of damaged bytes, they are printed as that.
TEST(Json, DamagedBytesAreReadAsProtobufReadsThem) {
  v1::Job job;
  job.set_id("web");
  job.set_priority(70);
  job.add_datacenters("dc1");
  job.add_datacenters("dc2");
  (*job.mutable_meta())["a"] = "1";
  v1::Task* task = job.add_task_groups()->add_tasks();
  task->set_name("t");
  task->set_kill_timeout(5'000'000'000);
  (*task->mutable_env())["PATH"] = "/bin";
  const std::string whole = job.SerializeAsString();
  std::mt19937 random(7);
  size_t compared = 0;
  const google::protobuf::LogSilencer silence;  // about text that is no UTF-8
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const size_t at = random() % bytes.size();
      if (random() % 2 == 0) {
        bytes[at] = static_cast<char>(random());
      } else {
        bytes.erase(at, 1 + random() % 4);
      }
    }
    v1::Job read;
    if (!read.ParseFromString(bytes)) continue;
    const auto shown = serialized_to_json(bytes, *v1::Job::descriptor());
    if (!shown.ok()) continue;  // a group among unknown fields
    ++compared;
    ASSERT_EQ(*shown, message_to_json(read)) << "round " << round;
  }
  EXPECT_GT(compared, 1000u);
}

TEST(Json, OfValuesThatExcludeEachOtherTheLastIsPrinted) {
  google::protobuf::Value text;
  text.set_string_value("x");
  google::protobuf::Value number;
  number.set_number_value(0.5);
  EXPECT_EQ(*serialized_to_json(text.SerializeAsString() + number.SerializeAsString(), *text.GetDescriptor()),
            message_to_json(number));
}

TEST(Messages, FieldsAreReadAndWrittenInTheirBytes) {
  v1::Evaluation eval;
  eval.set_namespace_("default");
  eval.set_priority(50);
  eval.set_job_id("web");
  std::string bytes = eval.SerializeAsString();
  EXPECT_EQ(number_field(bytes, v1::Evaluation::kPriorityFieldNumber), 50u);
  EXPECT_EQ(bytes_field(bytes, v1::Evaluation::kJobIdFieldNumber), "web");
  EXPECT_EQ(bytes_field(bytes, v1::Evaluation::kTypeFieldNumber), "");
  append_field(bytes, v1::Evaluation::kPriorityFieldNumber, 300);
  append_field(bytes, v1::Evaluation::kTypeFieldNumber, "batch");
  std::string without;
  append_without(without, bytes, v1::Evaluation::kJobIdFieldNumber);
  eval.set_priority(300);
  eval.set_type("batch");
  eval.clear_job_id();
  v1::Evaluation back;
  ASSERT_TRUE(back.ParseFromString(without));
  EXPECT_EQ(back.SerializeAsString(), eval.SerializeAsString());
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
