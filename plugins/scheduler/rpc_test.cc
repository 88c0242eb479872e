#include "rpc.h"

#include <gtest/gtest.h>

#include "drover/json.h"
#include "drover/sha256.h"
#include "drover/uuid.h"
#include "drover/v1/node_service.pb.h"
#include "node_rpc.h"
#include "sdk/testing/permissions.h"
#include "testing/shell.h"

namespace drover::scheduler {
namespace {

using testing::id_of;
using testing::make_alloc;
using testing::make_eval;
using testing::make_job;
using testing::make_node;

std::string words(const std::string& id) { return Uuid::from_bytes(id).to_string(); }

class Handlers : public testing::ShellTest {
 protected:
  Handlers() {
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(node_rpc_.declare(host_.rows()).ok());
    EXPECT_TRUE(rpc_.start(host_).ok());
    EXPECT_TRUE(node_rpc_.start(host_).ok());
  }

  v1::Job job_in(const std::string& name_space, const std::string& id) {
    v1::Job job = make_job();
    job.set_namespace_(name_space);
    job.set_id(id);
    return job;
  }
  std::string evals(const v1::ListEvaluationsRequest& request, QueryOptions query, ReplyMeta* meta = nullptr) {
    auto answer = host_.answer<v1::ListEvaluationsResponse>("/drover.v1.Evaluations/List", request, query, meta);
    if (!answer) return answer.status().message();
    std::string names;
    for (const v1::Evaluation& eval : answer->evaluations()) names += eval.id()[0];
    return names;
  }
  std::string allocs(QueryOptions query, ReplyMeta* meta = nullptr) {
    const v1::ListAllocationsRequest request;
    auto answer = host_.answer<v1::AllocationStubsResponse>("/drover.v1.Allocations/List", request, query, meta);
    if (!answer) return answer.status().message();
    std::string names;
    for (const auto& stub : answer->allocations()) names += stub.id()[0];
    return names;
  }
  v1::Allocation alloc_named(const std::string& id, const v1::Job& job, const std::string& node = "n1",
                             v1::ClientStatus status = v1::CLIENT_STATUS_RUNNING) {
    v1::Allocation alloc = make_alloc(job, 0, node, status);
    alloc.set_id(id_of(id));
    alloc.set_create_index(host_.snapshot()->index() + 1);
    return alloc;
  }

  Rpc rpc_{tables_};
  NodeRpc node_rpc_{tables_};
};

TEST_F(Handlers, AListThatWasNeverWrittenHasTheIndexZero) {
  ReplyMeta meta;
  EXPECT_EQ(evals({}, {}, &meta), "");
  EXPECT_EQ(meta.index, 0U);
  EXPECT_EQ(allocs({}, &meta), "");
  EXPECT_EQ(meta.index, 0U);
}

TEST_F(Handlers, AnUnknownNodeHasNoAllocations) {
  v1::OfNodeRequest request;
  for (const char* id : {"somewhere", "00000000-0000-0000-0000-000000000001"}) {
    request.set_node_id(id);
    const auto answer = host_.answer<v1::FullAllocationsResponse>("/drover.v1.Allocations/OfNode", request);
    ASSERT_TRUE(answer.ok()) << answer.status().message();
    EXPECT_EQ(message_to_json(*answer), R"({"Allocations":[]})");
  }
}

TEST_F(Handlers, AnAllocationIsShownWithTheOlderFormsOfItsResources) {
  v1::Job job = make_job();
  v1::Task& side = *job.mutable_task_groups(0)->add_tasks();
  side.set_name("side");
  side.mutable_lifecycle()->set_hook("prestart");
  put(job);
  v1::Allocation alloc = alloc_named("a", job);
  v1::AllocatedResources& resources = *alloc.mutable_allocated_resources();
  resources.Clear();
  for (const char* task : {"main", "side"}) {
    (*resources.mutable_tasks())[task].mutable_cpu()->set_cpu_shares(100);
    (*resources.mutable_tasks())[task].mutable_memory()->set_memory_mb(64);
  }
  resources.mutable_shared()->set_disk_mb(300);
  put(alloc);
  v1::AllocationRequest request;
  request.set_alloc_id(alloc.id());
  const auto answer = host_.answer<v1::AllocationResponse>("/drover.v1.Allocations/Get", request);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  const std::string json = message_to_json(answer->allocation());
  for (const char* part : {R"("Resources":{"CPU":200,"Cores":0,"MemoryMB":128,"MemoryMaxMB":0,"DiskMB":300,)",
                           R"("SharedResources":{"CPU":0,"Cores":0,"MemoryMB":0,"MemoryMaxMB":0,"DiskMB":300,)",
                           R"("TaskResources":{"main":{"CPU":100,"Cores":0,"MemoryMB":64,)",
                           R"("TaskLifecycles":{"main":null,"side":{"Hook":"prestart","Sidecar":false}})",
                           R"("SigningKeyID":"")", R"("DeploymentID":"")", R"("DeploymentStatus":null)"}) {
    EXPECT_NE(json.find(part), std::string::npos) << part << "\n" << json;
  }
  const std::string stub = message_to_json(v1::AllocationListStub());
  for (const char* part :
       {R"("DeploymentStatus":null)", R"("PreemptedAllocations":null)", R"("PreemptedByAllocation":"")"}) {
    EXPECT_NE(stub.find(part), std::string::npos) << part << "\n" << stub;
  }
}

class Evaluations : public Handlers {
 protected:
  Evaluations() {
    propose(make_eval("a", job_in("default", "one")));
    propose(make_eval("b", job_in("other", "two")));
    propose(make_eval("c", job_in("default", "two")));
    v1::Evaluation done = make_eval("d", job_in("default", "one"));
    done.set_status(v1::EVAL_STATUS_COMPLETE);
    propose(done);
  }
};

TEST_F(Evaluations, AreFilteredByNamespaceJobAndStatus) {
  v1::ListEvaluationsRequest all, of_one, pending;
  of_one.set_job("one");
  pending.set_status("pending");
  EXPECT_EQ(evals(all, {}), "acd");
  EXPECT_EQ(evals(all, {.name_space = "other"}), "b");
  EXPECT_EQ(evals(all, {.name_space = "*"}), "abcd");
  EXPECT_EQ(evals(all, {.name_space = "none"}), "");
  EXPECT_EQ(evals(of_one, {}), "ad");
  EXPECT_EQ(evals(pending, {}), "ac");
  EXPECT_EQ(evals(all, {.reverse = true}), "dca");
  auto count = host_.answer<v1::CountEvaluationsResponse>("/drover.v1.Evaluations/Count", pending);
  EXPECT_EQ(count->count(), 2);
}

TEST_F(Evaluations, ComeInPages) {
  const v1::ListEvaluationsRequest all;
  for (const bool reverse : {false, true}) {
    std::string seen;
    QueryOptions query{.per_page = 2, .reverse = reverse};
    do {
      ReplyMeta meta;
      seen += evals(all, query, &meta) + "|";
      query.next_token = meta.next_token;
    } while (!query.next_token.empty());
    EXPECT_EQ(seen, reverse ? "dc|a|" : "ac|d|");
  }
  // A filter leaves rows out of the pages, not out of the count of a page.
  v1::ListEvaluationsRequest of_one;
  of_one.set_job("one");
  ReplyMeta meta;
  EXPECT_EQ(evals(of_one, {.per_page = 1}, &meta), "a");
  EXPECT_EQ(evals(of_one, {.per_page = 1, .next_token = meta.next_token}, &meta), "d");
  EXPECT_EQ(meta.next_token, "");
}

TEST_F(Evaluations, WhatCannotBeReadIsNamed) {
  v1::ListEvaluationsRequest all, wrong;
  wrong.set_status("done");
  EXPECT_EQ(evals(wrong, {}), "evaluation status \"done\" is unknown");
  EXPECT_EQ(evals(all, {.next_token = "7"}), "next_token is not of the form CreateIndex.ID");
  EXPECT_EQ(evals(all, {.next_token = "x." + words(id_of("a"))}), "next_token is not of the form CreateIndex.ID");
  EXPECT_EQ(evals(all, {.prefix = "zz"}), "Invalid UUID prefix: zz");
  EXPECT_EQ(evals(all, {.prefix = words(id_of("a")).substr(0, 2), .next_token = "x"}),
            "next_token is not an identifier");
  v1::EvaluationRequest unknown;
  unknown.set_eval_id(id_of("unknown"));
  const auto answer = host_.answer<v1::EvaluationResponse>("/drover.v1.Evaluations/Get", unknown);
  EXPECT_EQ(answer.status().code(), Code::not_found);
}

TEST_F(Evaluations, AreFoundByTheBeginningOfTheirIdentifier) {
  const v1::ListEvaluationsRequest all;
  EXPECT_EQ(evals(all, {.prefix = words(id_of("c")).substr(0, 6)}), "c");
  // Three of them begin with the same half of a byte.
  ReplyMeta meta;
  EXPECT_EQ(evals(all, {.prefix = "6", .per_page = 2}, &meta), "ac");
  EXPECT_EQ(evals(all, {.prefix = "6", .per_page = 2, .next_token = meta.next_token}), "d");
}

TEST_F(Evaluations, NameTheirRelativesEachOnce) {
  v1::Evaluation first = make_eval("x", make_job()), second = make_eval("y", make_job());
  first.set_next_eval(second.id());
  second.set_previous_eval(first.id());
  second.set_blocked_eval(id_of("gone"));
  propose(first);
  const uint64_t newest = propose(second);
  v1::EvaluationRequest request;
  request.set_eval_id(first.id());
  request.set_related(true);
  ReplyMeta meta;
  const auto answer = host_.answer<v1::EvaluationResponse>("/drover.v1.Evaluations/Get", request, {}, &meta);
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->evaluation().related_evals_size(), 1);
  EXPECT_EQ(answer->evaluation().related_evals(0).id(), second.id());
  EXPECT_EQ(meta.index, newest);
}

TEST_F(Evaluations, OfAJobTheNewestComesFirst) {
  v1::OfJobRequest request;
  request.set_job_id("one");
  const auto answer = host_.answer<v1::ListEvaluationsResponse>("/drover.v1.Evaluations/OfJob", request);
  ASSERT_EQ(answer->evaluations_size(), 2);
  EXPECT_EQ(answer->evaluations(0).id(), id_of("d"));
}

TEST_F(Handlers, AllocationsComeByNamespaceAndInPages) {
  put(alloc_named("a", job_in("default", "one")));
  put(alloc_named("b", job_in("other", "one")));
  put(alloc_named("c", job_in("default", "two")));
  EXPECT_EQ(allocs({}), "ac");
  EXPECT_EQ(allocs({.name_space = "*"}), "abc");
  EXPECT_EQ(allocs({.name_space = "*", .prefix = words(id_of("b")).substr(0, 4)}), "b");
  ReplyMeta meta;
  EXPECT_EQ(allocs({.per_page = 1}, &meta), "a");
  EXPECT_EQ(allocs({.per_page = 1, .next_token = meta.next_token}), "c");
}

TEST_F(Handlers, AllocationsOfAJobLeaveOutThoseOfAnEarlierJobOfItsName) {
  v1::Job job = job_in("default", "one");
  put(job);
  v1::Allocation old = alloc_named("o", job);
  old.set_job_create_index(3);
  put(old);
  put(alloc_named("n", job));
  v1::OfJobRequest request;
  request.set_job_id("one");
  const auto now = host_.answer<v1::AllocationStubsResponse>("/drover.v1.Allocations/OfJob", request);
  ASSERT_EQ(now->allocations_size(), 1);
  EXPECT_EQ(now->allocations(0).id(), id_of("n"));
  EXPECT_EQ(now->allocations(0).job_type(), "service");
  request.set_all(true);
  EXPECT_EQ(host_.answer<v1::AllocationStubsResponse>("/drover.v1.Allocations/OfJob", request)->allocations_size(), 2);
  const auto other =
      host_.answer<v1::AllocationStubsResponse>("/drover.v1.Allocations/OfJob", request, {.name_space = "other"});
  EXPECT_EQ(other->allocations_size(), 0);
}

TEST_F(Handlers, AnAllocationComesWithTheVersionOfItsJobThatItRuns) {
  v1::Job job = job_in("default", "one");
  put(job);
  put(alloc_named("a", job));
  job.set_version(1);
  job.set_priority(77);
  put(job);
  v1::AllocationRequest request;
  request.set_alloc_id(id_of("a"));
  const auto answer = host_.answer<v1::AllocationResponse>("/drover.v1.Allocations/Get", request);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->allocation().job().priority(), 50);
  EXPECT_EQ(*rpc_.locate(id_of("a")), Uuid::from_bytes(id_of("n1")));
  EXPECT_FALSE(rpc_.locate(id_of("unknown")));
  request.set_alloc_id("short");
  EXPECT_EQ(host_.answer<v1::AllocationResponse>("/drover.v1.Allocations/Get", request).status().code(),
            Code::not_found);
}

TEST_F(Handlers, AnotherNamespaceIsNotSeen) {
  const v1::Job here = job_in("default", "one"), there = job_in("prod", "one");
  put(here);
  put(there);
  put(alloc_named("a", here));
  put(alloc_named("b", there));
  host_.call_as({Identity::Kind::token, "t", std::make_shared<drover::testing::OnlyIn>("default")});
  v1::AllocationRequest request;
  request.set_alloc_id(id_of("a"));
  EXPECT_TRUE(host_.answer<v1::AllocationResponse>("/drover.v1.Allocations/Get", request).ok());
  request.set_alloc_id(id_of("b"));
  EXPECT_EQ(host_.answer<v1::AllocationResponse>("/drover.v1.Allocations/Get", request).status().to_string(),
            "not_found: alloc not found");
  v1::StopAllocationRequest stop;
  stop.set_alloc_id(id_of("b"));
  EXPECT_EQ(host_.answer<v1::StopAllocationResponse>("/drover.v1.Allocations/Stop", stop).status().to_string(),
            "permission_denied: Permission denied");
  EXPECT_EQ(allocs({.name_space = "*"}), "a");
  v1::OfNodeRequest of_node;
  of_node.set_node_id(Uuid::from_bytes(id_of("n1")).to_string());
  const auto on_node = host_.answer<v1::FullAllocationsResponse>("/drover.v1.Allocations/OfNode", of_node);
  ASSERT_TRUE(on_node.ok());
  EXPECT_EQ(on_node->allocations_size(), 1);
}

TEST_F(Handlers, StoppingAnAllocationMarksItAndAsksForAnEvaluation) {
  const v1::Job job = job_in("default", "one");
  put(job);
  put(alloc_named("a", job));
  v1::StopAllocationRequest request;
  request.set_alloc_id(id_of("a"));
  const auto answer = host_.answer<v1::StopAllocationResponse>("/drover.v1.Allocations/Stop", request);
  ASSERT_TRUE(answer.ok());
  const auto row = tables_.allocs.get(*host_.snapshot(), id_of("a"));
  EXPECT_TRUE(row->desired_transition().migrate());
  const auto asked = tables_.evals.get(*host_.snapshot(), answer->eval_id());
  ASSERT_TRUE(asked);
  EXPECT_EQ(asked->triggered_by(), "alloc-stop");
  EXPECT_EQ(asked->job_id(), "one");
  request.set_alloc_id(id_of("unknown"));
  EXPECT_EQ(host_.answer<v1::StopAllocationResponse>("/drover.v1.Allocations/Stop", request).status().code(),
            Code::not_found);
}

// Calls of node agents.
class NodeHandlers : public Handlers {
 protected:
  NodeHandlers() {
    node_ = make_node("n1");
    node_.set_secret_id(id_of("secret"));
    put(node_);
    put(job_);
  }
  template <typename Request>
  Request from_node() {
    Request request;
    request.set_node_id(node_.id());
    request.set_secret_id(node_.secret_id());
    return request;
  }
  Result<v1::UpdateAllocationsResponse> report(const std::string& id, v1::ClientStatus status) {
    auto request = from_node<v1::UpdateAllocationsRequest>();
    v1::Allocation& alloc = *request.add_allocations();
    alloc.set_id(id_of(id));
    alloc.set_client_status(status);
    return update(request);
  }
  Result<v1::UpdateAllocationsResponse> update(const v1::UpdateAllocationsRequest& request) {
    return host_.answer<v1::UpdateAllocationsResponse>("/drover.v1.NodeAllocations/Update", request);
  }
  size_t open_evals() { return tables_.evals.list(*host_.snapshot(), kPrimary, KeyRange::all()).size(); }

  v1::Node node_;
  const v1::Job job_ = job_in("default", "one");
};

TEST_F(NodeHandlers, ANodeSeesItsOwnAllocationsAndOnlyWithItsSecret) {
  put(alloc_named("a", job_));
  put(alloc_named("b", job_, "n2"));
  auto request = from_node<v1::WatchAllocationsRequest>();
  const char* method = "/drover.v1.NodeAllocations/Watch";
  const auto own = host_.answer<v1::WatchAllocationsResponse>(method, request);
  ASSERT_EQ(own->entries_size(), 1);
  EXPECT_EQ(own->entries(0).alloc_id(), id_of("a"));
  request.set_secret_id(id_of("guess"));
  EXPECT_EQ(host_.answer<v1::WatchAllocationsResponse>(method, request).status().code(), Code::permission_denied)
      << "an empty list would have the node end everything";

  auto fetch = from_node<v1::FetchAllocationsRequest>();
  for (const char* id : {"a", "b", "unknown"}) fetch.add_alloc_ids(id_of(id));
  const auto fetched = host_.answer<v1::FetchAllocationsResponse>("/drover.v1.NodeAllocations/Fetch", fetch);
  ASSERT_EQ(fetched->allocations_size(), 1);
  EXPECT_EQ(fetched->allocations(0).id(), id_of("a"));
  ASSERT_EQ(fetched->jobs_size(), 1);
  EXPECT_EQ(fetched->jobs(0).id(), "one");
  fetch.set_secret_id("");
  EXPECT_EQ(host_.answer<v1::FetchAllocationsResponse>("/drover.v1.NodeAllocations/Fetch", fetch).status().code(),
            Code::permission_denied);
  request.set_node_id(id_of("purged"));
  EXPECT_EQ(host_.answer<v1::WatchAllocationsResponse>(method, request).status().code(), Code::permission_denied);
}

TEST_F(NodeHandlers, ANodeThatTakesIdentitiesIsNotProvenByItsSecret) {
  put(alloc_named("a", job_));
  node_.mutable_identity()->set_digest(sha256("token"));
  node_.mutable_identity()->set_expires_at(INT64_MAX);
  put(node_);
  auto request = from_node<v1::WatchAllocationsRequest>();
  const char* method = "/drover.v1.NodeAllocations/Watch";
  EXPECT_EQ(host_.answer<v1::WatchAllocationsResponse>(method, request).status().code(), Code::permission_denied);
  request.set_secret_id("token");
  EXPECT_EQ(host_.answer<v1::WatchAllocationsResponse>(method, request)->entries_size(), 1);
}

TEST_F(NodeHandlers, TwoFailuresOfAJobAskForOneEvaluation) {
  put(alloc_named("a", job_));
  put(alloc_named("b", job_));
  auto request = from_node<v1::UpdateAllocationsRequest>();
  for (const char* id : {"a", "b", "collected"}) {
    v1::Allocation& alloc = *request.add_allocations();
    alloc.set_id(id_of(id));
    alloc.set_client_status(v1::CLIENT_STATUS_FAILED);
  }
  ASSERT_TRUE(update(request).ok());
  EXPECT_EQ(open_evals(), 1U);
  for (const char* id : {"a", "b"}) {
    EXPECT_EQ(tables_.allocs.get(*host_.snapshot(), id_of(id))->client_status(), v1::CLIENT_STATUS_FAILED);
  }
  EXPECT_FALSE(tables_.allocs.get(*host_.snapshot(), id_of("collected")));
}

TEST_F(NodeHandlers, AReportOfNothingKnownIsNotWritten) {
  const auto answer = report("collected", v1::CLIENT_STATUS_COMPLETE);
  ASSERT_TRUE(answer.ok());
  EXPECT_TRUE(host_.proposed().empty());
}

TEST_F(NodeHandlers, WrongReportsAreRefusedAndChangeNothing) {
  put(alloc_named("a", job_));
  put(alloc_named("b", job_, "n2"));
  const uint64_t before = host_.snapshot()->index();
  EXPECT_EQ(report("b", v1::CLIENT_STATUS_FAILED).status().code(), Code::permission_denied);
  EXPECT_EQ(report("a", v1::CLIENT_STATUS_UNSPECIFIED).status().code(), Code::invalid_argument);
  auto guess = from_node<v1::UpdateAllocationsRequest>();
  guess.set_secret_id(id_of("guess"));
  EXPECT_EQ(update(guess).status().code(), Code::permission_denied);
  EXPECT_EQ(host_.snapshot()->index(), before);

  node_.set_status(v1::NODE_STATUS_DOWN);
  put(node_);
  EXPECT_EQ(report("a", v1::CLIENT_STATUS_FAILED).status().code(), Code::failed_precondition);
  EXPECT_TRUE(host_.proposed().empty());
}

TEST_F(NodeHandlers, TheLogsErrorIsTheNodesAnswer) {
  put(alloc_named("a", job_));
  host_.refuse("drover.v1.AllocationsReported", unavailable("this server is not the leader"));
  EXPECT_EQ(report("a", v1::CLIENT_STATUS_FAILED).status().code(), Code::unavailable);
  EXPECT_EQ(tables_.allocs.get(*host_.snapshot(), id_of("a"))->client_status(), v1::CLIENT_STATUS_RUNNING);
}

}  // namespace
}  // namespace drover::scheduler
