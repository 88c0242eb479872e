#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <utility>

#include "drover/api/services.pb.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/service_registration.pb.h"
#include "drover/v1/service_sync.pb.h"
#include "rpc.h"
#include "rules.h"
#include "sdk/testing/chance.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/permissions.h"
#include "services.pb.h"
#include "sync_merger.h"
#include "tables.h"

namespace drover::services {
namespace {

using namespace std::chrono_literals;

std::string id_of(const std::string& name) { return (name + std::string(16, '.')).substr(0, 16); }

v1::ServiceRegistration said(const std::string& alloc, const std::string& name, int port = 80) {
  v1::ServiceRegistration row;
  row.set_id(alloc + "-" + name);
  row.set_service_name(name);
  row.set_alloc_id(id_of(alloc));
  row.set_address("10.0.0.1");
  row.set_port(port);
  return row;
}

class ServicesTest : public ::testing::Test {
 protected:
  ServicesTest() {
    nodes_ = Table<v1::Node>(host_.rows().add_table(nodes_table().spec()));
    allocs_ = Table<v1::Allocation>(host_.rows().add_table(allocs_table().spec()));
    jobs_ = Table<v1::Job>(host_.rows().add_table(jobs_table().spec()));
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    EXPECT_TRUE(rpc_.declare(host_.rows()).ok());
    rpc_.start(host_);
    for (const char* name : {"n1", "n2"}) put_node(name, v1::NODE_STATUS_READY);
    for (const char* name : {"a1", "a2"}) put_alloc(name, "n1", "prod", v1::CLIENT_STATUS_RUNNING);
    put_alloc("b1", "n2", "default", v1::CLIENT_STATUS_RUNNING);
    v1::Job job;
    job.set_namespace_("prod");
    job.set_id("web");
    host_.commit([&](WriteTransaction& rows) { return jobs_.put(rows, job); });
  }

  void put_node(const std::string& name, v1::NodeStatus status) {
    v1::Node node;
    node.set_id(id_of(name));
    node.set_secret_id(id_of("secret-" + name));
    node.set_datacenter("dc-" + name);
    node.set_status(status);
    host_.commit([&](WriteTransaction& rows) { return nodes_.put(rows, node); });
  }
  void put_alloc(const std::string& name, const std::string& node, const std::string& name_space,
                 v1::ClientStatus status) {
    v1::Allocation alloc;
    alloc.set_id(id_of(name));
    alloc.set_node_id(id_of(node));
    alloc.set_namespace_(name_space);
    alloc.set_job_id("web");
    alloc.set_client_status(status);
    host_.commit([&](WriteTransaction& rows) { return allocs_.put(rows, alloc); });
  }
  Result<v1::SyncNodeServicesResponse> sync(const std::string& node, const std::vector<v1::ServiceRegistration>& all,
                                            const std::string& secret = "") {
    v1::SyncNodeServicesRequest request;
    request.set_node_id(id_of(node));
    request.set_secret_id(secret.empty() ? id_of("secret-" + node) : secret);
    for (const auto& each : all) *request.add_services() = each;
    return host_.answer<v1::SyncNodeServicesResponse>("/drover.v1.NodeServices/Sync", request);
  }
  std::vector<v1::ServiceRegistration> rows() {
    return tables_.services.list(*host_.snapshot(), kPrimary, KeyRange::all());
  }
  std::string ids() {
    std::string text;
    for (const auto& row : rows()) text += (text.empty() ? "" : " ") + row.id();
    return text;
  }
  std::string get(const std::string& name, QueryOptions query, const std::string& choose = "",
                  ReplyMeta* meta = nullptr) {
    v1::GetServiceRequest request;
    request.set_service_name(name);
    request.set_choose(choose);
    const auto found =
        host_.answer<v1::ServiceRegistrationsResponse>("/drover.v1.Services/Get", request, std::move(query), meta);
    if (!found) return "error: " + found.status().message();
    std::string text;
    for (const auto& row : found->services()) text += (text.empty() ? "" : " ") + row.id();
    return text;
  }

  testing::FakeHost host_;
  Table<v1::Node> nodes_;
  Table<v1::Allocation> allocs_;
  Table<v1::Job> jobs_;
  Tables tables_;
  Rpc rpc_{tables_};
};

TEST_F(ServicesTest, ANodeSaysTheWholeTruthAboutItself) {
  ASSERT_TRUE(sync("n2", {said("b1", "db")}).ok());
  ASSERT_TRUE(sync("n1", {said("a1", "api"), said("a2", "api")}).ok());
  EXPECT_EQ(ids(), "b1-db a1-api a2-api");
  const v1::ServiceRegistration first = rows()[1];
  EXPECT_EQ(first.namespace_(), "prod");
  EXPECT_EQ(first.job_id(), "web");
  EXPECT_EQ(first.node_id(), id_of("n1"));
  EXPECT_EQ(first.datacenter(), "dc-n1");
  EXPECT_GT(first.create_index(), 0U);

  ASSERT_TRUE(sync("n1", {said("a1", "api", 81)}).ok());
  EXPECT_EQ(ids(), "b1-db a1-api");
  EXPECT_EQ(rows()[1].port(), 81);
  EXPECT_EQ(rows()[1].create_index(), first.create_index());
  EXPECT_GT(rows()[1].modify_index(), first.modify_index());

  ASSERT_TRUE(sync("n1", {}).ok());
  EXPECT_EQ(ids(), "b1-db");
}

TEST_F(ServicesTest, NothingIsWrittenWhereNothingHasChanged) {
  v1::ServiceRegistration tagged = said("a1", "api");
  for (const char* tag : {"x", "y"}) tagged.add_tags(tag);
  ASSERT_TRUE(sync("n1", {tagged}).ok());
  const size_t before = host_.proposed().size();
  std::swap(*tagged.mutable_tags(0), *tagged.mutable_tags(1));  // they are a set
  ASSERT_TRUE(sync("n1", {tagged}).ok());
  EXPECT_EQ(host_.proposed().size(), before);
}

TEST_F(ServicesTest, ANodeSaysWhoseChecksFail) {
  v1::ServiceRegistration row = said("a1", "web");
  ASSERT_TRUE(sync("n1", {row}).ok());
  EXPECT_EQ(rows()[0].status(), "");
  row.set_status("critical");
  ASSERT_TRUE(sync("n1", {row}).ok());
  EXPECT_EQ(rows()[0].status(), "critical");
  EXPECT_GT(rows()[0].modify_index(), rows()[0].create_index());
  QueryOptions query{.name_space = "prod"};
  query.filter = "Status == \"critical\"";
  EXPECT_EQ(get("web", query), "a1-web");
  row.set_status("ill");
  EXPECT_EQ(sync("n1", {row}).status().message(), "invalid service registration status");
  EXPECT_EQ(rows()[0].status(), "critical");
}

TEST_F(ServicesTest, ANodeHearsWhenToSayTheSameAgain) {
  auto answer = sync("n1", {});
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->sync_every(), std::chrono::nanoseconds(30s).count());
  EXPECT_EQ(sync_interval(0), 30s);
  EXPECT_EQ(sync_interval(375), 30s);
  EXPECT_EQ(sync_interval(1'000), 80s);
  EXPECT_EQ(sync_interval(10'000), 800s);
}

TEST_F(ServicesTest, ANodeSpeaksOnlyForItself) {
  EXPECT_EQ(sync("n1", {said("a1", "api")}, id_of("guess")).status().code(), Code::permission_denied);
  EXPECT_EQ(sync("n3", {}).status().code(), Code::permission_denied);
  const auto answer = sync("n1", {said("b1", "db"), said("gone", "x"), said("a1", "api")});
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->refused_size(), 2);
  EXPECT_EQ(answer->refused(0), "b1-db");
  EXPECT_EQ(ids(), "a1-api");
  for (const char* address : {"0.0.0.0", "::"}) {
    v1::ServiceRegistration row = said("a1", "api");
    row.set_address(address);
    EXPECT_EQ(sync("n1", {row}).status().message(), "invalid service registration address");
  }
}

TEST_F(ServicesTest, AServerWithoutNodesRefuses) {
  tables_.nodes.reset();
  EXPECT_EQ(sync("n1", {}).status().code(), Code::failed_precondition);
}

TEST_F(ServicesTest, WhatHasEndedIsNotPublished) {
  put_alloc("a2", "n1", "prod", v1::CLIENT_STATUS_COMPLETE);
  ASSERT_TRUE(sync("n1", {said("a1", "api"), said("a2", "api")}).ok());
  EXPECT_EQ(ids(), "a1-api");
  put_node("n1", v1::NODE_STATUS_DOWN);
  EXPECT_EQ(sync("n1", {}).status().code(), Code::failed_precondition);
}

// Between the decision and the entry of the log the node went down, and its allocation ended.
TEST_F(ServicesTest, AnEntryThatIsNoLongerTrueChangesNothing) {
  v1::ServicesSynced command;
  v1::NodeServicesChanged& change = *command.add_nodes();
  change.set_node_id(id_of("n1"));
  *change.add_upserts() = said("a1", "api");
  change.mutable_upserts(0)->set_node_id(id_of("n1"));
  put_alloc("a1", "n1", "prod", v1::CLIENT_STATUS_LOST);
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_EQ(ids(), "");
  put_alloc("a1", "n1", "prod", v1::CLIENT_STATUS_RUNNING);
  put_node("n1", v1::NODE_STATUS_DOWN);
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_EQ(ids(), "");
  put_node("n1", v1::NODE_STATUS_READY);
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_EQ(ids(), "a1-api");
  put_node("n1", v1::NODE_STATUS_DOWN);
  EXPECT_EQ(outlived(tables_, *host_.snapshot()).node_ids_size(), 1);
}

TEST_F(ServicesTest, RowsGoWithTheirNodeOrAllocation) {
  ASSERT_TRUE(sync("n1", {said("a1", "api"), said("a2", "api")}).ok());
  ASSERT_TRUE(sync("n2", {said("b1", "db")}).ok());
  v1::ServicesForgotten command;
  command.add_alloc_ids(id_of("a2"));
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_EQ(ids(), "b1-db a1-api");
  command.Clear();
  command.add_node_ids(id_of("n1"));
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  EXPECT_EQ(ids(), "b1-db");
}

TEST_F(ServicesTest, TheSweepFindsWhatOutlivedItsOwner) {
  ASSERT_TRUE(sync("n1", {said("a1", "api"), said("a2", "api")}).ok());
  ASSERT_TRUE(sync("n2", {said("b1", "db")}).ok());
  EXPECT_TRUE(serialize(outlived(tables_, *host_.snapshot())).empty());
  put_alloc("a1", "n1", "prod", v1::CLIENT_STATUS_FAILED);
  put_node("n2", v1::NODE_STATUS_DOWN);
  const v1::ServicesForgotten found = outlived(tables_, *host_.snapshot());
  ASSERT_EQ(found.alloc_ids_size(), 1);
  EXPECT_EQ(found.alloc_ids(0), id_of("a1"));
  ASSERT_EQ(found.node_ids_size(), 1);
  EXPECT_EQ(found.node_ids(0), id_of("n2"));
}

TEST_F(ServicesTest, ASweepThatComesLateLeavesWhatIsRightAgain) {
  ASSERT_TRUE(sync("n1", {said("a1", "api"), said("a2", "api")}).ok());
  put_node("n1", v1::NODE_STATUS_DOWN);
  v1::ServicesSwept late;
  *late.mutable_outlived() = outlived(tables_, *host_.snapshot());
  ASSERT_EQ(late.outlived().node_ids_size(), 1);
  put_node("n1", v1::NODE_STATUS_READY);
  put_alloc("a2", "n1", "prod", v1::CLIENT_STATUS_FAILED);
  ASSERT_TRUE(host_.propose(late, SteadyTime::max()).ok());
  EXPECT_EQ(ids(), "a1-api");
}

TEST_F(ServicesTest, AreListedWithTheTagsOfAllInstances) {
  v1::ServiceRegistration one = said("a1", "api"), two = said("a2", "api");
  for (const char* tag : {"b", "a"}) one.add_tags(tag);
  two.add_tags("c");
  ASSERT_TRUE(sync("n1", {one, two}).ok());
  ASSERT_TRUE(sync("n2", {said("b1", "db")}).ok());
  const auto list = [&](const char* name_space) {
    std::string text;
    const auto found = host_.answer<v1::ListServicesResponse>("/drover.v1.Services/List", v1::ListServicesRequest(),
                                                              {.name_space = name_space});
    for (const auto& each : found->namespaces()) {
      text += each.namespace_() + ":";
      for (const auto& stub : each.services()) {
        text += stub.service_name();
        for (const auto& tag : stub.tags()) text += "," + tag;
      }
      text += ";";
    }
    return text;
  };
  EXPECT_EQ(list("prod"), "prod:api,a,b,c;");
  EXPECT_EQ(list("*"), "default:db;prod:api,a,b,c;");
  EXPECT_EQ(list("other"), "");
}

TEST_F(ServicesTest, AreFoundByNameInPagesAndByFilter) {
  ASSERT_TRUE(sync("n1", {said("a1", "api", 1), said("a2", "api", 2), said("a1", "web")}).ok());
  ASSERT_TRUE(sync("n2", {said("b1", "api")}).ok());
  EXPECT_EQ(get("api", {.name_space = "prod"}), "a1-api a2-api");
  EXPECT_EQ(get("api", {.name_space = "*"}), "b1-api a1-api a2-api");
  EXPECT_EQ(get("ap", {.name_space = "prod"}), "");
  EXPECT_EQ(get("api", {.name_space = "prod", .filter = "Port == 2"}), "a2-api");
  EXPECT_NE(get("api", {.name_space = "prod", .filter = "Moon == 2"}).find("error"), std::string::npos);
  ReplyMeta meta;
  EXPECT_EQ(get("api", {.name_space = "*", .per_page = 2}, "", &meta), "b1-api a1-api");
  EXPECT_EQ(meta.next_token, "prod.a2-api");
  EXPECT_EQ(get("api", {.name_space = "*", .per_page = 2, .next_token = meta.next_token}, "", &meta), "a2-api");
}

TEST_F(ServicesTest, PagesFollowTheKeysOfNamespacesWhoseNamesBeginAlike) {
  put_alloc("c1", "n1", "prod-b", v1::CLIENT_STATUS_RUNNING);  // its token is before those of "prod", its key behind
  ASSERT_TRUE(sync("n1", {said("a1", "api"), said("a2", "api"), said("c1", "api")}).ok());
  for (const bool reverse : {false, true}) {
    std::string text;
    QueryOptions query{.name_space = "*", .per_page = 1, .reverse = reverse};
    for (int pages = 0; pages < 4; ++pages) {
      ReplyMeta meta;
      text += get("api", query, "", &meta) + " ";
      query.next_token = meta.next_token;
      if (query.next_token.empty()) break;
    }
    EXPECT_EQ(text, reverse ? "c1-api a2-api a1-api " : "a1-api a2-api c1-api ");
  }
  EXPECT_NE(get("api", {.next_token = "x"}).find("next_token is not of the form"), std::string::npos);
}

TEST_F(ServicesTest, AChoiceStaysWhileInstancesComeAndGo) {
  EXPECT_NE(get("api", {}, "3").find("failed to choose services"), std::string::npos);
  for (const char* how : {"x|key", "|key", "0|key", "-1|key"}) EXPECT_FALSE(choose({}, how).ok()) << how;
  std::vector<v1::ServiceRegistration> all;
  for (int i = 0; i < 20; ++i) all.push_back(said("a" + std::to_string(i), "api", i + 1));
  const auto names = [](const std::vector<v1::ServiceRegistration>& found) {
    std::set<std::string> out;
    for (const auto& row : found) out.insert(row.id());
    return out;
  };
  const auto first = names(*choose(all, "5|me"));
  EXPECT_EQ(first.size(), 5U);
  std::vector<v1::ServiceRegistration> reversed(all.rbegin(), all.rend());
  EXPECT_EQ(names(*choose(reversed, "5|me")), first);
  EXPECT_NE(names(*choose(all, "5|you")), first);
  std::erase_if(all, [&](const auto& row) { return row.id() == *first.begin(); });
  const auto later = names(*choose(all, "5|me"));
  EXPECT_EQ(std::ranges::count_if(first, [&](const auto& id) { return later.contains(id); }), 4);
  EXPECT_EQ(choose(all, "50|me")->size(), all.size());
}

TEST_F(ServicesTest, AreFoundByJobAndAllocation) {
  ASSERT_TRUE(sync("n1", {said("a1", "api"), said("a2", "api")}).ok());
  v1::JobServicesRequest job;
  job.set_job_id("web");
  const auto of_job =
      host_.answer<v1::ServiceRegistrationsResponse>("/drover.v1.Services/OfJob", job, {.name_space = "prod"});
  ASSERT_TRUE(of_job.ok());
  EXPECT_EQ(of_job->services_size(), 2);
  job.set_job_id("none");
  EXPECT_EQ(host_.answer<v1::ServiceRegistrationsResponse>("/drover.v1.Services/OfJob", job).status().code(),
            Code::not_found);
  v1::AllocationServicesRequest alloc;
  alloc.set_alloc_id(id_of("a2"));
  const auto of_alloc = host_.answer<v1::ServiceRegistrationsResponse>("/drover.v1.Services/OfAllocation", alloc);
  ASSERT_EQ(of_alloc->services_size(), 1);
  EXPECT_EQ(of_alloc->services(0).id(), "a2-api");
}

TEST_F(ServicesTest, ACallerSeesTheNamespacesItMay) {
  ASSERT_TRUE(sync("n1", {said("a1", "api")}).ok());
  ASSERT_TRUE(sync("n2", {said("b1", "api")}).ok());
  host_.call_as({Identity::Kind::token, "t", std::make_shared<testing::OnlyIn>("default")});
  EXPECT_EQ(get("api", {.name_space = "*"}), "b1-api");
  const auto all = host_.answer<v1::ListServicesResponse>("/drover.v1.Services/List", v1::ListServicesRequest(),
                                                          {.name_space = "*"});
  ASSERT_EQ(all->namespaces_size(), 1);
  EXPECT_EQ(all->namespaces(0).namespace_(), "default");
  for (const auto& [name, found] : {std::pair("a1", false), std::pair("b1", true)}) {
    v1::AllocationServicesRequest alloc;
    alloc.set_alloc_id(id_of(name));
    const auto answer = host_.answer<v1::ServiceRegistrationsResponse>("/drover.v1.Services/OfAllocation", alloc);
    EXPECT_EQ(answer.ok(), found) << name;
  }
}

TEST_F(ServicesTest, OneIsDeletedByName) {
  ASSERT_TRUE(sync("n1", {said("a1", "api"), said("a2", "api")}).ok());
  v1::DeleteServiceRequest request;
  request.set_service_name("web");
  request.set_id("a1-api");
  const auto erase = [&] {
    return host_.answer<v1::DeleteServiceResponse>("/drover.v1.Services/Delete", request, {.name_space = "prod"})
        .status();
  };
  EXPECT_EQ(erase().message(), kUnknown);
  EXPECT_EQ(http_status_of(erase()), 500);
  request.set_service_name("api");
  EXPECT_TRUE(erase().ok());
  EXPECT_EQ(ids(), "a2-api");
  EXPECT_FALSE(erase().ok());
}

TEST_F(ServicesTest, ManyNodesAreWrittenTogether) {
  SyncMerger merger;
  merger.start(host_);
  host_.delay_tasks();
  std::vector<Result<Applied>> told;
  const auto say = [&](const std::string& alloc, const std::string& node, uint64_t term) {
    v1::ServicesSynced command;
    v1::NodeServicesChanged& change = *command.add_nodes();
    change.set_node_id(id_of(node));
    *change.add_upserts() = said(alloc, "api");
    change.mutable_upserts(0)->set_node_id(id_of(node));
    merger.propose(serialize(command), SteadyTime::max(), term,
                   [&](Result<Applied> applied) { told.push_back(applied); });
  };
  const uint64_t term = host_.term();
  say("a1", "n1", term);  // nobody has said anything for long: at once
  EXPECT_EQ(told.size(), 1U);
  say("a2", "n1", term);
  say("b1", "n2", term);
  EXPECT_EQ(told.size(), 1U);
  host_.run_delayed();
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(told[1]->index, told[2]->index);
  EXPECT_EQ(rows().size(), 3U);
  say("a1", "n1", term);
  say("a1", "n1", term + 1);  // decided in another term: not in one entry
  merger.stop();
  EXPECT_EQ(told.size(), 5U);
  say("a1", "n1", term);  // at once
  EXPECT_EQ(told.size(), 6U);
}

// Nodes, allocations and lost calls in any order: after one sync of every node that is there and one sweep, the rows
// are those of what runs, no more and no fewer.
TEST_F(ServicesTest, NoRowIsStaleAndNoneIsMissingAfterASyncAndASweep) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    std::optional<v1::ServicesSwept> late;  // decided, and not in the log yet
    Chance chance(seed);
    const auto pick = [&](size_t below) { return static_cast<size_t>(chance.below(static_cast<int>(below))); };
    const std::vector<std::string> nodes = {"n1", "n2", "n4"};
    std::map<std::string, bool> is_up;
    std::map<std::string, std::pair<std::string, bool>> runs;  // allocation → node, alive
    for (const auto& node : nodes) put_node(node, v1::NODE_STATUS_READY), is_up[node] = true;
    const auto instances = [&](const std::string& node) {
      std::vector<v1::ServiceRegistration> out;
      for (const auto& [alloc, place] : runs) {
        if (place.first == node && place.second) out.push_back(said(alloc, "api"));
      }
      return out;
    };
    const auto right_rows = [&] {
      std::set<std::string> out;
      for (const auto& row : rows()) {
        if (may_publish(tables_, *host_.snapshot(), row.node_id()) &&
            alloc_on(tables_, *host_.snapshot(), row.alloc_id(), row.node_id()))
          out.insert(row.id());
      }
      return out;
    };
    const auto name_of = [&](size_t i) { return "s" + std::to_string(seed) + "-" + std::to_string(i); };
    for (int step = 0; step < 60; ++step) {
      const std::string node = nodes[pick(nodes.size())], alloc = name_of(pick(8));
      switch (pick(7)) {
        case 0:
          if (!runs.contains(alloc)) runs[alloc] = {node, true};
          put_alloc(alloc, runs[alloc].first, "prod",
                    runs[alloc].second ? v1::CLIENT_STATUS_RUNNING : v1::CLIENT_STATUS_FAILED);
          break;
        case 1:  // it ends, and its row stays: the node crashed before it could say so
          if (runs.contains(alloc)) {
            runs[alloc].second = false;
            put_alloc(alloc, runs[alloc].first, "prod", v1::CLIENT_STATUS_FAILED);
          }
          break;
        case 2:  // the node's row changes without the command that removes its services
          is_up[node] = !is_up[node];
          put_node(node, is_up[node] ? v1::NODE_STATUS_READY : v1::NODE_STATUS_DOWN);
          break;
        case 3:  // a sync of an older truth
          if (auto some = instances(node); !some.empty()) {
            some.resize(pick(some.size() + 1));
            (void)sync(node, some);
          }
          break;
        case 4:
          late.emplace();
          *late->mutable_outlived() = outlived(tables_, *host_.snapshot());
          break;
        case 5: {
          if (!late) break;
          const std::set<std::string> right = right_rows();
          ASSERT_TRUE(host_.propose(*std::exchange(late, std::nullopt), SteadyTime::max()).ok());
          EXPECT_EQ(right_rows(), right) << "a sweep took out what was right";
          break;
        }
        default:
          (void)sync(node, instances(node));
      }
    }
    std::set<std::string> wanted;
    for (const auto& node : nodes) {
      if (!is_up[node]) continue;
      ASSERT_TRUE(sync(node, instances(node)).ok());
      for (const auto& row : instances(node)) wanted.insert(row.id());
    }
    v1::ServicesSwept sweep;
    *sweep.mutable_outlived() = outlived(tables_, *host_.snapshot());
    ASSERT_TRUE(host_.propose(sweep, SteadyTime::max()).ok());
    std::set<std::string> found;
    for (const auto& row : rows()) found.insert(row.id());
    EXPECT_EQ(found, wanted);
  }
}

}  // namespace
}  // namespace drover::services
