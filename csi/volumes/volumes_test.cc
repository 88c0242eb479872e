#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <set>
#include <thread>

#include "claim_rpc.h"
#include "claims/claim_keeper.h"
#include "drover/api/keyring.pb.h"
#include "drover/api/volumes.pb.h"
#include "drover/json.h"
#include "drover/options.pb.h"
#include "drover/schema.h"
#include "drover/uuid.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "drover/v1/namespace.pb.h"
#include "drover/v1/node.pb.h"
#include "drover/v1/node_csi.pb.h"
#include "sdk/testing/fake_host.h"
#include "sdk/testing/fake_keyring.h"
#include "sdk/testing/permissions.h"
#include "sdk/testing/waiting.h"
#include "secrets.h"
#include "volume_rpc.h"
#include "volume_rules.h"
#include "volumes.pb.h"

namespace drover::volumes {
namespace {

std::string id_of(const std::string& name) { return (name + std::string(16, '.')).substr(0, 16); }

// A management token's rights but for plugins.
class NoPlugins final : public testing::AllButManagement {
 public:
  Grant granted(Area area) const override { return area == Area::plugin ? Grant::list : Grant::write; }
};

// One controller, nodes n1 and n2, and what a test answers in their place.
// Runs what is posted on threads of its own, from the moment when it is told to.
class VolumesHost final : public testing::FakeHost {
 public:
  ~VolumesHost() override { join(); }
  void post(std::function<void()> task) override {
    if (!has_threads) return task();
    const std::lock_guard lock(mutex_);
    threads_.emplace_back(std::move(task));
  }
  void join() {
    for (std::thread& each : threads_) each.join();
    threads_.clear();
  }
  std::atomic<bool> has_threads = false;

 private:
  std::mutex mutex_;
  std::vector<std::thread> threads_;
};

class VolumesTest : public ::testing::Test {
 protected:
  VolumesTest() {
    nodes_ = Table<v1::Node>(host_.rows().add_table(nodes_table().spec()));
    host_.rows().add_table(jobs_table().spec());
    versions_ = Table<v1::Job>(host_.rows().add_table(job_versions_table().spec()));
    allocs_ = Table<v1::Allocation>(host_.rows().add_table(allocs_table().spec()));
    root_keys_ = Table<v1::RootKey>(host_.rows().add_table(Table<v1::RootKey>::spec(
        "root_keys", {}, [](const v1::RootKey& key, RowKeys& out) { out.primary(key.key_id()); })));
    namespaces_ = Table<v1::Namespace>(host_.rows().add_table(namespaces_table().spec()));
    EXPECT_TRUE(declare_tables(host_.rows(), tables_).ok());
    EXPECT_TRUE(volumes_.declare(host_.rows()).ok());
    EXPECT_TRUE(claims_.declare(host_.rows()).ok());
    volumes_.start(host_, keyring_);
    claims_.start(host_, keyring_);
    put_key(keyring_.active, v1::ROOT_KEY_STATE_ACTIVE);
    for (const char* name : {"n1", "n2"}) put_node(name, v1::NODE_STATUS_READY);
    v1::Namespace other;
    other.set_name("other");
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(namespaces_.put(rows, other).ok()); });
    host_.answer_calls_with([this](const CallContext& context, const std::string& request) {
      EXPECT_TRUE(context.from_server);
      const std::string method = context.method.substr(context.method.rfind('/') + 1);
      {
        const std::lock_guard lock(asking_);
        asked_.push_back(method);
        requests_.push_back(request);
      }
      return answer_ ? answer_(method) : Result<std::string>(std::string());
    });
  }

  void put_key(const std::string& id, v1::RootKeyState state) {
    v1::RootKey key;
    key.set_key_id(id);
    key.set_state(state);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(root_keys_.put(rows, key).ok()); });
  }

  void put_node(const std::string& name, v1::NodeStatus status) {
    v1::Node node;
    node.set_id(id_of(name));
    node.set_secret_id(id_of("secret-" + name));
    node.set_name(name);
    node.set_status(status);
    v1::CsiInfo& here = (*node.mutable_csi_node_plugins())["disk"];
    here.set_healthy(true);
    here.set_provider("disk.example");
    here.set_provider_version("1.2");
    here.set_requires_controller_plugin(true);
    here.mutable_node_info()->set_id("storage-" + name);
    if (name == "n1") {
      v1::CsiInfo& controller = (*node.mutable_csi_controller_plugins())["disk"];
      controller.set_healthy(true);
      controller.set_requires_controller_plugin(true);
      controller.mutable_controller_info()->set_supports_attach_detach(true);
      controller.mutable_controller_info()->set_supports_create_delete(true);
      controller.mutable_controller_info()->set_supports_expand(true);
    }
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(nodes_.put(rows, node).ok()); });
  }

  v1::Volume described(const std::string& id) {
    v1::Volume volume;
    volume.set_id(id);
    volume.set_plugin_id("disk");
    volume.set_external_id("remote-" + id);
    auto& capability = *volume.add_requested_capabilities();
    capability.set_access_mode("single-node-writer");
    capability.set_attachment_mode("file-system");
    (*volume.mutable_secrets())["password"] = "tell nobody";
    volume.mutable_mount_options()->add_mount_flags("password=x");
    return volume;
  }

  Status registered(const v1::Volume& volume, QueryOptions query = {}) {
    v1::VolumesRequest request;
    *request.add_volumes() = volume;
    return host_.answer<v1::VolumesResponse>("/drover.v1.Volumes/Register", request, std::move(query)).status();
  }
  Result<v1::VolumesResponse> created(v1::Volume volume) {
    volume.clear_external_id();
    v1::VolumesRequest request;
    *request.add_volumes() = volume;
    return host_.answer<v1::VolumesResponse>("/drover.v1.Volumes/Create", request);
  }
  Result<v1::ReadVolumeResponse> read(const std::string& id) {
    v1::ReadVolumeRequest request;
    request.set_volume_id(id);
    return host_.answer<v1::ReadVolumeResponse>("/drover.v1.Volumes/Get", request);
  }

  void put_alloc(const std::string& name, const std::string& node, const std::string& volume, bool reads = false) {
    v1::Job job;
    job.set_namespace_("default");
    job.set_id("job-" + name);
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("g");
    v1::VolumeRequest& request = (*group.mutable_volumes())["v"];
    request.set_type("csi");
    request.set_source(volume);
    request.set_access_mode("single-node-writer");
    request.set_attachment_mode("file-system");
    request.set_read_only(reads);
    v1::Allocation alloc;
    alloc.set_id(id_of(name));
    alloc.set_name("job-" + name + ".g[0]");
    alloc.set_namespace_("default");
    alloc.set_job_id("job-" + name);
    alloc.set_task_group("g");
    alloc.set_node_id(id_of(node));
    alloc.set_client_status(v1::CLIENT_STATUS_PENDING);
    host_.commit([&](WriteTransaction& rows) {
      EXPECT_TRUE(versions_.put(rows, job).ok());
      EXPECT_TRUE(allocs_.put(rows, alloc).ok());
    });
  }
  void end_alloc(const std::string& name) {
    auto alloc = *allocs_.get(*host_.snapshot(), id_of(name));
    alloc.set_client_status(v1::CLIENT_STATUS_COMPLETE);
    host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(allocs_.put(rows, alloc).ok()); });
  }

  v1::CsiClaimName name(const std::string& alloc, const std::string& node, const std::string& volume) {
    v1::CsiClaimName name;
    name.set_node_id(id_of(node));
    name.set_secret_id(id_of("secret-" + node));
    name.set_alloc_id(id_of(alloc));
    name.set_volume_id(volume);
    return name;
  }
  Result<v1::CsiClaimResponse> claim(const std::string& alloc, const std::string& node, const std::string& volume,
                                     bool reads = false) {
    v1::CsiClaimRequest request;
    *request.mutable_name() = name(alloc, node, volume);
    request.set_access_mode("single-node-writer");
    request.set_attachment_mode("file-system");
    request.set_read_only(reads);
    return host_.answer<v1::CsiClaimResponse>("/drover.v1.CsiClaims/Claim", request);
  }
  std::string step_of(const std::string& alloc, const std::string& volume) {
    const auto claim = tables_.claims.get(*host_.snapshot(), csi_claim_key("default", volume, id_of(alloc)));
    return claim ? v1::CsiClaimStep_Name(claim->step()).substr(15) : "none";
  }

  // The keeper works until the state is as wanted.
  bool kept_until(const std::function<bool(const ReadView&)>& holds) {
    ClaimKeeper keeper(tables_);
    keeper.start(host_, keyring_);
    std::jthread leading([&](const std::stop_token& stop) { keeper.run(stop); });
    return host_.eventually(holds);
  }
  bool kept_until_step(const std::string& alloc, const std::string& volume, const std::string& step) {
    return kept_until([&](const ReadView&) { return step_of(alloc, volume) == step; });
  }

  int64_t times_asked(const std::string& method) {
    const std::lock_guard lock(asking_);
    return std::ranges::count(asked_, method);
  }

  VolumesHost host_;
  testing::FakeKeyring keyring_;
  Tables tables_;
  VolumeRpc volumes_{tables_};
  ClaimRpc claims_{tables_};
  Table<v1::Node> nodes_;
  Table<v1::Job> versions_;
  Table<v1::Allocation> allocs_;
  Table<v1::RootKey> root_keys_;
  Table<v1::Namespace> namespaces_;
  std::mutex asking_;
  std::vector<std::string> asked_, requests_;
  std::function<Result<std::string>(const std::string& method)> answer_;
};

TEST_F(VolumesTest, ARegisteredVolumeIsShownWithoutItsSecrets) {
  ASSERT_TRUE(registered(described("data")).ok());
  EXPECT_EQ(asked_, std::vector<std::string>{"Validate"});
  v1::CsiValidateRequest validated;
  ASSERT_TRUE(validated.ParseFromString(requests_[0]));
  EXPECT_EQ(validated.external_volume_id(), "remote-data") << "our own names never go to a plugin";
  EXPECT_EQ(validated.secrets().at("password"), "tell nobody");
  const auto shown = read("data");
  ASSERT_TRUE(shown.ok());
  const std::string json = message_to_json(shown->volume());
  EXPECT_EQ(json.find("tell nobody"), std::string::npos);
  EXPECT_EQ(json.find("password"), std::string::npos) << "flags are secret, too";
  EXPECT_NE(json.find("[REDACTED]"), std::string::npos);
  EXPECT_EQ(shown->volume().provider(), "disk.example");
  EXPECT_EQ(shown->volume().nodes_healthy(), 2);
  EXPECT_EQ(shown->volume().controllers_healthy(), 1);
  EXPECT_TRUE(shown->volume().schedulable());
  const auto row = tables_.volumes.get(*host_.snapshot(), csi_volume_key("default", "data"));
  EXPECT_EQ(serialize(*row).find("tell nobody"), std::string::npos) << "sealed at rest";
}

TEST_F(VolumesTest, DescriptionsThatAreWrongSayEverythingThatIs) {
  v1::Volume bad = described("");
  bad.clear_plugin_id();
  bad.set_clone_id("a");
  bad.set_snapshot_id("b");
  bad.mutable_requested_capabilities(0)->set_access_mode("everybody");
  bad.mutable_requested_topologies()->add_required();
  bad.set_requested_capacity_min(2);
  bad.set_requested_capacity_max(1);
  EXPECT_EQ(registered(bad).message(),
            "volume validation: missing volume ID; missing plugin ID; only one of snapshot_id and clone_id is allowed; "
            "access mode 'everybody' is none; required topology is missing segments field; capacity_min is larger than "
            "capacity_max");
  v1::VolumesRequest other_path;
  *other_path.add_volumes() = described("data");
  other_path.set_volume_id("else");
  EXPECT_EQ(host_.answer<v1::VolumesResponse>("/drover.v1.Volumes/Register", other_path).status().message(),
            "volume ID does not match request path");
  v1::Volume unknown = described("data");
  unknown.set_plugin_id("tape");
  EXPECT_EQ(registered(unknown).message(), "no CSI plugin named: tape could be found");
  v1::Volume lost = described("data");
  lost.set_namespace_("nowhere");
  EXPECT_EQ(registered(lost).message(), "volume \"data\" is in nonexistent namespace \"nowhere\"");
  answer_ = [](const std::string&) { return invalid_argument("the volume is a tape"); };
  EXPECT_EQ(registered(described("data")).message(), "volume \"data\": the volume is a tape");
  EXPECT_EQ(read("data").status().code(), Code::not_found);
}

TEST_F(VolumesTest, TheRightIsAskedForWhereTheVolumeIs) {
  host_.call_as({.permissions = std::make_shared<testing::OnlyIn>("default")});
  EXPECT_TRUE(registered(described("data")).ok());
  v1::Volume elsewhere = described("data");
  elsewhere.set_namespace_("other");
  EXPECT_EQ(registered(elsewhere).code(), Code::permission_denied) << "whatever namespace the call names";
  host_.call_as({.permissions = std::make_shared<NoPlugins>()});
  EXPECT_EQ(registered(described("more")).code(), Code::permission_denied) << "it takes plugin:read, too";
}

TEST_F(VolumesTest, PlacesAreAskedOfAStorageThatKnowsThemAndBindAVolumeThatIsThere) {
  v1::Volume placed = described("data");
  (*placed.mutable_requested_topologies()->add_required()->mutable_segments())["zone"] = "a";
  (*placed.mutable_requested_topologies()->add_preferred()->mutable_segments())["zone"] = "b";
  EXPECT_EQ(registered(placed).message(),
            "plugin \"disk\" does not support topologies (VOLUME_ACCESSIBILITY_CONSTRAINTS): leave topology_request out");
  auto node = *nodes_.get(*host_.snapshot(), id_of("n1"));
  (*node.mutable_csi_node_plugins())["disk"].set_requires_topologies(true);
  host_.commit([&](WriteTransaction& rows) { EXPECT_TRUE(nodes_.put(rows, node).ok()); });

  ASSERT_TRUE(registered(placed).ok());
  const auto row = tables_.volumes.get(*host_.snapshot(), csi_volume_key("default", "data"));
  ASSERT_EQ(row->topologies_size(), 1) << "what is only preferred binds nobody";
  EXPECT_EQ(row->topologies(0).segments().at("zone"), "a");

  v1::CsiCreateResponse made;
  made.set_external_volume_id("remote-made");
  (*made.add_topologies()->mutable_segments())["zone"] = "b";
  answer_ = [&](const std::string& method) -> Result<std::string> {
    return method == "Create" ? serialize(made) : std::string();
  };
  placed.set_id("made");
  ASSERT_TRUE(created(placed).ok());
  v1::CsiCreateRequest wanted;
  ASSERT_TRUE(wanted.ParseFromString(requests_.back()));
  EXPECT_EQ(wanted.topologies().required(0).segments().at("zone"), "a");
  EXPECT_EQ(wanted.topologies().preferred(0).segments().at("zone"), "b");
  const auto new_row = tables_.volumes.get(*host_.snapshot(), csi_volume_key("default", "made"));
  ASSERT_EQ(new_row->topologies_size(), 1);
  EXPECT_EQ(new_row->topologies(0).segments().at("zone"), "b") << "where the storage has made it";

  placed.set_id("anywhere");
  placed.clear_requested_topologies();
  ASSERT_TRUE(created(placed).ok());
  ASSERT_TRUE(wanted.ParseFromString(requests_.back()));
  EXPECT_FALSE(wanted.has_topologies()) << "a plugin that knows none must not be given any";
}

TEST_F(VolumesTest, SomeThingsOfAVolumeChangeAndOthersNever) {
  ASSERT_TRUE(registered(described("data")).ok());
  v1::Volume other = described("data");
  other.set_external_id("another");
  other.set_name("x");
  (*other.mutable_parameters())["a"] = "b";
  EXPECT_EQ(registered(other).message(),
            "volume requested update was invalid: volume name cannot be updated; external ID cannot be updated; "
            "parameters cannot be updated");
  v1::Volume more = described("data");
  more.mutable_secrets()->clear();
  (*more.mutable_context())["rack"] = "7";
  EXPECT_TRUE(registered(more).ok());
  EXPECT_EQ(read("data")->volume().context().at("rack"), "7");
  Texts secrets;
  const auto row = *tables_.volumes.get(*host_.snapshot(), csi_volume_key("default", "data"));
  EXPECT_TRUE(open_secrets(keyring_, row.secrets(), "default", "data", secrets).ok());
  EXPECT_EQ(secrets.at("password"), "tell nobody") << "those that are not described again stay";
}

TEST(WantsMore, ThanThereIsOrWasAskedForWhereNobodyKnows) {
  v1::CsiVolume row;
  row.set_requested_capacity_min(20);
  EXPECT_TRUE(wants_more(row, 10) && !wants_more(row, 20));
  row.set_capacity(20);
  EXPECT_FALSE(wants_more(row, 10));
}
TEST_F(VolumesTest, AStorageCreatesExpandsAndDeletes) {
  answer_ = [](const std::string& method) -> Result<std::string> {
    v1::CsiCreateResponse made;
    made.set_external_volume_id("made-1");
    made.set_capacity(10);
    (*made.mutable_volume_context())["path"] = "/x";
    if (method == "Create") return serialize(made);
    v1::CsiExpandResponse grown;
    grown.set_capacity(20);
    if (method == "Expand") return serialize(grown);
    return std::string();
  };
  const auto made = created(described("data"));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(made->volumes(0).external_id(), "made-1");
  EXPECT_EQ(made->volumes(0).secrets_size(), 0);
  EXPECT_EQ(read("data")->volume().context().at("path"), "/x");
  v1::Volume larger = described("data");
  larger.set_requested_capacity_min(15);
  ASSERT_TRUE(created(larger).ok());
  EXPECT_EQ(read("data")->volume().capacity(), 20);
  v1::Volume smaller = described("data");
  smaller.set_requested_capacity_max(5);
  EXPECT_FALSE(created(smaller).ok()) << "volumes do not shrink";
  v1::DeleteVolumeRequest request;
  request.set_volume_id("data");
  (*request.mutable_secrets())["extra"] = "key";
  ASSERT_TRUE(host_.answer<v1::VolumeDoneResponse>("/drover.v1.Volumes/Delete", request).ok());
  EXPECT_EQ(asked_, (std::vector<std::string>{"Create", "Expand", "Delete"}));
  v1::CsiDeleteRequest asked;
  ASSERT_TRUE(asked.ParseFromString(requests_.back()));
  EXPECT_EQ(asked.external_volume_id(), "made-1");
  EXPECT_EQ(asked.secrets_size(), 2) << "the volume's and the caller's";
  EXPECT_EQ(read("data").status().code(), Code::not_found);
}

TEST_F(VolumesTest, AClaimGoesAllTheWayAndBack) {
  ASSERT_TRUE(registered(described("data")).ok());
  put_alloc("a1", "n1", "data");
  put_alloc("a2", "n2", "data");
  answer_ = [](const std::string& method) -> Result<std::string> {
    v1::CsiAttachResponse attached;
    (*attached.mutable_publish_context())["device"] = "/dev/sdb";
    return method == "Attach" ? serialize(attached) : std::string();
  };
  const auto claimed = claim("a1", "n1", "data");
  ASSERT_TRUE(claimed.ok()) << claimed.status().message();
  EXPECT_EQ(claimed->claim().external_node_id(), "storage-n1");
  EXPECT_EQ(claim("a2", "n2", "data").status().message(), "volume max claims reached");
  EXPECT_TRUE(claim("a1", "n1", "data").ok()) << "the same again";
  ASSERT_TRUE(kept_until_step("a1", "data", "ATTACHED"));
  const auto got = host_.answer<v1::CsiClaimResponse>("/drover.v1.CsiClaims/Get", name("a1", "n1", "data"));
  EXPECT_EQ(got->claim().publish_context().at("device"), "/dev/sdb");
  EXPECT_EQ(got->secrets().at("password"), "tell nobody");
  EXPECT_EQ(read("data")->volume().access_mode(), "single-node-writer");
  EXPECT_EQ(read("data")->volume().claims(0).step(), "attached");
  EXPECT_EQ(host_.answer<v1::CsiClaimResponse>("/drover.v1.CsiClaims/Get", name("a1", "n2", "data")).status().code(),
            Code::permission_denied);
  end_alloc("a1");
  ASSERT_TRUE(host_.answer<v1::CsiReleasedResponse>("/drover.v1.CsiClaims/Released", name("a1", "n1", "data")).ok());
  EXPECT_EQ(step_of("a1", "data"), "NODE_RELEASED");
  ASSERT_TRUE(kept_until_step("a1", "data", "none"));
  EXPECT_EQ(read("data")->volume().access_mode(), "") << "the mode goes with the last claim";
  EXPECT_TRUE(claim("a2", "n2", "data").ok());
}

// A plugin that does not answer holds its call for minutes, and the allocation may end meanwhile.
TEST_F(VolumesTest, AVolumeHasOneCallAtATime) {
  for (const char* volume : {"data", "other"}) ASSERT_TRUE(registered(described(volume)).ok());
  put_alloc("a1", "n1", "data");
  ASSERT_TRUE(claim("a1", "n1", "data").ok());
  std::promise<void> answered;
  std::atomic<bool> is_first = true;
  answer_ = [&](const std::string& method) -> Result<std::string> {
    if (method == "Attach" && is_first.exchange(false)) answered.get_future().wait();
    return std::string();
  };
  host_.has_threads = true;
  ClaimKeeper keeper(tables_);
  keeper.start(host_, keyring_);
  std::jthread leading([&](const std::stop_token& stop) { keeper.run(stop); });
  ASSERT_TRUE(eventually([&] { return times_asked("Attach") == 1; }));
  end_alloc("a1");
  ASSERT_TRUE(host_.answer<v1::CsiReleasedResponse>("/drover.v1.CsiClaims/Released", name("a1", "n1", "data")).ok());

  // When another volume's claim is through, the keeper has looked at this one.
  put_alloc("a2", "n2", "other");
  ASSERT_TRUE(claim("a2", "n2", "other").ok());
  EXPECT_TRUE(host_.eventually([&](const ReadView&) { return step_of("a2", "other") == "ATTACHED"; }));
  EXPECT_EQ(times_asked("Detach"), 0);

  answered.set_value();
  EXPECT_TRUE(host_.eventually([&](const ReadView&) { return step_of("a1", "data") == "none"; }));
  EXPECT_EQ(times_asked("Detach"), 1);
  leading.request_stop();
  leading.join();
  host_.join();
}

TEST_F(VolumesTest, ANodeGetsNothingThatItsAllocationDidNotAskFor) {
  ASSERT_TRUE(registered(described("data")).ok());
  ASSERT_TRUE(registered(described("secret")).ok());
  put_alloc("a1", "n1", "data");
  EXPECT_EQ(claim("a1", "n1", "secret").status().message(),
            "the allocation's job does not ask for the volume secret so");
  EXPECT_FALSE(claim("a1", "n1", "data", true).ok()) << "it asked for writing";
  EXPECT_EQ(claim("a1", "n2", "data").status().code(), Code::permission_denied) << "it is another node's";
  v1::CsiClaimRequest wrong;
  *wrong.mutable_name() = name("a1", "n1", "data");
  wrong.mutable_name()->set_secret_id(id_of("guess"));
  EXPECT_EQ(host_.answer<v1::CsiClaimResponse>("/drover.v1.CsiClaims/Claim", wrong).status().code(),
            Code::permission_denied);
}

TEST_F(VolumesTest, AFailureIsShownWithTheNextAttemptAndExplained) {
  ASSERT_TRUE(registered(described("data")).ok());
  put_alloc("a1", "n1", "data");
  answer_ = [](const std::string&) { return aborted("busy"); };
  ASSERT_TRUE(claim("a1", "n1", "data").ok());
  ASSERT_TRUE(kept_until([&](const ReadView&) { return read("data")->volume().claims(0).attempts() == 1; }));
  const v1::VolumeClaim shown = read("data")->volume().claims(0);
  EXPECT_EQ(shown.last_error(), "busy");
  EXPECT_GT(shown.next_try(), 0);
  v1::ReadVolumeRequest request;
  request.set_volume_id("data");
  const auto why = host_.answer<v1::ExplainVolumeResponse>("/drover.v1.Volumes/Explain", request);
  EXPECT_EQ(why->claims(0).held_by(), "allocation " + Uuid::from_bytes(id_of("a1")).to_string() + " of job \"job-a1\"");
  EXPECT_NE(why->claims(0).freed_by().find("attempt 1 failed: busy; the next is at "), std::string::npos);
  answer_ = [](const std::string&) { return invalid_argument("the storage has no such volume"); };
  host_.forward_clock().advance(std::chrono::seconds(5));
  ASSERT_TRUE(kept_until([&](const ReadView&) { return read("data")->volume().claims(0).attempts() == 2; }));
  EXPECT_TRUE(tables_.claims.get(*host_.snapshot(), csi_claim_key("default", "data", id_of("a1")))->is_final_error());
  end_alloc("a1");
  const auto ended = host_.answer<v1::ExplainVolumeResponse>("/drover.v1.Volumes/Explain", request);
  EXPECT_NE(ended->claims(0).freed_by().find("the servers, within moments: node "), std::string::npos);
}

TEST_F(VolumesTest, AVolumeInUseStaysAndForceTakesItsSecretsAlong) {
  ASSERT_TRUE(registered(described("data")).ok());
  put_alloc("a1", "n1", "data");
  ASSERT_TRUE(claim("a1", "n1", "data").ok());
  v1::DeregisterVolumeRequest request;
  request.set_volume_id("data");
  const auto deregistered = [&] {
    return host_.answer<v1::VolumeDoneResponse>("/drover.v1.Volumes/Deregister", request).status();
  };
  EXPECT_EQ(deregistered().message(), "volume in use: data");
  request.set_force(true);
  EXPECT_EQ(deregistered().message(), "volume in use: data") << "its allocation still runs";
  end_alloc("a1");
  EXPECT_TRUE(deregistered().ok());
  ASSERT_TRUE(kept_until_step("a1", "data", "none"));
  EXPECT_EQ(asked_.back(), "Detach");
  v1::CsiDetachRequest asked;
  ASSERT_TRUE(asked.ParseFromString(requests_.back()));
  EXPECT_EQ(asked.secrets().at("password"), "tell nobody") << "undoing needs them";
}

TEST_F(VolumesTest, DetachingIsForAllocationsThatEnded) {
  ASSERT_TRUE(registered(described("data")).ok());
  put_alloc("a1", "n1", "data");
  ASSERT_TRUE(claim("a1", "n1", "data").ok());
  v1::DetachVolumeRequest request;
  request.set_volume_id("data");
  request.set_node(id_of("n1"));
  const auto detached = [&] {
    return host_.answer<v1::VolumeDoneResponse>("/drover.v1.Volumes/Detach", request).status();
  };
  EXPECT_NE(detached().message().find("uses the volume on that node: stop it first"), std::string::npos);
  end_alloc("a1");
  EXPECT_TRUE(detached().ok());
  EXPECT_EQ(step_of("a1", "data"), "RELEASING");
  request.set_node(id_of("n2"));
  EXPECT_EQ(detached().message(), "no claim on the volume is held by that node");
}

TEST_F(VolumesTest, SecretsAreSealedAnewUnderANewKey) {
  ASSERT_TRUE(registered(described("data")).ok());
  const std::string old = keyring_.active;
  keyring_.active = std::string(16, 'B');
  keyring_.old = {old};
  put_key(old, v1::ROOT_KEY_STATE_INACTIVE);
  put_key(keyring_.active, v1::ROOT_KEY_STATE_ACTIVE);
  EXPECT_EQ(Uses(tables_).uses(*host_.snapshot(), old, 10), 1U);
  const auto command = next_resealed(*host_.snapshot(), tables_, keyring_);
  ASSERT_TRUE(command.has_value());
  ASSERT_TRUE(host_.propose(*command, SteadyTime::max()).ok());
  EXPECT_EQ(Uses(tables_).uses(*host_.snapshot(), old, 10), 0U);
  EXPECT_EQ(Uses(tables_).uses(*host_.snapshot(), keyring_.active, 10), 1U);
  EXPECT_FALSE(next_resealed(*host_.snapshot(), tables_, keyring_).has_value());
}

TEST_F(VolumesTest, ListsShowWhatTheyAreAskedFor) {
  ASSERT_TRUE(registered(described("data")).ok());
  ASSERT_TRUE(registered(described("logs")).ok());
  const auto listed = [&](v1::ListVolumesRequest request, QueryOptions query = {}) {
    const auto found = host_.answer<v1::ListVolumesResponse>("/drover.v1.Volumes/List", request, std::move(query));
    std::string ids = found ? "" : found.status().message();
    if (found) {
      for (const v1::VolumeStub& stub : found->volumes()) ids += stub.id() + " ";
    }
    return ids;
  };
  v1::ListVolumesRequest all;
  EXPECT_EQ(listed(all), "") << "without a type";
  all.set_type("csi");
  EXPECT_EQ(listed(all), "data logs ");
  EXPECT_EQ(listed(all, {.prefix = "lo"}), "logs ");
  EXPECT_EQ(listed(all, {.filter = "ID == \"data\" and Schedulable == true"}), "data ");
  v1::ListVolumesRequest of_plugin = all;
  of_plugin.set_plugin_id("tape");
  EXPECT_EQ(listed(of_plugin), "");
  put_alloc("a1", "n2", "logs");
  ASSERT_TRUE(claim("a1", "n2", "logs").ok());
  v1::ListVolumesRequest of_node = all;
  of_node.set_node_id(id_of("n2"));
  EXPECT_EQ(listed(of_node), "logs ");
  v1::ListCsiPluginsRequest plugins;
  plugins.set_type("csi");
  const auto found = host_.answer<v1::ListCsiPluginsResponse>("/drover.v1.CsiPlugins/List", plugins);
  ASSERT_EQ(found->plugins_size(), 1);
  EXPECT_EQ(found->plugins(0).nodes_healthy(), 2);
  EXPECT_TRUE(found->plugins(0).controller_required());
  put_node("n2", v1::NODE_STATUS_DOWN);
  v1::CsiPluginRequest one;
  one.set_plugin_id("disk");
  const auto plugin = host_.answer<v1::CsiPluginResponse>("/drover.v1.CsiPlugins/Get", one);
  EXPECT_EQ(plugin->plugin().nodes_healthy(), 1) << "a node that is down has no healthy plugin";
  EXPECT_EQ(plugin->plugin().nodes_size(), 2);
  one.set_plugin_id("tape");
  EXPECT_EQ(host_.answer<v1::CsiPluginResponse>("/drover.v1.CsiPlugins/Get", one).status().message(),
            "plugin not found");
}

}  // namespace
}  // namespace drover::volumes
