// The program over its socket, with the reach of csi-sanity: identity, controller, snapshots, lists, crashes.
#include <sys/inotify.h>

#include <array>
#include <nlohmann/json.hpp>

#include <set>
#include <thread>

#include "drover/fd.h"
#include "testing/instance.h"

namespace drover::hostpath {
namespace {

constexpr int64_t kMiB = 1 << 20;

using Volumes = HostpathProgram;
using Crash = HostpathProgram;
using Snapshots = HostpathProgram;
using Identity = HostpathProgram;

std::set<int> services_of(Instance& instance) {
  std::set<int> types;
  const auto answer = instance.ask(csi::v1::GetPluginCapabilitiesRequest());
  for (const auto& each : answer->capabilities()) {
    if (each.has_service()) types.insert(each.service().type());
  }
  return types;
}

std::set<int> rpcs_of(Instance& instance) {
  std::set<int> types;
  const auto answer = instance.ask(csi::v1::ControllerGetCapabilitiesRequest());
  for (const auto& each : answer->capabilities()) types.insert(each.rpc().type());
  return types;
}

TEST_F(Identity, SaysWhatItIs) {
  Instance instance(place_, "n1", {"--max-volumes", "5", "--topology", "zone=a", "--attach"});
  const auto info = instance.ask(csi::v1::GetPluginInfoRequest());
  ASSERT_TRUE(info.ok()) << info.status().to_string();
  EXPECT_EQ(info->name(), "hostpath.csi.drover");
  EXPECT_NE(info->vendor_version(), "");
  EXPECT_TRUE(instance.ask(csi::v1::ProbeRequest())->ready().value());
  using Service = csi::v1::PluginCapability::Service;
  EXPECT_EQ(services_of(instance),
            (std::set<int>{Service::CONTROLLER_SERVICE, Service::VOLUME_ACCESSIBILITY_CONSTRAINTS}));
  const auto node = instance.ask(csi::v1::NodeGetInfoRequest());
  EXPECT_EQ(node->node_id(), "n1");
  EXPECT_EQ(node->max_volumes_per_node(), 5);
  EXPECT_EQ(node->accessible_topology().segments().at("zone"), "a");
}

TEST_F(Identity, ServesWhatItIsToldTo) {
  using Service = csi::v1::PluginCapability::Service;
  using Rpc = csi::v1::ControllerServiceCapability::RPC;
  struct Case {
    std::vector<std::string> flags;
    std::set<int> services;
    Code controller, node, attach;
  };
  const Case cases[] = {
      {{}, {Service::CONTROLLER_SERVICE}, Code::ok, Code::ok, Code::unimplemented},
      {{"--attach"}, {Service::CONTROLLER_SERVICE}, Code::ok, Code::ok, Code::invalid_argument},
      {{"--no-controller"}, {}, Code::unimplemented, Code::ok, Code::unimplemented},
      {{"--no-controller", "--controller-elsewhere"},
       {Service::CONTROLLER_SERVICE},
       Code::unimplemented,
       Code::ok,
       Code::unimplemented},
      {{"--no-node"}, {Service::CONTROLLER_SERVICE}, Code::ok, Code::unimplemented, Code::unimplemented},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.flags.empty() ? "" : c.flags.back());
    Instance instance(place_, "n1", c.flags);
    EXPECT_EQ(services_of(instance), c.services);
    EXPECT_EQ(instance.code(csi::v1::ControllerGetCapabilitiesRequest()), c.controller);
    EXPECT_EQ(instance.code(csi::v1::NodeGetCapabilitiesRequest()), c.node);
    EXPECT_EQ(instance.code(csi::v1::ControllerPublishVolumeRequest()), c.attach);
    EXPECT_EQ(instance.code(csi::v1::ControllerModifyVolumeRequest()), Code::unimplemented);
    if (c.controller == Code::ok) {
      EXPECT_EQ(rpcs_of(instance).contains(Rpc::PUBLISH_UNPUBLISH_VOLUME), c.attach == Code::invalid_argument);
    }
  }
}

TEST_F(Identity, EndsWhenItIsTold) {
  Instance instance(place_, "n1");
  EXPECT_EQ(instance.end(SIGTERM), "exit code 0");
  EXPECT_FALSE(std::filesystem::exists(instance.socket()));
  instance.start();
  EXPECT_EQ(instance.end(SIGKILL), "signal 9 (Killed)");
  EXPECT_TRUE(std::filesystem::exists(instance.socket()));
  instance.start();  // over the socket that the killed one left
  EXPECT_EQ(instance.end(SIGINT), "exit code 0");
}

// Runs it to its end: what it printed.
std::string refusal(const std::vector<std::string>& arguments) {
  auto process = plugin_programs::Process::start({.file = DROVER_HOSTPATH, .arguments = arguments});
  if (!process) return process.status().to_string();
  pollfd ended{.fd = (*process)->ended_fd(), .events = POLLIN, .revents = 0};
  if (::poll(&ended, 1, 20'000) != 1) return "it does not end";
  std::string printed(65536, '\0');
  const ssize_t got = ::read((*process)->err(), printed.data(), printed.size());
  printed.resize(got < 0 ? 0 : static_cast<size_t>(got));
  return (*process)->collect() + ": " + printed;
}

TEST_F(Identity, DoesNotStartOnWhatItCannotRead) {
  const std::string data = folder("data"), socket = place_ / "csi.sock";
  const std::vector<std::string> arguments = {"--endpoint", socket, "--node-id", "n1", "--data-dir", data};
  for (const char* text : {"{", "[]", "", R"({"Format": 2})"}) {
    write_text(data + "/state.json", text);
    const std::string said = refusal(arguments);
    EXPECT_TRUE(said.starts_with("exit code 1: drover-csi-hostpath: " + data + "/state.json: ")) << said;
    EXPECT_EQ(text_of(data + "/state.json"), text);
  }
  std::filesystem::remove(data + "/state.json");
  write_text(socket, "a file of somebody");
  EXPECT_EQ(refusal(arguments), "exit code 1: drover-csi-hostpath: " + socket + ": is there, and is no socket\n");
  EXPECT_EQ(refusal({"--endpoint", socket}), "exit code 2: drover-csi-hostpath: --data-dir: is missing\n");
}

TEST_F(Volumes, AreMadeAndDeletedOnce) {
  Instance instance(place_, "n1", {"--capacity", "64MiB"});
  const std::string id = make(instance, create("db", kMiB));
  EXPECT_EQ(make(instance, create("db", kMiB)), id);
  EXPECT_EQ(instance.code(create("db", 2 * kMiB)), Code::already_exists);
  EXPECT_EQ(instance.ask(csi::v1::GetCapacityRequest())->available_capacity(), 63 * kMiB);
  const std::string folder = place_ / ("data/volumes/" + id);
  EXPECT_EQ(std::filesystem::status(folder).permissions(), std::filesystem::perms(0777));
  EXPECT_EQ(std::filesystem::status(place_ / "data/volumes").permissions(), std::filesystem::perms(0700));
  EXPECT_EQ(std::filesystem::status(place_ / "data/state.json").permissions(), std::filesystem::perms(0600));

  EXPECT_EQ(instance.code(remove(id)), Code::ok);
  EXPECT_EQ(instance.code(remove(id)), Code::ok);
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_EQ(instance.ask(csi::v1::GetCapacityRequest())->available_capacity(), 64 * kMiB);
}

TEST_F(Volumes, HaveThePermissionsThatAreAskedFor) {
  Instance instance(place_, "n1");
  auto request = create("db", kMiB);
  (*request.mutable_parameters())["permissions"] = "0750";
  const std::string id = make(instance, request);
  EXPECT_EQ(std::filesystem::status(place_ / ("data/volumes/" + id)).permissions(), std::filesystem::perms(0750));
}

TEST_F(Volumes, HostileNamesReachNoFile) {
  Instance instance(place_, "n1");
  const std::string precious = folder("precious");
  const std::string id = make(instance, create("../../precious", kMiB));
  EXPECT_EQ(id.find('/'), id.npos);
  for (const char* hostile : {"../../precious", "..", "/etc", "a\nb"}) {
    SCOPED_TRACE(hostile);
    const bool is_word = std::string(hostile) == "..";  // as good an identifier as any, and nobody's
    EXPECT_EQ(instance.code(remove(hostile)), is_word ? Code::ok : Code::invalid_argument);
    EXPECT_EQ(instance.code(stage_at(hostile, folder("s"))), is_word ? Code::not_found : Code::invalid_argument);
  }
  EXPECT_TRUE(std::filesystem::exists(precious));
  EXPECT_EQ(instance.code(stage_at(id, place_ / "data")), Code::invalid_argument);
  EXPECT_EQ(instance.code(stage_at(id, place_ / "s/../data/volumes")), Code::invalid_argument);
}

TEST_F(Volumes, AreListedInPages) {
  Instance instance(place_, "n1");
  std::vector<std::string> made;
  for (int i = 0; i < 7; ++i) made.push_back(make(instance, create("v" + std::to_string(i), kMiB)));
  std::vector<std::string> listed;
  csi::v1::ListVolumesRequest request;
  request.set_max_entries(3);
  do {
    const auto page = instance.ask(request);
    ASSERT_TRUE(page.ok()) << page.status().to_string();
    for (const auto& each : page->entries()) listed.push_back(each.volume().volume_id());
    request.set_starting_token(page->next_token());
  } while (!request.starting_token().empty());
  EXPECT_EQ(listed, made);
  request.set_starting_token("invalid");
  EXPECT_EQ(instance.code(request), Code::aborted);
}

TEST_F(Volumes, SayHowTheyAre) {
  Instance instance(place_, "n1");
  csi::v1::ControllerGetVolumeRequest request;
  request.set_volume_id(make(instance, create("small", 8192)));
  const std::string content = place_ / ("data/volumes/" + request.volume_id());
  EXPECT_FALSE(instance.ask(request)->status().volume_condition().abnormal());
  write_text(content + "/big", std::string(100'000, 'x'));
  EXPECT_EQ(instance.ask(request)->status().volume_condition().message(), "the volume holds more than its capacity");
  std::filesystem::remove_all(content);
  EXPECT_EQ(instance.ask(request)->status().volume_condition().message(), "the folder of the volume is gone");
}

// Many want the same at once, and none makes a second one; those that are told to come again do.
TEST_F(Volumes, ManyCallsForOneNameMakeOneVolume) {
  Instance instance(place_, "n1");
  std::set<std::string> ids;
  std::mutex mutex;
  std::vector<std::thread> callers;
  for (int i = 0; i < 8; ++i) {
    callers.emplace_back([&] {
      std::string id;
      EXPECT_TRUE(eventually([&] {
        const auto made = instance.ask(create("db", kMiB));
        if (made) id = made->volume().volume_id();
        return made.ok() || made.status().code() != Code::aborted;
      }));
      const std::lock_guard lock(mutex);
      ids.insert(id);
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(ids.size(), 1u);
  EXPECT_FALSE(ids.contains(""));
  EXPECT_EQ(instance.ask(csi::v1::ListVolumesRequest())->entries_size(), 1);
}

TEST_F(Volumes, SecretsAreNeverPrinted) {
  Instance instance(place_, "n1");
  auto request = create("", kMiB);
  (*request.mutable_secrets())["password"] = "hunter2";
  EXPECT_EQ(instance.code(request), Code::invalid_argument);
  auto staged = stage_at("gone", folder("s"));
  (*staged.mutable_secrets())["password"] = "hunter2";
  EXPECT_EQ(instance.code(staged), Code::not_found);
  EXPECT_TRUE(eventually([&] { return instance.printed().find("not_found") != std::string::npos; }));
  EXPECT_EQ(instance.printed().find("hunter2"), std::string::npos);
  EXPECT_EQ(text_of(place_ / "data/state.json").find("hunter2"), std::string::npos);
}

std::string content_of(const Place& place, const std::string& kind, const std::string& id) {
  return place / ("data/" + kind + "/" + id);
}

TEST_F(Snapshots, KeepWhatWasThere) {
  Instance instance(place_, "n1");
  const std::string id = make(instance, create("db", kMiB));
  const std::string from = content_of(place_, "volumes", id);
  write_text(from + "/file", "before");
  ASSERT_EQ(::chown((from + "/file").c_str(), 1000, 1001), 0);
  ASSERT_EQ(::chmod((from + "/file").c_str(), 04751), 0);
  std::filesystem::create_directories(from + "/deep/er");
  std::filesystem::create_hard_link(from + "/file", from + "/deep/er/same");
  std::filesystem::create_symlink("/etc/passwd", from + "/link");
  ASSERT_EQ(::mkfifo((from + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(::truncate((std::ofstream(from + "/holes") << "x", from + "/holes").c_str(), 64 * kMiB), 0);

  const auto snapshot = instance.ask(snapshot_of(id, "s"));
  ASSERT_TRUE(snapshot.ok()) << snapshot.status().to_string();
  EXPECT_TRUE(snapshot->snapshot().ready_to_use());
  write_text(from + "/file", "after");
  auto request = create("restored", kMiB);
  request.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(snapshot->snapshot().snapshot_id());
  const std::string to = content_of(place_, "volumes", make(instance, request));

  struct stat stat {
  }, same{}, holes{};
  EXPECT_EQ(text_of(to + "/file"), "before");
  ASSERT_EQ(::stat((to + "/file").c_str(), &stat), 0);
  ASSERT_EQ(::stat((to + "/deep/er/same").c_str(), &same), 0);
  ASSERT_EQ(::stat((to + "/holes").c_str(), &holes), 0);
  EXPECT_EQ(stat.st_uid, 1000u);
  EXPECT_EQ(stat.st_gid, 1001u);
  EXPECT_EQ(stat.st_mode & 07777, 04751u);
  EXPECT_EQ(stat.st_ino, same.st_ino);
  EXPECT_EQ(std::filesystem::read_symlink(to + "/link"), "/etc/passwd");
  EXPECT_TRUE(std::filesystem::is_fifo(to + "/pipe"));
  EXPECT_EQ(holes.st_size, 64 * kMiB);
  EXPECT_LT(holes.st_blocks * 512, kMiB) << "holes stay holes";
}

TEST_F(Snapshots, AreListedAndDeleted) {
  Instance instance(place_, "n1");
  const std::string a = make(instance, create("a", kMiB)), b = make(instance, create("b", kMiB));
  const std::string first = instance.ask(snapshot_of(a, "1"))->snapshot().snapshot_id();
  const std::string second = instance.ask(snapshot_of(b, "2"))->snapshot().snapshot_id();
  EXPECT_EQ(instance.ask(snapshot_of(a, "1"))->snapshot().snapshot_id(), first);
  EXPECT_EQ(instance.code(snapshot_of(b, "1")), Code::already_exists);
  csi::v1::ListSnapshotsRequest list;
  list.set_source_volume_id(b);
  const auto of_b = instance.ask(list);
  ASSERT_EQ(of_b->entries_size(), 1);
  EXPECT_EQ(of_b->entries(0).snapshot().snapshot_id(), second);
  csi::v1::GetSnapshotRequest get;
  get.set_snapshot_id(first);
  EXPECT_EQ(instance.ask(get)->snapshot().source_volume_id(), a);
  csi::v1::DeleteSnapshotRequest remove_first;
  remove_first.set_snapshot_id(first);
  EXPECT_EQ(instance.code(remove_first), Code::ok);
  EXPECT_EQ(instance.code(remove_first), Code::ok);
  EXPECT_EQ(instance.code(get), Code::not_found);
  EXPECT_FALSE(std::filesystem::exists(content_of(place_, "snapshots", first)));
}

TEST_F(Snapshots, CloneIsAVolumeOfItsOwn) {
  Instance instance(place_, "n1");
  const std::string id = make(instance, create("db", kMiB));
  write_text(content_of(place_, "volumes", id) + "/file", "one");
  auto request = create("clone", 2 * kMiB);
  request.mutable_volume_content_source()->mutable_volume()->set_volume_id(id);
  const auto clone = instance.ask(request);
  ASSERT_TRUE(clone.ok()) << clone.status().to_string();
  EXPECT_EQ(clone->volume().content_source().volume().volume_id(), id);
  write_text(content_of(place_, "volumes", id) + "/file", "two");
  EXPECT_EQ(text_of(content_of(place_, "volumes", clone->volume().volume_id()) + "/file"), "one");
  request = create("smaller", 0, kMiB / 2);
  request.mutable_volume_content_source()->mutable_volume()->set_volume_id(id);
  EXPECT_EQ(instance.code(request), Code::out_of_range);
}

TEST_F(Crash, NothingIsLostBetweenCalls) {
  Instance instance(place_, "n1", {"--attach"});
  const std::string id = make(instance, create("db", kMiB));
  instance.kill_and_start();
  EXPECT_EQ(make(instance, create("db", kMiB)), id);
  const auto attached = instance.ask(attach_to(id, "n1"));
  ASSERT_TRUE(attached.ok()) << attached.status().to_string();
  instance.kill_and_start();
  EXPECT_EQ(instance.ask(attach_to(id, "n1"))->publish_context().at("attachment"),
            attached->publish_context().at("attachment"));

  auto staging = stage_at(id, folder("stage"));
  *staging.mutable_publish_context() = attached->publish_context();
  auto publishing = publish_at(id, place_ / "stage", place_ / "target");
  *publishing.mutable_publish_context() = attached->publish_context();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(instance.code(staging), Code::ok);
    instance.kill_and_start();
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(instance.code(publishing), Code::ok);
    instance.kill_and_start();
  }
  write_text(place_ / "target/file", "kept");
  EXPECT_EQ(place_.mounts().size(), 2u) << "each is mounted once";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(instance.code(unpublish(id, place_ / "target")), Code::ok);
    instance.kill_and_start();
  }
  EXPECT_EQ(text_of(content_of(place_, "volumes", id) + "/file"), "kept");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(instance.code(unstage(id, place_ / "stage")), Code::ok);
    EXPECT_EQ(instance.code(detach_from(id, "n1")), Code::ok);
    instance.kill_and_start();
  }
  EXPECT_EQ(place_.mounts().size(), 0u);
  EXPECT_EQ(instance.code(remove(id)), Code::ok);
}

// The file of the state, watched.
class Watch {
 public:
  explicit Watch(const std::string& folder) {
    // Both ends of a rename: the kernel makes one event of several that are alike.
    EXPECT_GE(::inotify_add_watch(fd_.get(), folder.c_str(), IN_MOVED_FROM | IN_MOVED_TO), 0);
  }
  // Until it was replaced so often. False when that does not come.
  bool sees(int changes) {
    pollfd readable{.fd = fd_.get(), .events = POLLIN, .revents = 0};
    // Room for one event and not for two: each is the structure and a name of sixteen bytes.
    std::array<char, sizeof(inotify_event) + 16> event{};
    for (int events = 2 * changes; events > 0; --events) {
      if (::poll(&readable, 1, 20'000) != 1 || ::read(fd_.get(), event.data(), event.size()) <= 0) return false;
    }
    return true;
  }

 private:
  Fd fd_{::inotify_init1(IN_CLOEXEC)};
};

// Kills the program when the call has stored its first, second, … step, starts it again and repeats the call.
template <typename Request>
void expect_survives(Instance& instance, const Place& place, const Request& request, int steps = 1) {
  SCOPED_TRACE(Request::descriptor()->name() + ", step " + std::to_string(steps));
  Watch watch(place / "data");
  std::thread caller([&] { (void)instance.ask(request); });  // it may be answered, or not
  EXPECT_TRUE(watch.sees(steps));
  instance.end(SIGKILL);
  caller.join();
  instance.start();
  const auto repeated = instance.ask(request);
  EXPECT_TRUE(repeated.ok()) << repeated.status().to_string();
}

TEST_F(Crash, EachStoredStepMayBeTheLast) {
  Instance instance(place_, "n1");
  for (const int steps : {1, 2}) expect_survives(instance, place_, create("db" + std::to_string(steps), kMiB), steps);
  const std::string id = make(instance, create("db1", kMiB));
  for (const int steps : {1, 2}) expect_survives(instance, place_, snapshot_of(id, "s" + std::to_string(steps)), steps);
  EXPECT_EQ(instance.ask(csi::v1::ListVolumesRequest())->entries_size(), 2);
  EXPECT_EQ(instance.ask(csi::v1::ListSnapshotsRequest())->entries_size(), 2);

  expect_survives(instance, place_, stage_at(id, folder("stage")));
  expect_survives(instance, place_, publish_at(id, place_ / "stage", place_ / "target", mounted(), true));
  EXPECT_EQ(place_.mounts().size(), 2u);
  expect_survives(instance, place_, unpublish(id, place_ / "target"));
  expect_survives(instance, place_, unstage(id, place_ / "stage"));
  EXPECT_EQ(place_.mounts().size(), 0u);
  expect_survives(instance, place_, remove(id));
  expect_survives(instance, place_, remove(make(instance, create("db2", kMiB))), 2);
  EXPECT_EQ(instance.ask(csi::v1::ListVolumesRequest())->entries_size(), 0);
  EXPECT_TRUE(std::filesystem::is_empty(place_ / "data/volumes"));
}

// The leavings of a program that is killed in the middle of a call, put there by hand.
TEST_F(Crash, WhatWasCutOffIsEndedAtTheNextStart) {
  Instance instance(place_, "n1");
  const std::string going = make(instance, create("going", kMiB)), kept = make(instance, create("kept", kMiB));
  const std::string snapshot = instance.ask(snapshot_of(kept, "s"))->snapshot().snapshot_id();
  instance.end(SIGKILL);
  auto state = nlohmann::json::parse(text_of(place_ / "data/state.json"));
  state["Volumes"][0]["Stage"] = "deleting";
  state["Snapshots"][0]["Stage"] = "making";
  auto half = state["Volumes"][1], other = half;
  half["ID"] = half["Name"] = "half";
  half["Stage"] = "making";
  other["ID"] = other["Name"] = "other";
  other["Stage"] = "making";
  other["Maker"] = "n2";
  state["Volumes"].push_back(half);
  state["Volumes"].push_back(other);
  write_text(place_ / "data/state.json", state.dump());
  folder("data/volumes/half");
  folder("data/volumes/other");

  instance.start();

  EXPECT_FALSE(std::filesystem::exists(content_of(place_, "volumes", going)));
  EXPECT_FALSE(std::filesystem::exists(content_of(place_, "volumes", "half")));
  EXPECT_TRUE(std::filesystem::exists(content_of(place_, "volumes", "other"))) << "another instance is at it";
  EXPECT_FALSE(std::filesystem::exists(content_of(place_, "snapshots", snapshot)));
  const auto list = instance.ask(csi::v1::ListVolumesRequest());
  ASSERT_EQ(list->entries_size(), 1);
  EXPECT_EQ(list->entries(0).volume().volume_id(), kept);
  EXPECT_NE(make(instance, create("half", kMiB)), "half");
  EXPECT_EQ(instance.code(create("other", kMiB)), Code::aborted);
}

}  // namespace
}  // namespace drover::hostpath
