// The price of many claims on the leader: microseconds of one look at all of them, when nothing is to be done, beside
// reading their rows once. Through the kernel's store; each claim has an allocation of its own and a node.
//
//   claims_bench [claims]      default: 1,000, 10,000, 100,000
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "csi/volumes/claims/claim_groups.h"
#include "csi/volumes/claims/next_step.h"
#include "csi/volumes/tables.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/csi.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "kernel/state/store.h"
#include "kernel/state/transaction.h"
#include "tests/bench/scheduler/measure.h"

namespace drover {
namespace {

constexpr int kRounds = 5;
constexpr int kNodes = 1'000;

void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  std::exit(1);
}

// A store with the tables that claims are decided by.
struct World {
  World()
      : tables{.volumes = declared(csi_volumes_table()),
               .claims = declared(csi_claims_table()),
               .nodes = declared(nodes_table()).id(),
               .jobs = declared(jobs_table()).id(),
               .job_versions = declared(job_versions_table()).id(),
               .allocs = declared(allocs_table()).id(),
               .root_keys = {}} {}

  template <typename Message>
  Table<Message> declared(TableShape<Message> shape) {
    auto id = store.add_table(shape.spec());
    check(id.status());
    return Table<Message>(*id, shape.indexes.size(), shape.keys);
  }

  state::Store store;
  volumes::Tables tables;
};

void fill(World& world, int claims) {
  std::vector<std::string> nodes;
  auto transaction = world.store.begin(1);
  const Table<v1::Node> node_rows = {world.tables.nodes, nodes_table().indexes.size(), nodes_table().keys};
  const Table<v1::Allocation> alloc_rows = {world.tables.allocs, allocs_table().indexes.size(), allocs_table().keys};
  for (int i = 0; i < kNodes; ++i) {
    const v1::Node node = bench::make_node(i);
    nodes.push_back(node.id());
    check(node_rows.put(*transaction, node));
  }
  for (int i = 0; i < claims; ++i) {
    v1::Allocation alloc;
    alloc.set_id(Uuid::random().bytes());
    alloc.set_namespace_("default");
    alloc.set_job_id("job-" + std::to_string(i));
    alloc.set_node_id(nodes[static_cast<size_t>(i % kNodes)]);
    alloc.set_client_status(v1::CLIENT_STATUS_RUNNING);
    for (int task = 0; task < 2; ++task) {
      v1::TaskState& state = (*alloc.mutable_task_states())["task-" + std::to_string(task)];
      for (int event = 0; event < 8; ++event) state.add_events()->set_display_message("Task received by client");
    }
    check(alloc_rows.put(*transaction, alloc));
    v1::CsiVolume volume;
    volume.set_id("volume-" + std::to_string(i));
    volume.set_namespace_("default");
    volume.set_plugin_id("disks");
    volume.set_external_id("external-" + std::to_string(i));
    check(world.tables.volumes.put(*transaction, volume));
    v1::CsiClaim claim;
    claim.set_namespace_("default");
    claim.set_volume_id(volume.id());
    claim.set_alloc_id(alloc.id());
    claim.set_node_id(alloc.node_id());
    claim.set_plugin_id(volume.plugin_id());
    claim.set_external_volume_id(volume.external_id());
    claim.set_external_node_id("node-" + std::to_string(i % kNodes));
    claim.set_access_mode("single-node-writer");
    claim.set_attachment_mode("file-system");
    claim.set_attaches(true);
    claim.set_step(v1::CSI_CLAIM_STEP_ATTACHED);
    check(world.tables.claims.put(*transaction, claim));
  }
  transaction->commit();
}

void run(int claims) {
  World world;
  fill(world, claims);
  const auto view = world.store.snapshot("bench");
  std::vector<double> looks, reads;
  for (int round = 0; round < kRounds; ++round) {
    double began = bench::processor_us();
    for (const auto& [remote, facts] : volumes::claim_groups(*view, world.tables)) {
      if (volumes::next_steps(facts, false, 1).now.empty()) continue;
      std::fprintf(stderr, "a claim has something to do\n");
      std::exit(1);
    }
    looks.push_back(bench::processor_us() - began);
    began = bench::processor_us();
    int seen = 0;
    world.tables.claims.scan(*view, kPrimary, KeyRange::all(), [&](v1::CsiClaim&, std::string_view) { return ++seen > 0; });
    reads.push_back(bench::processor_us() - began);
  }
  const double look = bench::median(looks), read = bench::median(reads);
  std::printf("%9d %12.0f %10.2f %12.0f %8.1f\n", claims, look, look / claims, read, look / read);
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  std::printf("   claims   a look, us   us/claim   reading, us    ratio\n");
  if (argc > 1) {
    drover::run(std::atoi(argv[1]));
    return 0;
  }
  for (const int claims : {1'000, 10'000, 100'000}) drover::run(claims);
}
