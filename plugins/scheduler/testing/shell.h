// The start of tests of the shells: a server in memory with the tables of this plugin and of those that it reads.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "deciding/generic_scheduler.h"
#include "drover/schema.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/host_volume.pb.h"
#include "sdk/testing/fake_host.h"
#include "settings/config_rpc.h"
#include "tables.h"
#include "testing/everywhere_scheduler.h"
#include "testing/fixtures.h"

namespace drover::scheduler::testing {

inline v1::Evaluation make_eval(const std::string& id, const v1::Job& job, uint64_t index = 1) {
  v1::Evaluation eval;
  eval.set_id(id_of(id));
  eval.set_namespace_(job.namespace_());
  eval.set_job_id(job.id());
  eval.set_type(job.type());
  eval.set_priority(job.priority());
  eval.set_triggered_by("job-register");
  eval.set_create_index(index);
  eval.set_modify_index(index);
  eval.set_status(v1::EVAL_STATUS_PENDING);
  return eval;
}

class ShellTest : public ::testing::Test {
 protected:
  ShellTest() {
    jobs_ = Table<v1::Job>(host_.rows().add_table(jobs_table().spec()));
    versions_ = Table<v1::Job>(host_.rows().add_table(job_versions_table().spec()));
    nodes_ = Table<v1::Node>(host_.rows().add_table(nodes_table().spec()));
    csi_volumes_ = Table<v1::CsiVolume>(host_.rows().add_table(csi_volumes_table().spec()));
    csi_claims_ = Table<v1::CsiClaim>(host_.rows().add_table(csi_claims_table().spec()));
    host_volumes_ = Table<v1::DynamicHostVolume>(host_.rows().add_table(host_volumes_table().spec()));
    host_volume_claims_ = Table<v1::HostVolumeClaim>(host_.rows().add_table(host_volume_claims_table().spec()));
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    tables_.deployments = host_.rows().add_table(deployments_table().spec());
    tables_.node_pools = host_.rows().add_table(node_pools_table().spec());
    EXPECT_TRUE(declare_config_command(host_.rows(), tables_).ok());
    EXPECT_TRUE(host_.rows().extend<Scheduler>("service", service_).ok());
    EXPECT_TRUE(host_.rows().extend<Scheduler>("batch", batch_).ok());
    EXPECT_TRUE(host_.rows().extend<Scheduler>("everywhere", everywhere_).ok());
  }

  // Each as one commit, as the plugins that own the rows write them.
  uint64_t put(const v1::Job& job) {
    return host_.commit([&](WriteTransaction& rows) {
      EXPECT_TRUE(jobs_.put(rows, job).ok());
      EXPECT_TRUE(versions_.put(rows, job).ok());
    });
  }
  uint64_t put(const v1::Node& node) {
    return host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(nodes_.put(rows, node).ok()); });
  }
  uint64_t put(const v1::Allocation& alloc) {
    return host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(tables_.allocs.put(rows, alloc).ok()); });
  }
  // Through the log, so that its indexes are set.
  uint64_t propose(const v1::Evaluation& eval) {
    v1::EvalsUpdated command;
    *command.add_evaluations() = eval;
    const auto applied = host_.propose(command, SteadyTime::max());
    EXPECT_TRUE(applied.ok()) << applied.status().message();
    return applied ? applied->index : 0;
  }

  std::optional<v1::Evaluation> eval(const std::string& id) { return tables_.evals.get(*host_.snapshot(), id_of(id)); }
  std::vector<v1::Allocation> allocs_of(const v1::Job& job) {
    return tables_.allocs.list(*host_.snapshot(), kAllocsByJob, of_job(job.namespace_(), job.id()));
  }
  bool eventually_has(const std::string& id, v1::EvalStatus status) {
    return host_.eventually([&](const ReadView& view) {
      const auto row = tables_.evals.get(view, id_of(id));
      return row && row->status() == status;
    });
  }

  GenericScheduler service_{/*is_batch=*/false}, batch_{/*is_batch=*/true};
  EverywhereScheduler everywhere_;
  drover::testing::FakeHost host_;
  Tables tables_;
  Table<v1::Job> jobs_, versions_;
  Table<v1::Node> nodes_;
  Table<v1::CsiVolume> csi_volumes_;
  Table<v1::CsiClaim> csi_claims_;
  Table<v1::DynamicHostVolume> host_volumes_;
  Table<v1::HostVolumeClaim> host_volume_claims_;
};

}  // namespace drover::scheduler::testing
