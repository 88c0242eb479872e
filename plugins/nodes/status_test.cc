// The fate of a node that falls silent, is heard again, or drains; and which jobs must look at it.
#include <gtest/gtest.h>

#include "drover/api/nodes.pb.h"
#include "drover/schema.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "node_evaluations.h"
#include "nodes.pb.h"
#include "rpc.h"
#include "sdk/testing/fake_host.h"
#include "tables.h"

namespace drover::nodes {
namespace {

const std::string kNode = "nnnnnnnnnnnnnnnn";
constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kNow = 1'000'000 * kSecond;

class NodeLife : public ::testing::Test {
 protected:
  NodeLife() {
    Declarations& rows = host_.rows();
    allocs_ = *declare_table(rows, allocs_table());
    jobs_ = *declare_table(rows, jobs_table());
    versions_ = *declare_table(rows, job_versions_table());
    host_.rows().add_table(node_pools_table().spec());
    EXPECT_TRUE(declare_tables(host_.rows(), nodes_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(introductions_.start(host_, {}).ok());
    EXPECT_TRUE(rpc_.start(host_).ok());
    node_.set_id(kNode);
    node_.set_datacenter("dc1");
    node_.set_status(v1::NODE_STATUS_READY);
    node_.set_scheduling_eligibility("eligible");
    put(node_);
  }
  void put(const v1::Node& node) {
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(nodes_.put(rows, node).ok()); });
  }
  void put_job(const std::string& id, const std::string& type, std::optional<int64_t> lost_after = {}) {
    v1::Job job;
    job.set_namespace_("default");
    job.set_id(id);
    job.set_type(type);
    job.add_datacenters("dc*");
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("app");
    if (lost_after) group.set_max_client_disconnect(*lost_after);
    host_.commit([&](WriteTransaction& rows) {
      EXPECT_TRUE(jobs_.put(rows, job).ok());
      EXPECT_TRUE(versions_.put(rows, job).ok());
    });
  }
  v1::Allocation alloc_of(const std::string& job, v1::ClientStatus status) {
    v1::Allocation alloc;
    alloc.set_id((job + std::string(16, '.')).substr(0, 16));
    alloc.set_namespace_("default");
    alloc.set_job_id(job);
    alloc.set_task_group("app");
    alloc.set_node_id(kNode);
    alloc.set_desired_status(v1::DESIRED_STATUS_RUN);
    alloc.set_client_status(status);
    return alloc;
  }
  void put(const v1::Allocation& alloc) {
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(allocs_.put(rows, alloc).ok()); });
  }
  v1::NodeStatus when_silent() {
    return status_when_silent(*host_.snapshot(), allocs_.id(), versions_.id(), node_, kNow);
  }
  v1::NodeStatus when_heard() {
    return status_when_heard(*host_.snapshot(), allocs_.id(), node_, v1::NODE_STATUS_READY);
  }
  v1::Node stored() { return nodes_.get(*host_.snapshot(), kNode).value(); }
  Result<v1::NodeDrainResponse> drain(std::optional<int64_t> deadline, bool mark_eligible = false) {
    v1::NodeDrainRequest request;
    request.set_node_id(kNode);
    if (deadline) request.mutable_drain_spec()->set_deadline(*deadline);
    request.set_mark_eligible(mark_eligible);
    (*request.mutable_meta())["message"] = "new disks";
    return host_.answer<v1::NodeDrainResponse>("/drover.v1.Nodes/Drain", request);
  }

  drover::testing::FakeHost host_;
  Table<v1::Node> nodes_;
  Table<v1::Allocation> allocs_;
  Table<v1::Job> jobs_, versions_;
  Introductions introductions_;
  Rpc rpc_{nodes_, introductions_};
  v1::Node node_;
};

TEST_F(NodeLife, ServicesGoWithANodeThatIsDownOrDeleted) {
  const auto told = [&] { return host_.rows().told<v1::ServicesForgotten>(); };
  v1::NodeStatusUpdated status;
  status.set_node_id(kNode);
  status.set_status(v1::NODE_STATUS_DISCONNECTED);
  ASSERT_TRUE(host_.propose(status, SteadyTime::max()).ok());
  EXPECT_TRUE(told().empty());
  status.set_status(v1::NODE_STATUS_DOWN);
  ASSERT_TRUE(host_.propose(status, SteadyTime::max()).ok());
  ASSERT_EQ(told().size(), 1U);
  EXPECT_EQ(told()[0].node_ids(0), kNode);
  v1::NodesDeleted deleted;
  deleted.add_node_ids(kNode);
  ASSERT_TRUE(host_.propose(deleted, SteadyTime::max()).ok());
  EXPECT_EQ(told().size(), 2U);
}

TEST_F(NodeLife, ASilentNodeIsDownUnlessSomethingThereMayBeOutOfReach) {
  EXPECT_EQ(when_silent(), v1::NODE_STATUS_DOWN);
  put_job("plain", "service");
  put(alloc_of("plain", v1::CLIENT_STATUS_RUNNING));
  EXPECT_EQ(when_silent(), v1::NODE_STATUS_DOWN);
  put_job("patient", "service", 60 * kSecond);
  put(alloc_of("patient", v1::CLIENT_STATUS_RUNNING));
  EXPECT_EQ(when_silent(), v1::NODE_STATUS_DISCONNECTED);
  node_.set_status(v1::NODE_STATUS_INITIALIZING);
  EXPECT_EQ(when_silent(), v1::NODE_STATUS_DOWN);
}

TEST_F(NodeLife, ANodeOutOfReachGoesDownWhenTheTimeOfItsAllocationsIsOver) {
  node_.set_status(v1::NODE_STATUS_DISCONNECTED);
  put_job("patient", "service", 60 * kSecond);
  v1::Allocation alloc = alloc_of("patient", v1::CLIENT_STATUS_UNKNOWN);
  v1::AllocState& state = *alloc.add_alloc_states();
  state.set_value("unknown");
  state.set_time(kNow - 59 * kSecond);
  put(alloc);
  EXPECT_EQ(when_silent(), v1::NODE_STATUS_DISCONNECTED);
  alloc.mutable_alloc_states(0)->set_time(kNow - 60 * kSecond);
  put(alloc);
  EXPECT_EQ(when_silent(), v1::NODE_STATUS_DOWN);
}

TEST_F(NodeLife, ANodeThatIsBackIsReadyOnceItHasReported) {
  node_.set_status(v1::NODE_STATUS_DISCONNECTED);
  EXPECT_EQ(when_heard(), v1::NODE_STATUS_INITIALIZING);
  node_.set_status(v1::NODE_STATUS_INITIALIZING);
  node_.set_last_missed_heartbeat_index(20);
  EXPECT_EQ(when_heard(), v1::NODE_STATUS_READY) << "it has nothing to report";
  put_job("patient", "service", 60 * kSecond);
  put(alloc_of("patient", v1::CLIENT_STATUS_UNKNOWN));
  EXPECT_EQ(when_heard(), v1::NODE_STATUS_INITIALIZING);
  node_.set_last_alloc_update_index(21);
  EXPECT_EQ(when_heard(), v1::NODE_STATUS_READY);
}

TEST_F(NodeLife, AReportThatCatchesUpIsNoted) {
  v1::NodeCaughtUp command;
  command.set_node_id(kNode);
  const auto applied = host_.propose(command, SteadyTime::max());
  ASSERT_TRUE(applied.ok());
  EXPECT_EQ(stored().last_alloc_update_index(), applied->index);
}

TEST_F(NodeLife, AChangeConcernsWhatIsThereAndWhatBelongsEverywhere) {
  put_job("there", "service");
  put_job("ended", "batch");
  put_job("elsewhere", "service");
  put_job("everywhere", "system");
  put_job("once-everywhere", "sysbatch");
  put(alloc_of("there", v1::CLIENT_STATUS_RUNNING));
  put(alloc_of("ended", v1::CLIENT_STATUS_COMPLETE));
  put(alloc_of("gone", v1::CLIENT_STATUS_RUNNING));
  google::protobuf::RepeatedPtrField<v1::Evaluation> evaluations;
  add_node_evaluations(*host_.snapshot(), allocs_.id(), jobs_.id(), node_, evaluations);
  std::set<std::string> jobs;
  for (const v1::Evaluation& eval : evaluations) jobs.insert(eval.job_id());
  EXPECT_EQ(jobs, (std::set<std::string>{"there", "ended", "gone", "everywhere", "once-everywhere"}));
  EXPECT_EQ(static_cast<size_t>(evaluations.size()), jobs.size());

  node_.set_datacenter("other");
  evaluations.Clear();
  add_node_evaluations(*host_.snapshot(), allocs_.id(), jobs_.id(), node_, evaluations);
  EXPECT_EQ(evaluations.size(), 3) << "system jobs do not reach it";
}

TEST_F(NodeLife, ADrainBeginsChangesAndIsCancelled) {
  ASSERT_TRUE(drain(60 * kSecond).ok());
  v1::Node node = stored();
  EXPECT_TRUE(node.drain());
  EXPECT_EQ(node.scheduling_eligibility(), "ineligible");
  EXPECT_EQ(node.drain_strategy().deadline(), 60 * kSecond);
  EXPECT_EQ(node.drain_strategy().force_deadline() - node.drain_strategy().started_at(), 60 * kSecond);
  EXPECT_EQ(node.last_drain().status(), v1::DRAIN_STATUS_DRAINING);
  EXPECT_EQ(node.last_drain().meta().at("message"), "new disks");
  EXPECT_EQ(node.events().rbegin()->message(), "Node drain strategy set");
  const int64_t started = node.last_drain().started_at();

  ASSERT_TRUE(drain(0).ok());
  node = stored();
  EXPECT_EQ(node.drain_strategy().force_deadline(), 0);
  EXPECT_EQ(node.last_drain().started_at(), started);
  EXPECT_EQ(node.events().rbegin()->message(), "Node drain strategy updated");

  ASSERT_TRUE(drain({}).ok());
  node = stored();
  EXPECT_FALSE(node.drain());
  EXPECT_FALSE(node.has_drain_strategy());
  EXPECT_EQ(node.scheduling_eligibility(), "ineligible") << "only the operator says when it takes work again";
  EXPECT_EQ(node.last_drain().status(), v1::DRAIN_STATUS_CANCELED);
}

TEST_F(NodeLife, AnEndedDrainMayMakeTheNodeEligible) {
  put_job("everywhere", "system");
  ASSERT_TRUE(drain(0).ok());
  const auto answer = drain({}, /*mark_eligible=*/true);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(stored().scheduling_eligibility(), "eligible");
  EXPECT_EQ(answer->eval_ids_size(), 1);
  EXPECT_FALSE(drain(0, /*mark_eligible=*/true).ok()) << "both at once contradict each other";
}

}  // namespace
}  // namespace drover::nodes
