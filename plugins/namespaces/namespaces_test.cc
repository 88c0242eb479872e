#include <gtest/gtest.h>

#include <string>

#include "drover/api/namespaces.pb.h"
#include "drover/json.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/namespace.pb.h"
#include "drover/v1/variable.pb.h"
#include "namespaces.pb.h"
#include "rpc.h"
#include "rules.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/permissions.h"
#include "tables.h"

namespace drover::namespaces {
namespace {

v1::NamespaceSpec named(const std::string& name) {
  v1::NamespaceSpec spec;
  spec.set_name(name);
  return spec;
}

TEST(NamespaceRules, SayWhatIsWrong) {
  const struct {
    const char* json;
    const char* error;
  } cases[] = {
      {R"({"Name":"prod-1","Meta":{"team":"web"}})", ""},
      {R"({"Name":"-","Quota":"","NodePoolConfiguration":null,"Capabilities":null})", ""},
      {R"({"Name":"p","Capabilities":{"EnabledTaskDrivers":["exec"],"DisabledNetworkModes":["host"]}})", ""},
      {R"({"Name":""})", "Invalid namespace \"\": invalid name \"\". Must match regex ^[a-zA-Z0-9-]{1,128}$"},
      {R"({"Name":"a_b"})", "invalid name \"a_b\""},
      {R"({"Name":"a/b"})", "invalid name \"a/b\""},
      {R"({"Name":"*"})", "invalid name \"*\""},
      {R"({"Name":"é"})", "invalid name"},
      {R"({"Name":"a","Quota":"big"})", "namespace \"a\" using non-existent quota \"big\""},
      {R"({"Name":"a","NodePoolConfiguration":{"Default":"gpu"}})", "Node Pools Governance is unlicensed."},
      {R"({"Name":"a","VaultConfiguration":{}})", "Multi-Cluster Vault is unlicensed."},
      {R"({"Name":"a","ConsulConfiguration":{}})", "Multi-Cluster Consul is unlicensed."},
      {R"({"Name":"a","Capabilities":{"EnabledTaskDrivers":[""]}})", "EnabledTaskDrivers has an empty name"},
      {R"({"Name":"a b","Quota":"big"})", "Must match regex ^[a-zA-Z0-9-]{1,128}$; namespace \"a b\" using"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.json);
    v1::NamespaceSpec spec;
    ASSERT_TRUE(json_to_message(c.json, spec).ok());
    const auto row = accepted(spec);
    EXPECT_EQ(row.ok(), *c.error == '\0') << row.status().message();
    EXPECT_NE(row.status().message().find(c.error), std::string::npos) << row.status().message();
  }
}

TEST(NamespaceRules, LimitTheLengthOfNamesAndDescriptions) {
  v1::NamespaceSpec spec = named(std::string(128, 'x'));
  spec.set_description(std::string(256, 'x'));
  EXPECT_TRUE(accepted(spec).ok());
  EXPECT_FALSE(accepted(named(std::string(129, 'x'))).ok());
  spec.set_description(std::string(257, 'x'));
  EXPECT_NE(accepted(spec).status().message().find("description longer than 256"), std::string::npos);
}

TEST(NamespaceRules, TheDigestIsOfTheContentAlone) {
  v1::NamespaceSpec spec = named("prod");
  const auto first = accepted(spec);
  const auto again = accepted(spec);
  (*spec.mutable_meta())["team"] = "web";
  const auto other = accepted(spec);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ(first->hash().size(), 32U);
  EXPECT_EQ(first->hash(), again->hash());
  EXPECT_NE(first->hash(), other->hash());
}

class Namespaces : public ::testing::Test {
 protected:
  Namespaces() {
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    // Their plugins come later.
    jobs_ = Table<v1::Job>(host_.rows().add_table(jobs_table().spec()));
    allocs_ = Table<v1::Allocation>(host_.rows().add_table(allocs_table().spec()));
    variables_ = Table<v1::VariableMetadata>(host_.rows().add_table(
        Table<v1::VariableMetadata>::spec("variables", {}, [](const v1::VariableMetadata& row, RowKeys& keys) {
          keys.primary(KeyBuilder().text(row.namespace_()).text(row.path()).take());
        })));
    volumes_ = Table<v1::CsiVolume>(host_.rows().add_table(csi_volumes_table().spec()));
    host_volumes_ = Table<v1::DynamicHostVolume>(host_.rows().add_table(host_volumes_table().spec()));
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    rpc_.start("eu");
  }

  std::string apply(const v1::NamespaceSpec& spec, const std::string& path_name = "") {
    v1::ApplyNamespaceRequest request;
    *request.mutable_namespace_() = spec;
    request.set_name(path_name);
    return host_.answer<v1::ApplyNamespaceResponse>("/drover.v1.Namespaces/Apply", request).status().to_string();
  }
  std::string erase(const std::string& name) {
    v1::NamespaceRequest request;
    request.set_name(name);
    return host_.answer<v1::DeleteNamespaceResponse>("/drover.v1.Namespaces/Delete", request).status().to_string();
  }
  Result<v1::NamespaceResponse> get(const std::string& name) {
    v1::NamespaceRequest request;
    request.set_name(name);
    return host_.answer<v1::NamespaceResponse>("/drover.v1.Namespaces/Get", request);
  }
  std::string names(QueryOptions query = {}, ReplyMeta* meta = nullptr) {
    const auto answer = host_.answer<v1::ListNamespacesResponse>("/drover.v1.Namespaces/List",
                                                                 v1::ListNamespacesRequest(), std::move(query), meta);
    if (!answer) return answer.status().message();
    std::string text;
    for (const v1::Namespace& each : answer->namespaces()) text += (text.empty() ? "" : " ") + each.name();
    return text;
  }
  std::string delete_by_log(const std::string& name) {
    v1::NamespaceDeleted command;
    command.set_name(name);
    command.set_region("eu");
    return host_.propose(command, SteadyTime::max()).status().to_string();
  }
  void put_job(const std::string& name_space, v1::JobStatus status) {
    host_.commit([&](WriteTransaction& rows) {
      v1::Job job;
      job.set_namespace_(name_space);
      job.set_id("web");
      job.set_status(status);
      EXPECT_TRUE(jobs_.put(rows, job).ok());
    });
  }
  void put_alloc(const std::string& name_space, v1::ClientStatus status) {
    host_.commit([&](WriteTransaction& rows) {
      v1::Allocation alloc;
      alloc.set_id("aaaaaaaaaaaaaaaa");
      alloc.set_namespace_(name_space);
      alloc.set_job_id("gone");
      alloc.set_client_status(status);
      EXPECT_TRUE(allocs_.put(rows, alloc).ok());
    });
  }
  void put_variable(const std::string& name_space) {
    host_.commit([&](WriteTransaction& rows) {
      v1::VariableMetadata row;
      row.set_namespace_(name_space);
      row.set_path("secret/path");
      EXPECT_TRUE(variables_.put(rows, row).ok());
    });
  }

  void put_volume(const std::string& name_space) {
    host_.commit([&](WriteTransaction& rows) {
      v1::CsiVolume row;
      row.set_namespace_(name_space);
      row.set_id("data");
      EXPECT_TRUE(volumes_.put(rows, row).ok());
    });
  }

  drover::testing::FakeHost host_;
  Tables tables_;
  Table<v1::Job> jobs_;
  Table<v1::Allocation> allocs_;
  Table<v1::VariableMetadata> variables_;
  Table<v1::CsiVolume> volumes_;
  Table<v1::DynamicHostVolume> host_volumes_;
  Rpc rpc_{tables_};
};

TEST_F(Namespaces, AreCreatedChangedAndDeleted) {
  v1::NamespaceSpec spec = named("prod");
  spec.set_description("first");
  EXPECT_EQ(apply(spec), "ok");
  const auto first = get("prod");
  ASSERT_TRUE(first.ok());
  spec.set_description("second");
  spec.mutable_capabilities()->add_disabled_task_drivers("raw_exec");
  EXPECT_EQ(apply(spec, "prod"), "ok");
  const auto second = get("prod");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->namespace_().description(), "second");
  EXPECT_EQ(second->namespace_().capabilities().disabled_task_drivers(0), "raw_exec");
  EXPECT_NE(second->namespace_().hash(), first->namespace_().hash());
  EXPECT_EQ(second->namespace_().create_index(), first->namespace_().create_index());
  EXPECT_GT(second->namespace_().modify_index(), first->namespace_().modify_index());
  EXPECT_EQ(erase("prod"), "ok");
  EXPECT_EQ(get("prod").status().to_string(), "not_found: Namespace not found");
  EXPECT_EQ(erase("prod"), "not_found: namespace not found");
  EXPECT_EQ(delete_by_log("prod"), "not_found: namespace not found");
}

TEST_F(Namespaces, OfThePathAndTheBodyAreOne) {
  EXPECT_EQ(apply(named("a"), "b"), "invalid_argument: Namespace name does not match request path");
  EXPECT_EQ(apply(named(""), "b"), "invalid_argument: Namespace name does not match request path");
  EXPECT_EQ(names(), "default");
}

TEST_F(Namespaces, DefaultIsThereFromTheStartAndStays) {
  const auto before = get("default");
  ASSERT_TRUE(before.ok());
  EXPECT_EQ(before->namespace_().description(), "Default shared namespace");
  EXPECT_EQ(before->namespace_().create_index(), 1U);
  EXPECT_EQ(before->namespace_().hash().size(), 32U);
  v1::NamespaceSpec spec = named("default");
  spec.set_description("everybody's");
  EXPECT_EQ(apply(spec), "ok");
  EXPECT_EQ(names(), "default");
  EXPECT_EQ(get("default")->namespace_().description(), "everybody's");
  EXPECT_EQ(get("default")->namespace_().create_index(), 1U);
  EXPECT_EQ(erase("default"), "invalid_argument: can not delete default namespace");
}

TEST_F(Namespaces, HaveTheJsonThatClientsKnow) {
  v1::NamespaceSpec spec = named("prod");
  EXPECT_EQ(apply(spec), "ok");
  v1::NamespaceResponse answer = *get("prod");
  answer.mutable_namespace_()->set_hash("abc");
  EXPECT_EQ(message_to_json(answer.namespace_()),
            R"({"Name":"prod","Description":"","Quota":"","Capabilities":null,"Meta":null,"Hash":"YWJj",)"
            R"("CreateIndex":1,"ModifyIndex":1})");
}

TEST_F(Namespaces, AreNotDeletedWhileSomethingIsInThem) {
  const std::string refused = "invalid_argument: 1 error occurred:\n\t* namespace \"prod\" has ";
  for (const char* name : {"prod", "prod2"}) EXPECT_EQ(apply(named(name)), "ok");
  put_job("prod", v1::JOB_STATUS_PENDING);
  EXPECT_EQ(erase("prod"), refused + "non-terminal jobs in regions: [eu]\n");
  EXPECT_EQ(delete_by_log("prod"), refused + "non-terminal jobs in regions: [eu]\n");
  put_job("prod", v1::JOB_STATUS_DEAD);
  put_alloc("prod", v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ(erase("prod"), refused + "non-terminal allocations in regions: [eu]\n");
  EXPECT_EQ(delete_by_log("prod"), refused + "non-terminal allocations in regions: [eu]\n");
  put_variable("prod");
  EXPECT_EQ(erase("prod"),
            "invalid_argument: 2 errors occurred:\n"
            "\t* namespace \"prod\" has non-terminal allocations in regions: [eu]\n"
            "\t* namespace \"prod\" has variables associated with it in regions: [eu]\n");
  put_alloc("prod", v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ(delete_by_log("prod"), refused + "variables associated with it in regions: [eu]\n");
  EXPECT_EQ(names(), "default prod prod2");
  EXPECT_EQ(erase("prod2"), "ok");  // of which the other's name is the beginning
}

TEST_F(Namespaces, AreNotDeletedWhileTheyHaveVolumes) {
  const std::string refused =
      "invalid_argument: 1 error occurred:\n\t* namespace \"prod\" has volumes in regions: [eu]\n";
  EXPECT_EQ(apply(named("prod")), "ok");
  put_volume("prod2");
  put_volume("prod");
  EXPECT_EQ(erase("prod"), refused);
  EXPECT_EQ(delete_by_log("prod"), refused);
  EXPECT_EQ(names(), "default prod");
}

TEST_F(Namespaces, AreDeletedWhereNothingElseIsLoaded) {
  drover::testing::FakeHost host;
  Tables tables;
  ASSERT_TRUE(declare_tables(host.rows(), tables).ok());
  EXPECT_TRUE(check_unused(*host.snapshot(), tables, "prod", "eu").ok());
}

TEST_F(Namespaces, AreListedByPrefixFilterAndPage) {
  for (const char* name : {"prod-a", "prod-b", "dev", "test"}) {
    v1::NamespaceSpec spec = named(name);
    (*spec.mutable_meta())["env"] = std::string(name).substr(0, 4);
    EXPECT_EQ(apply(spec), "ok");
  }
  EXPECT_EQ(names({.prefix = "prod"}), "prod-a prod-b");
  EXPECT_EQ(names({.prefix = "de"}), "default dev");
  EXPECT_EQ(names({.filter = "Meta.env == test"}), "test");
  EXPECT_EQ(names({.filter = "Description contains shared"}), "default");
  EXPECT_EQ(names({.filter = "=="}).find("failed to create result paginator"), 0U);
  EXPECT_EQ(names({.filter = "Nothing == 1"}).find("failed to read result page"), 0U);
  ReplyMeta meta;
  EXPECT_EQ(names({.per_page = 2}, &meta), "default dev");
  EXPECT_EQ(meta.next_token, "prod-a");
  EXPECT_EQ(names({.per_page = 2, .next_token = "prod-a"}, &meta), "prod-a prod-b");
  EXPECT_EQ(meta.next_token, "test");
  EXPECT_EQ(names({.per_page = 2, .next_token = "test"}, &meta), "test");
  EXPECT_EQ(meta.next_token, "");
  EXPECT_EQ(names({.next_token = "dev", .reverse = true}), "dev default");
}

TEST_F(Namespaces, AreShownToWhomTheyConcern) {
  EXPECT_EQ(apply(named("prod")), "ok");
  host_.call_as({Identity::Kind::token, "of prod", std::make_shared<drover::testing::OnlyIn>("prod")});
  EXPECT_EQ(names(), "prod");
  EXPECT_TRUE(get("prod").ok());
  EXPECT_EQ(get("default").status().to_string(), "permission_denied: Permission denied");
  EXPECT_EQ(get("absent").status().to_string(), "permission_denied: Permission denied");
  host_.call_as({Identity::Kind::anonymous, "", std::make_shared<drover::testing::OnlyIn>("nowhere")});
  EXPECT_EQ(names(), "");
}

}  // namespace
}  // namespace drover::namespaces
