#include "server/rpc.h"

#include <set>

#include "drover/api/allocations.pb.h"
#include "drover/api/host_volumes.pb.h"
#include "drover/json.h"
#include "drover/uuid.h"
#include "drover/v1/commands.pb.h"
#include "drover/v1/node_host_volume.pb.h"
#include "sdk/testing/permissions.h"
#include "testing/server_world.h"

namespace drover::host_volumes {
namespace {

class HostVolumesTest : public ServerTest {
 protected:
  static v1::HostVolumeRequest request(const std::string& name = "data") {
    v1::HostVolumeRequest request;
    request.mutable_volume()->set_name(name);
    return request;
  }
  Result<v1::DescribedHostVolume> create(const v1::HostVolumeRequest& request, const char* method = "Create") {
    DROVER_TRY(const auto answer,
               host_.answer<v1::HostVolumeResponse>(std::string("/drover.v1.HostVolumes/") + method, request));
    return answer.volume();
  }
  Result<v1::DescribedHostVolume> get(const std::string& id, QueryOptions query = {}) {
    v1::ReadHostVolumeRequest request;
    request.set_id(id);
    DROVER_TRY(const auto answer,
               host_.answer<v1::ReadHostVolumeResponse>("/drover.v1.HostVolumes/Get", request, std::move(query)));
    return answer.volume();
  }
  Status erase(const std::string& id, bool force = false) {
    v1::DeleteHostVolumeRequest request;
    request.set_id(id);
    request.set_force(force);
    return host_.answer<v1::DeleteHostVolumeResponse>("/drover.v1.HostVolumes/Delete", request).status();
  }
  static Result<std::string> made(const std::string& path, int64_t capacity = 0) {
    v1::MakeHostVolumeResponse response;
    response.set_host_path(path);
    response.set_capacity(capacity);
    return serialize(response);
  }
};

TEST_F(HostVolumesTest, OneIsMadeByItsNodeAndReadyWhenTheNodeOffersIt) {
  answer_ = [] { return made("/srv/v", 77); };
  v1::HostVolumeRequest asked = request();
  (*asked.mutable_volume()->mutable_parameters())["mode"] = "0750";
  const auto created = create(asked);
  ASSERT_TRUE(created.ok()) << created.status().message();
  EXPECT_EQ(created->state(), "pending");
  EXPECT_EQ(created->host_path(), "/srv/v");
  EXPECT_EQ(created->capacity_bytes(), 77);
  EXPECT_EQ(created->node_id(), id_of("n1"));
  EXPECT_EQ(created->node_pool(), "default");
  EXPECT_EQ(created->plugin_id(), "mkdir");
  ASSERT_EQ(asked_, std::vector<std::string>{"Make"});
  const auto told = *parse_message<v1::MakeHostVolumeRequest>(requests_[0]);
  EXPECT_EQ(told.id(), created->id());
  EXPECT_EQ(told.parameters().at("mode"), "0750");
  EXPECT_EQ(told.leader_term(), host_.term());
  EXPECT_GT(told.step_index(), 0U);
  EXPECT_EQ(host_.proposed(), (std::vector<std::string>{"drover.v1.HostVolumeBegun", "drover.v1.HostVolumeMade"}));

  put_node("n1", v1::NODE_STATUS_READY, created->id());
  EXPECT_EQ(get(created->id())->state(), "ready");
  put_node("n1", v1::NODE_STATUS_DOWN, created->id());
  EXPECT_EQ(get(created->id())->state(), "unavailable");
  put_node("n1");
  EXPECT_EQ(get(created->id())->state(), "unavailable");
  EXPECT_EQ(create(request())->node_id(), id_of("n2")) << "another one of the name";
  EXPECT_EQ(create(request()).status().code(), Code::failed_precondition);
}

TEST_F(HostVolumesTest, WhatANodeRefusesIsNotThere) {
  answer_ = [] { return failed_precondition("exit status 1: no room"); };
  EXPECT_EQ(create(request()).status(), failed_precondition("exit status 1: no room"));
  EXPECT_TRUE(rows().empty());

  answer_ = [] { return made("/srv/v", 50); };
  const auto created = create(request());
  answer_ = [] { return failed_precondition("does not grow"); };
  v1::HostVolumeRequest grown = request();
  grown.mutable_volume()->set_id(created->id());
  grown.mutable_volume()->set_requested_capacity_min_bytes(100);
  EXPECT_EQ(create(grown).status(), failed_precondition("does not grow"));
  ASSERT_EQ(rows().size(), 1U);
  EXPECT_EQ(rows()[0].requested_capacity_min(), 0) << "as before";
  EXPECT_EQ(rows()[0].step(), v1::HOST_VOLUME_STEP_MADE);
  answer_ = [] { return made("/srv/v", 100); };
  EXPECT_EQ(create(grown)->capacity_bytes(), 100);
  EXPECT_EQ(rows().size(), 1U);
}

TEST_F(HostVolumesTest, WhatNobodyKnowsIsTriedAgain) {
  answer_ = [] { return unavailable("the node is not connected"); };
  const auto created = create(request());
  ASSERT_TRUE(created.ok()) << created.status().message();
  EXPECT_EQ(created->state(), "pending");
  EXPECT_EQ(created->last_error(), "the node is not connected");
  EXPECT_EQ(erase(created->id()).code(), Code::failed_precondition) << "its node may be making it";

  keeper_.sweep(host_.term(), {});
  EXPECT_EQ(asked_.size(), 2U);
  keeper_.sweep(host_.term(), {});
  EXPECT_EQ(asked_.size(), 2U) << "not at once";
  answer_ = [] { return made("/srv/v"); };
  host_.forward_clock().advance(std::chrono::minutes(2));
  put_node("n1", v1::NODE_STATUS_DOWN);
  keeper_.sweep(host_.term(), {});
  EXPECT_EQ(asked_.size(), 2U) << "a node that is down is not asked";
  put_node("n1");
  keeper_.sweep(host_.term(), {});
  EXPECT_EQ(asked_.size(), 3U);
  EXPECT_EQ(parse_message<v1::MakeHostVolumeRequest>(requests_[0])->step_index(),
            parse_message<v1::MakeHostVolumeRequest>(requests_[2])->step_index());
  EXPECT_EQ(rows()[0].step(), v1::HOST_VOLUME_STEP_MADE);
  EXPECT_EQ(rows()[0].last_error(), "");

  answer_ = [] { return deadline_exceeded("too slow"); };
  EXPECT_EQ(erase(created->id()).code(), Code::deadline_exceeded);
  EXPECT_EQ(get(created->id())->state(), "deleted");
  answer_ = {};
  keeper_.sweep(host_.term(), {});
  EXPECT_TRUE(rows().empty());
}

TEST_F(HostVolumesTest, OneInUseIsNeitherChangedNorDeleted) {
  answer_ = [] { return made("/srv/v"); };
  const auto created = create(request());
  put_user("n1", v1::CLIENT_STATUS_RUNNING);
  ASSERT_EQ(get(created->id())->allocations_size(), 1);
  const std::string alloc = Uuid::from_bytes(id_of("a1")).to_string();
  EXPECT_EQ(erase(created->id(), true), failed_precondition("volume " + Uuid::from_bytes(created->id()).to_string() +
                                                            " in use: claimed by allocs (" + alloc + ")"));
  v1::HostVolumeRequest change = request();
  change.mutable_volume()->set_id(created->id());
  EXPECT_EQ(create(change).status(),
            failed_precondition("cannot update a volume in use: claimed by allocs (" + alloc + ")"));
  EXPECT_EQ(asked_.size(), 1U) << "nobody was asked";
  put_user("n1", v1::CLIENT_STATUS_COMPLETE);
  EXPECT_TRUE(erase(created->id()).ok());
  EXPECT_TRUE(rows().empty());
  EXPECT_EQ(erase(created->id()).code(), Code::not_found);
}

TEST_F(HostVolumesTest, ANodeThatRefusesToDeleteHasItStill) {
  answer_ = [] { return made("/srv/v"); };
  const auto created = create(request());
  put_node("n1", v1::NODE_STATUS_READY, created->id());
  answer_ = [] { return failed_precondition("exit status 1"); };
  EXPECT_EQ(erase(created->id()).code(), Code::failed_precondition);
  EXPECT_EQ(get(created->id())->state(), "ready");
  EXPECT_EQ(get(created->id())->last_error(), "exit status 1");
}

TEST_F(HostVolumesTest, OneWhoseNodeIsGoneIsForgottenOnlyByForce) {
  answer_ = [] { return made("/srv/v"); };
  const auto created = create(request());
  put_node("n1", v1::NODE_STATUS_DOWN, created->id());
  EXPECT_EQ(erase(created->id()), failed_precondition("volume cannot be removed from unknown node without force=true"));
  EXPECT_TRUE(erase(created->id(), true).ok());
  EXPECT_EQ(asked_, std::vector<std::string>{"Make"});
  EXPECT_TRUE(rows().empty());
}

TEST_F(HostVolumesTest, RegisteringLooksForAFolder) {
  v1::HostVolumeRequest there = request();
  there.mutable_volume()->set_node_id(id_of("n2"));
  EXPECT_EQ(create(there, "Register").status(),
            invalid_argument("volume validation failed: cannot register volume: host path is required"));
  there.mutable_volume()->set_host_path("/srv/mine");
  there.mutable_volume()->set_capacity_bytes(9);
  answer_ = [] { return made("/srv/mine"); };
  const auto known = create(there, "Register");
  ASSERT_TRUE(known.ok()) << known.status().message();
  EXPECT_EQ(known->host_path(), "/srv/mine");
  EXPECT_EQ(known->capacity_bytes(), 9);
  EXPECT_TRUE(parse_message<v1::MakeHostVolumeRequest>(requests_[0])->is_registered());
}

TEST_F(HostVolumesTest, BadDescriptionsChangeNothing) {
  struct Case {
    std::function<void(v1::DescribedHostVolume&)> edit;
    const char* said;
  };
  const Case cases[] = {
      {[](auto& v) { v.set_namespace_("none"); }, "volume validation failed: no such namespace \"none\""},
      {[](auto& v) { v.set_node_pool("none"); }, "could not place volume \"data\": node pool \"none\" does not exist"},
      {[](auto& v) { v.set_node_id(id_of("n9")); },
       "could not place volume \"data\": node \"6e392e2e-2e2e-2e2e-2e2e-2e2e2e2e2e2e\" does not exist"},
      {[](auto& v) { v.set_id(id_of("v9")); },
       "cannot update volume \"76392e2e-2e2e-2e2e-2e2e-2e2e2e2e2e2e\": volume does not exist"},
      {[](auto& v) { v.set_plugin_id("lvm"); },
       "could not place volume \"data\": no node meets constraints: 0 nodes had existing volume, 0 nodes are not "
       "ready, "
       "2 nodes were infeasible"},
  };
  for (const Case& c : cases) {
    v1::HostVolumeRequest asked = request();
    c.edit(*asked.mutable_volume());
    EXPECT_EQ(create(asked).status().message(), c.said);
  }
  EXPECT_EQ(create(v1::HostVolumeRequest()).status(), invalid_argument("missing volume definition"));
  EXPECT_TRUE(asked_.empty());
  EXPECT_TRUE(host_.proposed().empty());
}

TEST_F(HostVolumesTest, AreListedByNodePoolAndPrefix) {
  answer_ = [] { return made("/srv/v"); };
  const auto first = create(request("data"));
  const auto second = create(request("logs"));
  const auto list = [&](const v1::ListHostVolumesRequest& request, QueryOptions query = {}) {
    std::set<std::string> names;
    const auto all =
        host_.answer<v1::ListHostVolumesResponse>("/drover.v1.HostVolumes/List", request, std::move(query));
    EXPECT_TRUE(all.ok()) << all.status().message();
    for (const v1::HostVolumeStub& stub : all->volumes()) names.insert(stub.name());
    return names;
  };
  using Names = std::set<std::string>;
  v1::ListHostVolumesRequest all, on_n2, other_pool;
  on_n2.set_node_id(id_of("n2"));
  other_pool.set_node_pool("gpu");
  EXPECT_EQ(list(all), (Names{"data", "logs"}));
  EXPECT_EQ(list(on_n2), Names{"logs"});
  EXPECT_EQ(list(other_pool), Names{});
  EXPECT_EQ(list(all, {.prefix = "da"}), Names{"data"});
  EXPECT_EQ(list(all, {.prefix = Uuid::from_bytes(second->id()).short_string()}), Names{"logs"});
  EXPECT_EQ(list(all, {.filter = "Name == \"logs\" and State == \"pending\""}), Names{"logs"});
  EXPECT_EQ(list(all, {.name_space = "other"}), Names{});
  EXPECT_EQ(list(all, {.per_page = 1}).size(), 1U);
}

TEST_F(HostVolumesTest, LookLikeTheFieldsOwn) {
  answer_ = [] { return made("/srv/v", 5); };
  const auto created = create(request());
  const std::string json = message_to_json(*get(created->id()));
  for (const char* part :
       {R"("Namespace":"default")", R"("Name":"data")", R"("PluginID":"mkdir")", R"("NodePool":"default")",
        R"("RequestedCapacityMinBytes":0,"RequestedCapacityMaxBytes":0,"CapacityBytes":5)",
        R"("RequestedCapabilities":[{"AttachmentMode":"file-system","AccessMode":"single-node-writer"}])",
        R"("HostPath":"/srv/v","State":"pending")", R"("CreateIndex":)", R"("ModifyTime":)"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " in " << json;
  for (const char* absent : {"Constraints", "Parameters", "Allocations", "LastError"})
    EXPECT_EQ(json.find(absent), std::string::npos) << absent;
}

TEST_F(HostVolumesTest, ClaimsAreListedAndForgotten) {
  put_user("n1", v1::CLIENT_STATUS_RUNNING);
  v1::HostVolumesClaimed command;
  v1::HostVolumeClaim& claim = *command.add_claims();
  claim.set_id(id_of("c1"));
  claim.set_namespace_("default");
  claim.set_job_id("db");
  claim.set_task_group_name("app");
  claim.set_alloc_id(id_of("a1"));
  claim.set_volume_id(id_of("v1"));
  claim.set_volume_name("data");
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  command.mutable_claims(0)->set_id(id_of("c2"));
  command.mutable_claims(0)->set_alloc_id(id_of("a2"));
  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  const auto list = [&](const std::string& group) {
    v1::ListHostVolumeClaimsRequest request;
    request.set_task_group(group);
    return *host_.answer<v1::ListHostVolumeClaimsResponse>("/drover.v1.HostVolumeClaims/List", request);
  };
  ASSERT_EQ(list("app").claims_size(), 1) << "one of a group on a volume";
  EXPECT_EQ(list("app").claims(0).id(), id_of("c1"));
  EXPECT_EQ(list("app").claims(0).alloc_id(), id_of("a2"));
  EXPECT_EQ(list("other").claims_size(), 0);
  keeper_.sweep(host_.term(), {});
  EXPECT_EQ(list("").claims_size(), 1) << "its job is there";
  v1::DeleteHostVolumeClaimRequest gone;
  gone.set_id(id_of("c1"));
  EXPECT_TRUE(host_.answer<v1::DeleteHostVolumeClaimResponse>("/drover.v1.HostVolumeClaims/Delete", gone).ok());
  EXPECT_EQ(list("").claims_size(), 0);
  EXPECT_EQ(host_.answer<v1::DeleteHostVolumeClaimResponse>("/drover.v1.HostVolumeClaims/Delete", gone).status(),
            not_found("claim not found"));

  ASSERT_TRUE(host_.propose(command, SteadyTime::max()).ok());
  host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(jobs_.erase(rows, job_key("default", "db"))); });
  keeper_.sweep(host_.term(), {});
  EXPECT_EQ(list("").claims_size(), 0) << "its job is gone";
}

}  // namespace
}  // namespace drover::host_volumes
