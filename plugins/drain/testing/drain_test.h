// Nodes, allocations and a job in memory, for tests of what a drain does to them.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "sdk/testing/fake_host.h"
#include "tables.h"

namespace drover::drain::testing {

inline const std::string kNode = "nnnnnnnnnnnnnnnn";
inline const std::string kAlloc = "aaaaaaaaaaaaaaaa";

// A server in memory whose owners of nodes and allocations do as they are told.
class DrainTest : public ::testing::Test {
 protected:
  DrainTest() {
    Declarations& rows = host_.rows();
    nodes_ = *declare_table(rows, nodes_table());
    allocs_ = *declare_table(rows, allocs_table());
    jobs_ = *declare_table(rows, jobs_table());
    EXPECT_TRUE(
        rows.command("drover.v1.AllocationsTransitioned",
                     [this](std::string_view bytes, ApplyContext& context) { return transitioned(bytes, context); })
            .ok());
    EXPECT_TRUE(
        rows.command("drover.v1.NodeDrainUpdated",
                     [this](std::string_view bytes, ApplyContext& context) { return drain_updated(bytes, context); })
            .ok());
    EXPECT_TRUE(declare_tables(rows, tables_).ok());
    put_job(1);
  }

  // Its group keeps all but one healthy.
  void put_job(int count) {
    v1::Job job;
    job.set_namespace_("default");
    job.set_id("web");
    job.set_type("service");
    job.add_task_groups()->set_name("app");
    job.mutable_task_groups(0)->set_count(count);
    host_.commit([&](WriteTransaction& write) { EXPECT_TRUE(jobs_.put(write, job).ok()); });
  }

  Result<std::string> transitioned(std::string_view bytes, ApplyContext& context) {
    DROVER_TRY(const auto command, parse_message<v1::AllocationsTransitioned>(bytes));
    for (const std::string& id : command.alloc_ids()) {
      v1::Allocation alloc = allocs_.get(context.rows(), id).value();
      alloc.mutable_desired_transition()->MergeFrom(command.transition());
      DROVER_RETURN_IF_ERROR(allocs_.put(context.rows(), alloc));
    }
    evaluated_ += command.evaluations_size();
    return std::string();
  }
  Result<std::string> drain_updated(std::string_view bytes, ApplyContext& context) {
    DROVER_TRY(const auto command, parse_message<v1::NodeDrainUpdated>(bytes));
    v1::Node node = nodes_.get(context.rows(), command.node_id()).value();
    node.set_drain(false);
    *node.add_events() = command.event();
    DROVER_RETURN_IF_ERROR(nodes_.put(context.rows(), node));
    return std::string();
  }

  void put_alloc(v1::ClientStatus status, const std::string& id = kAlloc) {
    v1::Allocation alloc;
    alloc.set_id(id);
    alloc.set_namespace_("default");
    alloc.set_job_id("web");
    alloc.set_task_group("app");
    alloc.set_node_id(kNode);
    alloc.set_client_status(status);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(allocs_.put(rows, alloc).ok()); });
  }

  drover::testing::FakeHost host_;
  Tables tables_;
  Table<v1::Node> nodes_;
  Table<v1::Allocation> allocs_;
  Table<v1::Job> jobs_;
  int evaluated_ = 0;  // jobs
};

}  // namespace drover::drain::testing
