// For tests: servers with two nodes, n1 and n2, in whose place a test answers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/namespace.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_pool.pb.h"
#include "sdk/testing/fake_host.h"
#include "server/choose_node.h"
#include "server/keeper.h"
#include "server/rpc.h"

namespace drover::host_volumes {

inline std::string id_of(const std::string& name) { return (name + std::string(16, '.')).substr(0, 16); }

class ServerTest : public ::testing::Test {
 protected:
  ServerTest() {
    nodes_ = Table<v1::Node>(host_.rows().add_table(nodes_table().spec()));
    jobs_ = Table<v1::Job>(host_.rows().add_table(jobs_table().spec()));
    versions_ = Table<v1::Job>(host_.rows().add_table(job_versions_table().spec()));
    allocs_ = Table<v1::Allocation>(host_.rows().add_table(allocs_table().spec()));
    namespaces_ = Table<v1::Namespace>(host_.rows().add_table(namespaces_table().spec()));
    host_.rows().add_table(node_pools_table().spec());
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    steps_.start(host_);
    rpc_.start(host_);
    keeper_.start(host_);
    for (const char* name : {"n1", "n2"}) put_node(name);
    host_.answer_calls_with([this](const CallContext& context, const std::string& request) {
      EXPECT_TRUE(context.from_server);
      asked_.push_back(context.method.substr(context.method.rfind('/') + 1));
      requests_.push_back(request);
      return answer_ ? answer_() : Result<std::string>(std::string());
    });
  }

  // As it registers: with what it offers. `volume`: of that identifier, by the name "data"; empty: none.
  void put_node(const std::string& name, v1::NodeStatus status = v1::NODE_STATUS_READY,
                const std::string& volume = {}) {
    v1::Node node;
    node.set_id(id_of(name));
    node.set_name(name);
    node.set_status(status);
    (*node.mutable_attributes())[plugin_attribute("mkdir")] = "0.0.1";
    if (!volume.empty()) (*node.mutable_host_volumes())["data"].set_id(volume);
    host_.commit([&](WriteTransaction& rows) {
      node.set_modify_index(rows.index());
      EXPECT_TRUE(nodes_.put(rows, node).ok());
    });
  }
  // An allocation on the node that uses the volume "data".
  void put_user(const std::string& node, v1::ClientStatus status) {
    v1::Job job;
    job.set_namespace_("default");
    job.set_id("db");
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("app");
    v1::VolumeRequest& volume = (*group.mutable_volumes())["v"];
    volume.set_type("host");
    volume.set_source("data");
    v1::Allocation alloc;
    alloc.set_id(id_of("a1"));
    alloc.set_namespace_("default");
    alloc.set_job_id("db");
    alloc.set_name("db.app[0]");
    alloc.set_task_group("app");
    alloc.set_node_id(id_of(node));
    alloc.set_client_status(status);
    host_.commit([&](WriteTransaction& rows) {
      EXPECT_TRUE(jobs_.put(rows, job).ok());
      EXPECT_TRUE(versions_.put(rows, job).ok());
      EXPECT_TRUE(allocs_.put(rows, alloc).ok());
    });
  }
  void put_namespace(const std::string& name) {
    v1::Namespace row;
    row.set_name(name);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(namespaces_.put(rows, row).ok()); });
  }
  std::vector<v1::DynamicHostVolume> rows() {
    return tables_.volumes.list(*host_.snapshot(), kPrimary, KeyRange::all());
  }

  testing::FakeHost host_;
  Tables tables_;
  Steps steps_{tables_};
  Rpc rpc_{tables_, steps_};
  Keeper keeper_{tables_, steps_};
  Table<v1::Node> nodes_;
  Table<v1::Job> jobs_, versions_;
  Table<v1::Allocation> allocs_;
  Table<v1::Namespace> namespaces_;
  std::function<Result<std::string>()> answer_;  // of nodes; without it, an empty one
  std::vector<std::string> asked_, requests_;
};

}  // namespace drover::host_volumes
