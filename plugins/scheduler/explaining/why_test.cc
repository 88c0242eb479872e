#include "explaining/why.h"

#include <gtest/gtest.h>

#include "drover/api/why.pb.h"
#include "explaining/failures.h"
#include "explaining/what_if.h"
#include "explaining/why_rpc.h"
#include "testing/shell.h"
#include "testing/storage_world.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_job;
using testing::make_node;

class Whys : public testing::ShellTest {
 protected:
  Whys() {
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(rpc_.start(host_, columns_, {}).ok());
  }
  // Whatever is asked, nothing may be written.
  void TearDown() override { EXPECT_TRUE(host_.proposed().empty()); }

  v1::WhyResponse why(const v1::Job& job) {
    put(job);
    v1::WhyJobRequest request;
    request.set_job_id(job.id());
    auto answer = host_.answer<v1::WhyResponse>("/drover.v1.Why/OfJob", request);
    EXPECT_TRUE(answer.ok()) << answer.status().message();
    return answer ? *answer : v1::WhyResponse();
  }
  // "text (nodes)" of each change.
  static std::vector<std::string> changes(const v1::WhyResponse& why) {
    std::vector<std::string> texts;
    for (const v1::WhyChange& change : why.changes()) {
      texts.push_back(change.text() + " (" + std::to_string(change.nodes()) + ")");
    }
    return texts;
  }
  static std::map<std::string, int> reasons(const v1::WhyResponse& why) {
    std::map<std::string, int> reasons;
    for (const v1::WhyReason& reason : why.reasons()) reasons[reason.text()] = reason.nodes();
    return reasons;
  }
  Result<v1::WhatIfResponse> what_if(const v1::WhatIfRequest& request) {
    return host_.answer<v1::WhatIfResponse>("/drover.v1.WhatIfTrials/Run", request);
  }
  v1::Resources& ask(v1::Job& job) { return *job.mutable_task_groups(0)->mutable_tasks(0)->mutable_resources(); }

  SharedColumns columns_{host_, tables_};
  WhyRpc rpc_{tables_};
};

using Texts = std::vector<std::string>;
using Reasons = std::map<std::string, int>;

// A question that nodes of a kind share is asked once; the answer must be that of asking each node.
TEST(Failures, AreThoseOfTheNodeWhateverItsKindWasAskedBefore) {
  const auto text = [](const std::vector<Failure>& failures) {
    std::string all;
    for (const Failure& one : failures) all += one.text + " " + std::to_string(one.amount) + "; ";
    return all;
  };
  struct Case {
    const char* name;
    void (*change)(v1::Job& job);
  };
  const auto constrain = [](v1::Job& job, const char* target, const char* value) {
    v1::Constraint& constraint = *job.add_constraints();
    constraint.set_l_target(target);
    constraint.set_operand("=");
    constraint.set_r_target(value);
  };
  const Case cases[] = {
      {"plain", [](v1::Job&) {}},
      {"a driver that is not there",
       [](v1::Job& job) { job.mutable_task_groups(0)->mutable_tasks(0)->set_driver("none"); }},
      {"cores", [](v1::Job& job) { job.mutable_task_groups(0)->mutable_tasks(0)->mutable_resources()->set_cores(2); }}};
  for (const Case& c : cases) {
    for (const bool escapes : {false, true}) {
      SCOPED_TRACE(std::string(c.name) + (escapes ? ", of one node" : ""));
      Cluster cluster;
      for (int i = 0; i < 70; ++i) {
        v1::Node node = make_node("n" + std::to_string(i), 400 + 10 * i, i % 3 == 0 ? 100 : 4000);
        if (i % 7 == 0) node.set_scheduling_eligibility("ineligible");
        if (i % 2 == 0) (*node.mutable_attributes())["rack"] = "r1";
        if (i % 2 == 0) node.set_computed_class("r1");
        cluster.put_node(std::make_shared<const v1::Node>(node));
      }
      v1::Job job = make_job();
      c.change(job);
      constrain(job, "${attr.rack}", "r1");
      if (escapes) constrain(job, "${node.unique.name}", "n4");
      const v1::TaskGroup& group = job.task_groups(0);
      const Distinct distinct(job, group);
      FailureFinder finder(job, group, distinct, nullptr, "");
      std::set<std::string> different;
      for (size_t i = 0; i < cluster.blocks(); ++i) {
        const ClusterBlock& block = cluster.block(i);
        for (size_t at = 0; at < kSlots; ++at) {
          if ((block.live >> at & 1) == 0) continue;
          const bool accepts = (block.accepting >> at & 1) != 0;
          const ClusterNode& node = *block.nodes[at];
          const auto alone = FailureFinder(job, group, distinct, nullptr, "").failures_of(node, accepts, std::nullopt);
          EXPECT_EQ(text(finder.failures_of(node, accepts, block.kind[at])), text(alone)) << node.node->name();
          different.insert(text(alone));
        }
      }
      EXPECT_GT(different.size(), 5U);
    }
  }
}

TEST_F(Whys, TheBestNodesAreShownTermByTerm) {
  put(make_node("small", 600, 1000));
  put(make_node("big", 8000, 8000));
  put(make_node("full", 100));
  const auto answer = why(make_job("service", 2));
  ASSERT_EQ(answer.best_size(), 2);
  EXPECT_EQ(answer.best(0).node_name(), "small");
  EXPECT_GT(answer.best(0).scores().at("binpack"), answer.best(1).scores().at("binpack"));
  EXPECT_EQ(reasons(answer), (Reasons{{"cpu", 1}}));
  EXPECT_TRUE(answer.changes().empty()) << "nothing need change";
  EXPECT_EQ(answer.groups().at("app").wanted(), 2);
}

TEST_F(Whys, TheCheapestChangeComesFirst) {
  put(make_node("nearly", 4000, 1800));  // 200 MB short
  put(make_node("tight", 4000, 1000));   // 1,000 MB short
  v1::Node other = make_node("other", 4000, 8000);
  (*other.mutable_attributes())["kernel.name"] = "plan9";
  put(other);
  v1::Node away = make_node("away", 4000, 8000);
  away.set_scheduling_eligibility("ineligible");
  put(away);
  v1::Job job = make_job();
  ask(job).set_memory_mb(2000);
  v1::Constraint& constraint = *job.add_constraints();
  constraint.set_l_target("${attr.kernel.name}");
  constraint.set_operand("=");
  constraint.set_r_target("linux");
  const auto answer = why(job);
  EXPECT_EQ(changes(answer),
            (Texts{"200 MB less memory (2)", "drop the constraint ${attr.kernel.name} = linux (1)",
                   "make the node eligible (1)", "one more node like those with 4000 MHz and 8000 MB in dc1 (1)"}));
  EXPECT_EQ(answer.changes(0).kind(), "memory");
  EXPECT_EQ(answer.changes(0).amount(), 200);
  EXPECT_EQ(reasons(answer),
            (Reasons{{"memory", 2}, {"${attr.kernel.name} = linux", 1}, {"the node takes no new work", 1}}));
  ASSERT_EQ(answer.best_size(), 4);
  EXPECT_EQ(answer.best(0).node_name(), "nearly");
  EXPECT_EQ(answer.best(0).first_failure(), "memory");
  EXPECT_EQ(answer.best(0).failures(0), "memory (200 short)");
}

// The test tries what the answer promises: after the change there is a place.
TEST_F(Whys, TheFirstChangeIsEnough) {
  put(make_node("n1", 1000, 1800));
  put(make_node("n2", 400, 4000));
  v1::Job job = make_job();
  ask(job).set_cpu(700);
  ask(job).set_memory_mb(2000);
  const auto before = why(job);
  ASSERT_GE(before.changes_size(), 1);
  EXPECT_EQ(before.changes(0).text(), "200 MB less memory");
  ask(job).set_memory_mb(2000 - static_cast<int32_t>(before.changes(0).amount()));
  const auto after = why(job);
  ASSERT_GE(after.best_size(), 1);
  EXPECT_EQ(after.best(0).first_failure(), "");
  EXPECT_TRUE(after.changes().empty());
}

TEST_F(Whys, SeveralChangesAreNamedTogether) {
  v1::Node node = make_node("n1", 4000, 1000);
  (*node.mutable_drivers())["mock"].set_healthy(false);
  put(node);
  v1::Job job = make_job();
  ask(job).set_memory_mb(1500);
  const auto answer = why(job);
  EXPECT_EQ(changes(answer), (Texts{"have a healthy driver mock there, and 500 MB less memory (1)"}));
  EXPECT_EQ(answer.changes(0).kind(), "several");
}

TEST_F(Whys, WhoHoldsAPortIsNamedWithinANamespace) {
  const auto changes_beside = [&](const std::string& name_space) {
    put(make_node("n1"));
    v1::Job holder = make_job();
    holder.set_id("holder");
    holder.set_namespace_(name_space);
    put(holder);
    v1::Allocation alloc = make_alloc(holder, 0, "n1");
    v1::PortMapping& port = *alloc.mutable_allocated_resources()->mutable_shared()->add_ports();
    port.set_value(8080);
    port.set_host_ip("10.0.0.1");
    put(alloc);
    v1::Job job = make_job();
    v1::Port& wanted = *job.mutable_task_groups(0)->add_networks()->add_reserved_ports();
    wanted.set_label("http");
    wanted.set_value(8080);
    const Texts texts = changes(why(job));
    return texts.empty() ? "" : texts[0];
  };
  EXPECT_EQ(changes_beside("default"),
            "free the port that job holder holds: network: reserved port collision http=8080 (1)");
  EXPECT_EQ(changes_beside("secret"),
            "free the port that a job of another namespace holds: network: reserved port collision http=8080 (1)");
}

TEST_F(Whys, AVolumeSaysWhichLimitIsInTheWay) {
  v1::Node with = make_node("with"), full = make_node("full");
  testing::add_plugin(with);
  testing::add_plugin(full, "p", 1);
  put(with);
  put(full);
  put(make_node("without"));
  testing::StorageWorld storage;
  storage.add_volume("data");
  storage.add_volume("logs");
  const v1::CsiClaim taken = storage.claim("data", "db", "a1", "full");
  host_.commit([&](WriteTransaction& rows) {
    for (const v1::CsiVolume& volume : storage.volumes) EXPECT_TRUE(csi_volumes_.put(rows, volume).ok());
    EXPECT_TRUE(csi_claims_.put(rows, taken).ok());
  });
  put(make_alloc(make_job(), 7, "with"));
  v1::Job job = make_job();
  testing::ask_volume(*job.mutable_task_groups(0), "data");
  const auto answer = why(job);
  const std::string collected =
      "CSI volume data has exhausted its available writer claims and is claimed by a garbage collected allocation "
      "61312e2e-2e2e-2e2e-2e2e-2e2e2e2e2e2e; waiting for claim to be released";
  EXPECT_EQ(reasons(answer), (Reasons{{collected, 2}, {"CSI plugin p is missing from client", 1}}));
  EXPECT_EQ(
      changes(answer)[0],
      "wait until the claim of allocation 61312e2e of job \"db\" on the volume \"data\" is undone, or detach it (2)");
  EXPECT_EQ(answer.changes(0).kind(), "volume");

  job.set_id("other");
  testing::ask_volume(*job.mutable_task_groups(0), "logs");
  const auto other = why(job);
  EXPECT_EQ(reasons(other), (Reasons{{"CSI plugin p has the maximum number of volumes on client", 1},
                                     {"CSI plugin p is missing from client", 1}}));
  ASSERT_EQ(other.best_size(), 1);
  EXPECT_EQ(other.best(0).node_name(), "with");
}

TEST_F(Whys, AHigherPriorityMayMakeRoom) {
  put(make_node("n1", 600));
  v1::Job other = make_job();
  other.set_id("other");
  other.set_priority(60);
  put(other);
  put(make_alloc(other, 0, "n1"));
  const auto answer = why(make_job());
  const auto texts = changes(answer);
  EXPECT_NE(std::ranges::find(texts, "a priority of 70, so that less important allocations make room (1)"),
            texts.end());
}

TEST_F(Whys, ASystemJobAsksOnlyNodesThatHaveNoneYet) {
  put(make_node("served"));
  put(make_node("free"));
  put(make_node("small", 100));
  const v1::Job job = make_job("system");
  put(make_alloc(job, 0, "served"));
  const auto answer = why(job);
  ASSERT_EQ(answer.best_size(), 1);
  EXPECT_EQ(answer.best(0).node_name(), "free");
  EXPECT_EQ(reasons(answer), (Reasons{{"cpu", 1}}));
  EXPECT_EQ(answer.groups().at("app").wanted(), 3);
}

TEST_F(Whys, WhereOthersMakeRoomThereIsAPlace) {
  put(make_node("n1", 600));
  v1::Job other = make_job();
  other.set_id("other");
  other.set_priority(20);
  put(other);
  put(make_alloc(other, 0, "n1"));
  const auto answer = why(make_job());
  ASSERT_EQ(answer.best_size(), 1);
  EXPECT_TRUE(answer.best(0).scores().contains("preemption"));
  EXPECT_TRUE(answer.changes().empty());
}

TEST_F(Whys, WhatWaitsForPeopleIsNoted) {
  v1::Job job = make_job();
  job.set_stop(true);
  const auto answer = why(job);
  ASSERT_EQ(answer.notes_size(), 1);
  EXPECT_EQ(answer.notes(0), "the job is stopped");
  v1::WhyJobRequest unknown;
  unknown.set_job_id("gone");
  EXPECT_EQ(host_.answer<v1::WhyResponse>("/drover.v1.Why/OfJob", unknown).status().code(), Code::not_found);
}

TEST_F(Whys, AnAllocationSaysHowItWasDecided) {
  put(make_node("n1"));
  v1::Allocation alloc = make_alloc(make_job(), 0, "n1");
  v1::NodeScoreMeta& meta = *alloc.mutable_metrics()->add_score_meta_data();
  meta.set_node_id(id_of("n1"));
  meta.set_norm_score(0.5);
  (*meta.mutable_scores())["binpack"] = 0.5;
  (*alloc.mutable_metrics()->mutable_dimension_exhausted())["memory"] = 3;
  put(alloc);
  v1::WhyAllocationRequest request;
  request.set_alloc_id(alloc.id());
  const auto answer = host_.answer<v1::WhyResponse>("/drover.v1.Why/OfAllocation", request);
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->best_size(), 1);
  EXPECT_EQ(answer->best(0).node_name(), "n1");
  EXPECT_EQ(answer->best(0).scores().at("final"), 0.5);
  EXPECT_EQ(reasons(*answer), (Reasons{{"memory", 3}}));
}

class WhatIfs : public Whys {
 protected:
  // Two of the job on n1, with room for one on n2.
  WhatIfs() {
    put(make_node("n1", 1000));
    put(make_node("n2", 600));
    job_ = make_job("service", 2);
    put(job_);
    put(make_alloc(job_, 0, "n1"));
    put(make_alloc(job_, 1, "n1"));
  }
  v1::Job job_;
};

TEST_F(WhatIfs, ADrainMovesWhatFindsRoom) {
  v1::WhatIfRequest request;
  request.mutable_drain()->add_nodes(id_of("n1"));
  const auto answer = what_if(request);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  ASSERT_EQ(answer->moved_size(), 1);
  EXPECT_EQ(answer->moved(0).namespace_(), "default");
  EXPECT_EQ(answer->moved(0).from(), id_of("n1"));
  EXPECT_EQ(answer->moved(0).to(), id_of("n2"));
  ASSERT_EQ(answer->unplaced_size(), 1);
  EXPECT_EQ(answer->unplaced(0).count(), 1);
  EXPECT_EQ(answer->unplaced(0).reasons(0).text(), "cpu");
  EXPECT_EQ(answer->packing().before().nodes(), 2);
  EXPECT_EQ(answer->packing().after().nodes(), 1);
}

TEST_F(WhatIfs, NodesThatComeTakeWhatALostOneHad) {
  v1::WhatIfRequest request;
  request.mutable_fail()->add_nodes(id_of("n1"));
  v1::WhatIfAdded& added = *request.add_add_nodes();
  added.set_like(id_of("n1"));
  added.set_count(1);
  const auto answer = what_if(request);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->moved_size(), 2);
  EXPECT_TRUE(answer->unplaced().empty());
  for (const v1::WhatIfMove& move : answer->moved()) EXPECT_NE(move.to(), id_of("n1"));
}

TEST_F(WhatIfs, AJobSaysWhereItWouldGo) {
  v1::WhatIfRequest request;
  v1::Job& job = *request.add_jobs() = make_job("service", 2);
  job.set_id("new");
  const auto answer = what_if(request);
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->moved_size(), 1);
  EXPECT_TRUE(answer->moved(0).alloc_id().empty());
  EXPECT_EQ(answer->moved(0).to_name(), "n2");
  ASSERT_EQ(answer->unplaced_size(), 1);
  EXPECT_EQ(answer->unplaced(0).job_id(), "new");
}

TEST_F(WhatIfs, AMoreImportantJobPushesOthersAside) {
  v1::WhatIfRequest request;
  v1::Job& job = *request.add_jobs() = make_job("service", 2);
  job.set_id("important");
  job.set_priority(90);
  const auto answer = what_if(request);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->preempted_size(), 1);
  ASSERT_EQ(answer->unplaced_size(), 1) << "who is pushed aside looks for another place";
  EXPECT_EQ(answer->unplaced(0).job_id(), "web");
}

TEST_F(WhatIfs, AJobThatOnlyStartsChildrenIsNoted) {
  v1::WhatIfRequest request;
  v1::Job& job = *request.add_jobs() = make_job("batch");
  job.set_id("parent");
  job.mutable_periodic()->set_enabled(true);
  job.mutable_periodic()->add_specs("* * * * *");
  const auto answer = what_if(request);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(answer->moved().empty());
  ASSERT_EQ(answer->notes_size(), 1);
  EXPECT_EQ(answer->notes(0), "job \"parent\" only starts children, when it is due or dispatched");
}

TEST_F(WhatIfs, WhatIsNotThereIsSaid) {
  v1::WhatIfRequest request;
  request.mutable_drain()->add_nodes(id_of("gone"));
  EXPECT_EQ(what_if(request).status().code(), Code::not_found);
  v1::WhatIfRequest many;
  many.add_add_nodes()->set_like(id_of("n1"));
  EXPECT_EQ(what_if(many).status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace drover::scheduler
