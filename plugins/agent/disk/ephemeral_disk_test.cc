// Data that passes from an allocation to the one that takes its place.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "disk/disk_archive.h"
#include "disk/disk_plan.h"
#include "disk/move_data.h"
#include "drover/api/client_disk.pb.h"
#include "hooks/alloc_dir.h"
#include "sdk/testing/waiting.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

namespace fs = std::filesystem;
const std::vector<std::string> kTasks = {"web"};

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(DiskPlan, ComesFromThePredecessorWhereTheGroupSaysSo) {
  const Uuid here = Uuid::random(), elsewhere = Uuid::random(), evicted = Uuid::random();
  using From = DiskPlan::From;
  const struct {
    const char* name;
    std::optional<Uuid> previous;
    bool sticky, migrate;
    From from;
    size_t awaited;
  } cases[] = {{"the first", {}, true, true, From::nothing, 0},
               {"no wish", here, false, false, From::nothing, 1},
               {"no wish, elsewhere", elsewhere, false, false, From::nothing, 0},
               {"sticky", here, true, false, From::neighbour, 1},
               {"migrate alone", here, false, true, From::neighbour, 1},
               {"sticky, elsewhere", elsewhere, true, false, From::nothing, 0},
               {"migrate, elsewhere", elsewhere, true, true, From::other_node, 0}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto job = std::make_shared<v1::Job>();
    v1::TaskGroup& group = *job->add_task_groups();
    group.set_name("front");
    group.mutable_ephemeral_disk()->set_sticky(c.sticky);
    group.mutable_ephemeral_disk()->set_migrate(c.migrate);
    v1::Allocation allocation;
    allocation.set_task_group("front");
    if (c.previous) allocation.set_previous_allocation(c.previous->bytes());
    const auto is_here = [&](const Uuid& id) { return id == here || id == evicted; };
    const DiskPlan plan = plan_disk(AllocSpec(allocation, job), is_here);
    EXPECT_EQ(c.from, plan.from);
    EXPECT_EQ(c.awaited, plan.awaited.size());
    if (c.from != From::nothing) {
      EXPECT_EQ(*c.previous, plan.previous);
    }

    allocation.add_preempted_allocations(evicted.bytes());
    allocation.add_preempted_allocations(elsewhere.bytes());
    EXPECT_EQ(c.awaited + 1, plan_disk(AllocSpec(allocation, job), is_here).awaited.size());
  }
}

class MovedData : public AgentTest {
 protected:
  AllocFolders made(const std::string& text) {
    const AllocFolders alloc = alloc_folders(folder_ + "/moved", Uuid::random());
    EXPECT_TRUE(create_folders(alloc).ok());
    if (text.empty()) return alloc;
    EXPECT_TRUE(create_task_folders("web", task_folders(alloc, "web")).ok());
    write(alloc.shared + "/data/file", text);
    write(alloc.root + "/web/local/file", text);
    return alloc;
  }
};

TEST_F(MovedData, IsThereAndNoMoreWhereItWas) {
  const AllocFolders from = made("old"), to = made("");
  ASSERT_TRUE(move_data(from, to, kTasks).ok());
  EXPECT_EQ("old", read(to.shared + "/data/file"));
  EXPECT_EQ("old", read(to.root + "/web/local/file"));
  EXPECT_FALSE(fs::exists(from.shared + "/data"));
  EXPECT_TRUE(fs::exists(from.logs));
  EXPECT_TRUE(move_data(from, to, kTasks).ok()) << "a second time";
  EXPECT_TRUE(create_task_folders("web", task_folders(to, "web")).ok());
}

TEST_F(MovedData, IsNoLinkAndCoversNothing) {
  const AllocFolders linked = made("old"), to = made("");
  fs::remove_all(linked.shared + "/data");
  fs::create_directory_symlink("/etc", linked.shared + "/data");
  EXPECT_EQ(Code::failed_precondition, move_data(linked, to, kTasks).code());
  const AllocFolders from = made("old"), full = made("new");
  EXPECT_EQ(Code::failed_precondition, move_data(from, full, kTasks).code());
  EXPECT_EQ("new", read(full.shared + "/data/file"));
}

class EphemeralDisk : public AgentTest {
 protected:
  std::string place_after(const std::string& previous, bool migrate, const std::string& preempted = "") {
    v1::Job job;
    job.set_id("disk-" + std::to_string(++placed_));
    job.set_namespace_("default");
    v1::TaskGroup& group = *job.add_task_groups();
    group.set_name("front");
    group.mutable_ephemeral_disk()->set_sticky(true);
    group.mutable_ephemeral_disk()->set_migrate(migrate);
    group.mutable_ephemeral_disk()->set_size_mb(10);
    *group.add_tasks() = task("web");
    v1::Allocation allocation;
    allocation.set_id(Uuid::random().bytes());
    allocation.set_namespace_("default");
    allocation.set_job_id(job.id());
    allocation.set_task_group("front");
    allocation.set_desired_status(v1::DESIRED_STATUS_RUN);
    allocation.set_previous_allocation(previous);
    if (!preempted.empty()) allocation.add_preempted_allocations(preempted);
    servers_.place(allocation, job);
    return allocation.id();
  }
  static std::vector<std::string> said(const v1::Allocation& allocation) {
    std::vector<std::string> texts;
    for (const v1::TaskEvent& event : allocation.task_states().at("web").events()) {
      if (event.type() == "Ephemeral Disk") texts.push_back(event.display_message());
    }
    return texts;
  }
  // Answers with these parts, and then the status.
  void answer(std::vector<std::string> parts, Status status) {
    servers_.streams = [this, parts = std::move(parts), status = std::move(status)](
                           const CallContext& context, const std::string& request,
                           StreamReceiver receiver) -> Result<std::unique_ptr<StreamCall>> {
      EXPECT_EQ("/drover.v1.ClientDisk/Snapshot", context.method);
      EXPECT_FALSE(context.node_secret.empty());
      EXPECT_TRUE(parse_message<v1::DiskSnapshotRequest>(request)->when_over());
      senders_.emplace_back([parts, status, receiver = std::move(receiver)] {
        bool is_wanted = true;
        for (size_t i = 0; i < parts.size() && is_wanted; ++i) {
          v1::DiskSnapshotPart part;
          part.set_data(parts[i]);
          is_wanted = receiver.message(part.SerializeAsString());
        }
        receiver.closed(status);
      });
      return std::unique_ptr<StreamCall>(std::make_unique<Handle>());
    };
  }
  struct Handle final : StreamCall {
    bool send(std::string) override { return false; }
    void close_sending() override {}
    void cancel() override {}
  };
  // The parts of another allocation's data.
  std::vector<std::string> other_nodes_data() {
    const AllocFolders other = alloc_folders(folder_ + "/other", Uuid::random());
    EXPECT_TRUE(create_folders(other).ok());
    EXPECT_TRUE(create_task_folders("web", task_folders(other, "web")).ok());
    write(other.shared + "/data/file", "from afar");
    write(other.root + "/web/local/file", "own");
    std::vector<std::string> parts = {""};
    const auto sink = [&](std::string_view part) { return parts.emplace_back(part), true; };
    EXPECT_TRUE(pack_data(other, Uuid::random(), kTasks, sink, {}).ok());
    return parts;
  }
  std::vector<std::jthread> senders_;
};

TEST_F(EphemeralDisk, PassesToTheNextOnThisNodeOnceItsOwnerHasEnded) {
  start();
  const std::string before = place({task("web")});
  until_status(before, v1::CLIENT_STATUS_RUNNING);
  write(alloc_path(before) + "/alloc/data/file", "kept");
  write(alloc_path(before) + "/web/local/file", "own");
  const std::string after = place_after(before, false);
  const auto waits = servers_.until(after, [](const v1::Allocation& a) { return !said(a).empty(); });
  EXPECT_EQ(v1::CLIENT_STATUS_PENDING, waits.client_status());
  EXPECT_EQ(
      "Waiting for the end of allocation " + Uuid::from_bytes(before).to_string() + ", whose place this one takes",
      said(waits).at(0));
  EXPECT_EQ(1u, driver_.starts().size());

  servers_.stop(before);
  until_status(after, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ("kept", read(alloc_path(after) + "/alloc/data/file"));
  EXPECT_EQ("own", read(alloc_path(after) + "/web/local/file"));
}

TEST_F(EphemeralDisk, WaitsAlsoForThoseThatGaveTheirRoom) {
  start();
  const std::string evicted = place({task("web")});
  until_status(evicted, v1::CLIENT_STATUS_RUNNING);
  const std::string after = place_after("", false, evicted);
  servers_.until(after, [](const v1::Allocation& a) { return !said(a).empty(); });
  servers_.stop(evicted);
  until_status(after, v1::CLIENT_STATUS_RUNNING);
}

TEST_F(EphemeralDisk, AWaitEndsWithTheAllocation) {
  start();
  const std::string before = place({task("web")});
  until_status(before, v1::CLIENT_STATUS_RUNNING);
  const std::string after = place_after(before, false);
  servers_.until(after, [](const v1::Allocation& a) { return !said(a).empty(); });
  servers_.stop(after);
  until_status(after, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ(1u, driver_.starts().size());
}

TEST_F(EphemeralDisk, AWaitGoesOnWithTheNextAgent) {
  start();
  const std::string before = place({task("web")});
  until_status(before, v1::CLIENT_STATUS_RUNNING);
  write(alloc_path(before) + "/alloc/data/file", "kept");
  const std::string after = place_after(before, false);
  servers_.until(after, [](const v1::Allocation& a) { return !said(a).empty(); });
  stop();
  servers_.expect_another_agent();
  start();
  servers_.stop(before);
  until_status(after, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ("kept", read(alloc_path(after) + "/alloc/data/file"));
}

TEST_F(EphemeralDisk, IsNotForgottenBeforeItIsTakenOver) {
  configure("gc_interval = \"20ms\"\ngc_max_allocs = 0\n");
  start();
  const std::string before = place({task("web")});
  until_status(before, v1::CLIENT_STATUS_RUNNING);
  write(alloc_path(before) + "/alloc/data/file", "kept");
  const std::string after = place_after(before, false);
  servers_.until(after, [](const v1::Allocation& a) { return !said(a).empty(); });
  servers_.stop(before);
  until_status(after, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ("kept", read(alloc_path(after) + "/alloc/data/file"));
  EXPECT_TRUE(eventually([&] { return !fs::exists(alloc_path(before)); })) << "now it may go";
}

TEST_F(EphemeralDisk, ComesFromAnotherNode) {
  answer(other_nodes_data(), ok_status());
  start();
  const Uuid far = Uuid::random();
  const std::string after = place_after(far.bytes(), true);
  const v1::Allocation running = until_status(after, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ("from afar", read(alloc_path(after) + "/alloc/data/file"));
  EXPECT_EQ("own", read(alloc_path(after) + "/web/local/file"));
  EXPECT_EQ((std::vector<std::string>{"Fetching the data of allocation " + far.to_string() + " from its node",
                                      "2 files came from allocation " + far.to_string()}),
            said(running));
  EXPECT_FALSE(fs::exists(alloc_path(after) + "/.snapshot"));
}

TEST_F(EphemeralDisk, IsEmptyWhenSomethingFails) {
  std::vector<std::string> parts = other_nodes_data();
  parts.back().resize(600);
  answer(parts, unavailable("the node has gone"));
  start();
  const std::string after = place_after(Uuid::random().bytes(), true);
  const std::vector<std::string> texts = said(until_status(after, v1::CLIENT_STATUS_RUNNING));
  ASSERT_EQ(2u, texts.size());
  EXPECT_NE(std::string::npos, texts[1].find("the disk is empty: the node has gone")) << texts[1];
  EXPECT_TRUE(fs::is_empty(alloc_path(after) + "/alloc/data"));
  EXPECT_TRUE(fs::is_empty(alloc_path(after) + "/web/local"));
  EXPECT_FALSE(fs::exists(alloc_path(after) + "/.snapshot"));
}

// The data that a node sends, as bytes.
class SentData final : public MessageStream {
 public:
  bool send(std::string message) override {
    bytes += parse_message<v1::DiskSnapshotPart>(message)->data();
    return true;
  }
  std::optional<std::string> receive(SteadyTime) override { return std::nullopt; }
  std::string bytes;
};

TEST_F(EphemeralDisk, IsSentByTheNodeThatHasIt) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  write(alloc_path(id) + "/alloc/data/file", "kept");
  v1::DiskSnapshotRequest request;
  request.set_alloc_id(id);
  request.set_when_over(true);
  SentData data;
  FakeCall call;
  servers_.stop(id);
  ASSERT_TRUE(declarations_.bindings.at("Snapshot").stream(request.SerializeAsString(), call, data).ok());
  EXPECT_NE(std::string::npos, data.bytes.find("alloc/data/file"));
  EXPECT_NE(std::string::npos, data.bytes.find("kept"));
  request.set_alloc_id(Uuid::random().bytes());
  EXPECT_EQ(Code::not_found, declarations_.bindings.at("Snapshot").stream(request.SerializeAsString(), call, data).code());
}

TEST_F(EphemeralDisk, IsSentToTheNodeOfTheSuccessorOnly) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  write(alloc_path(id) + "/alloc/data/file", "kept");
  const Uuid successor = Uuid::random(), node = Uuid::random();
  v1::DiskSnapshotRequest request;
  request.set_alloc_id(id);
  const auto ask = [&](const Uuid& by) {
    FakeCall call;
    call.context_.identity.kind = Identity::Kind::client;
    call.context_.identity.name = by.to_string();
    SentData data;
    const Status status = declarations_.bindings.at("Snapshot").stream(request.SerializeAsString(), call, data);
    EXPECT_EQ(status.ok(), data.bytes.find("kept") != std::string::npos);
    return status.to_string();
  };
  const std::string denied = access_denied().to_string();
  EXPECT_EQ(ask(node), denied) << "nothing follows it";
  servers_.follow(id, successor, node);
  EXPECT_EQ(ask(Uuid::random()), denied) << "another node";
  EXPECT_EQ(ask(node), "ok");
}

}  // namespace
}  // namespace drover::agent
