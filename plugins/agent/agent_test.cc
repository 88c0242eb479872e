// The agent as a whole, with a driver, servers and a host that live in memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "agent_plugin.h"
#include "drover/log.h"
#include "hooks/alloc_dir.h"
#include "hooks/group_network.h"
#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

using namespace std::chrono_literals;

TEST_F(AgentTest, RegistersAsAReadyNode) {
  start();
  EXPECT_EQ("node-1", servers_.node->name());
  EXPECT_EQ("dc1", servers_.node->datacenter());
  EXPECT_EQ(host_->node().bytes(), servers_.node->id());
  EXPECT_EQ("1", servers_.node->attributes().at("driver.fake"));
  EXPECT_EQ("1.5.6", servers_.node->attributes().at("nomad.version"));
  EXPECT_TRUE(servers_.node->drivers().at("fake").healthy());
  EXPECT_GT(servers_.node->node_resources().memory().memory_mb(), 0);
  EXPECT_GT(servers_.node->node_resources().cpu().cpu_shares(), 0);
}

TEST_F(AgentTest, RegistersAgainWhenTheServersForgotIt) {
  start();
  const std::string id = servers_.node->id();
  servers_.wait([&] { return servers_.forget_node = true; });
  EXPECT_TRUE(servers_.wait([&] { return servers_.registrations == 2; }));
  EXPECT_EQ(id, servers_.node->id());
}

TEST_F(AgentTest, RunsAnAllocationToItsEnd) {
  start();
  const std::string id = place({task("init", "prestart"), task("main"), task("clean", "poststop")}, "batch");
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  driver_.finish("init", 0);
  servers_.until(id, [](const v1::Allocation& a) { return a.task_states().at("main").state() == "running"; });
  driver_.finish("main", 0);
  servers_.until(id, [](const v1::Allocation& a) { return a.task_states().at("clean").state() == "running"; });
  driver_.finish("clean", 0);

  const v1::Allocation end = until_status(id, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ("All tasks have completed", end.client_description());
  EXPECT_EQ((std::vector<std::string>{"init", "main", "clean"}), driver_.starts());
  EXPECT_EQ((std::vector<std::string>{"Received", "Task Setup", "Started", "Terminated"}),
            event_types(end.task_states().at("main")));
  EXPECT_FALSE(end.task_states().at("main").failed());
  EXPECT_GT(end.task_states().at("main").finished_at(), 0);
  EXPECT_EQ(std::filesystem::perms(0700), std::filesystem::status(alloc_path(id) + "/main/secrets").permissions());
}

TEST_F(AgentTest, AFailedTaskEndsItsSiblings) {
  start();
  driver_.exits_at_once("bad", 3);
  const std::string id = place({task("bad"), task("good")}, "service", 1);

  const v1::Allocation end = servers_.until(id, [](const v1::Allocation& a) {
    return a.client_status() == v1::CLIENT_STATUS_FAILED && a.task_states().at("good").state() == "dead";
  });
  EXPECT_TRUE(end.task_states().at("bad").failed());
  EXPECT_EQ(1u, end.task_states().at("bad").restarts());
  EXPECT_EQ("Not Restarting", event_types(end.task_states().at("bad")).back());
  EXPECT_FALSE(end.task_states().at("good").failed());
  EXPECT_TRUE(std::ranges::count(event_types(end.task_states().at("good")), "Sibling Task Failed") == 1)
      << end.ShortDebugString();
}

TEST_F(AgentTest, StopsWhenTheServersSaySo) {
  start();
  v1::Task web = task("web");
  web.set_kill_signal("SIGTERM");
  web.set_kill_timeout(7'000'000'000);
  const std::string id = place({web});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  auto running = driver_.find("web");

  servers_.stop(id);

  const v1::Allocation end = until_status(id, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ("SIGTERM", running->stop_signal);
  EXPECT_EQ(7s, running->stop_timeout);
  EXPECT_EQ((std::vector<std::string>{"Received", "Task Setup", "Started", "Killing", "Terminated", "Killed"}),
            event_types(end.task_states().at("web")));
}

TEST_F(AgentTest, RefusesWhatItCannotDo) {
  start();
  v1::Task strange = task("strange");
  strange.add_artifacts()->set_getter_source("http://x");
  v1::Task refused = task("refused");
  refused.set_config("{\"x\":\"refuse\"}");
  v1::Task homeless = task("homeless");
  homeless.set_driver("docker");
  const std::string first = place({strange}), second = place({refused}), third = place({homeless});

  EXPECT_EQ("this client does not support the block artifact",
            until_status(first, v1::CLIENT_STATUS_FAILED).task_states().at("strange").events(2).setup_error());
  EXPECT_EQ("option \"refuse\" is unknown",
            until_status(second, v1::CLIENT_STATUS_FAILED).task_states().at("refused").events(2).validation_error());
  EXPECT_EQ("Setup Failure",
            until_status(third, v1::CLIENT_STATUS_FAILED).task_states().at("homeless").events(2).type());
}

TEST_F(AgentTest, TriesAgainWhenTheDriverSaysItMayHelp) {
  start();
  driver_.does_not_start("later", failed_precondition("image is being pulled"));
  driver_.does_not_start("never", invalid_argument("no such command"));
  const std::string later = place({task("later")}, "service", 1), never = place({task("never")});
  EXPECT_EQ(1u, until_status(later, v1::CLIENT_STATUS_FAILED).task_states().at("later").restarts());
  const v1::TaskState end = until_status(never, v1::CLIENT_STATUS_FAILED).task_states().at("never");
  EXPECT_EQ(0u, end.restarts());
  EXPECT_EQ((std::vector<std::string>{"Received", "Task Setup", "Driver Failure", "Not Restarting"}), event_types(end));
}

TEST_F(AgentTest, RestartsAndSignalsOnRequest) {
  start();
  const std::string id = place({task("web")}, "service", 0);
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  v1::SignalAllocationRequest signal;
  signal.set_alloc_id(id);
  signal.set_task("web");
  signal.set_signal("SIGHUP");
  ASSERT_TRUE(ask<v1::ClientResponse>("Signal", signal).ok());
  EXPECT_EQ(std::vector<std::string>{"SIGHUP"}, driver_.find("web")->signals);
  signal.set_signal("HUP!");
  EXPECT_EQ("unknown signal \"HUP!\"", ask<v1::ClientResponse>("Signal", signal).status().message());

  v1::RestartAllocationRequest restart;
  restart.set_alloc_id(id);
  restart.set_task_name("web");
  ASSERT_TRUE(ask<v1::ClientResponse>("Restart", restart).ok());
  const v1::Allocation again = servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("web").restarts() == 1 && a.task_states().at("web").state() == "running";
  });
  EXPECT_EQ((std::vector<std::string>{"Received", "Task Setup", "Started", "Signaling", "Restart Signaled", "Killing",
                                      "Terminated", "Killed", "Restarting", "Task Setup", "Started"}),
            [&] {
              auto types = event_types(again.task_states().at("web"));
              types.insert(types.begin(), "Received");
              return types;
            }());

  restart.set_all_tasks(true);
  EXPECT_EQ(Code::invalid_argument, ask<v1::ClientResponse>("Restart", restart).status().code());
  restart.set_all_tasks(false);
  restart.set_task_name("nobody");
  EXPECT_EQ(Code::not_found, ask<v1::ClientResponse>("Restart", restart).status().code());
  restart.set_alloc_id(std::string(16, '\0'));
  EXPECT_EQ("Unknown allocation \"00000000-0000-0000-0000-000000000000\"",
            ask<v1::ClientResponse>("Restart", restart).status().message());
}

TEST_F(AgentTest, RestartsEndedTasksWithAllTasks) {
  start();
  const std::string id = place({task("init", "prestart"), task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  driver_.finish("init", 0);
  servers_.until(id, [](const v1::Allocation& a) { return a.task_states().at("web").state() == "running"; });
  v1::RestartAllocationRequest restart;
  restart.set_alloc_id(id);
  restart.set_all_tasks(true);
  ASSERT_TRUE(ask<v1::ClientResponse>("Restart", restart).ok());
  const v1::Allocation again = servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("web").restarts() == 1 && a.task_states().at("init").restarts() == 1;
  });
  EXPECT_EQ(1u, again.task_states().at("init").restarts());
}

TEST_F(AgentTest, MeasuresTasks) {
  start();
  const std::string id = place({task("a"), task("b")});
  servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("a").state() == "running" && a.task_states().at("b").state() == "running";
  });
  v1::AllocationStatsRequest request;
  request.set_alloc_id(id);
  auto stats = ask<v1::AllocationStatsResponse>("Stats", request);
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(2000u, stats->resource_usage().memory_stats().rss());
  EXPECT_EQ(3.0, stats->resource_usage().cpu_stats().percent());
  EXPECT_EQ(2, stats->tasks_size());
  request.set_task("a");
  EXPECT_EQ(1, ask<v1::AllocationStatsResponse>("Stats", request)->tasks_size());
}

class AgentWithDevices : public AgentTest {
 protected:
  AgentWithDevices() { devices_ = &ports_; }
  FakeDevices ports_;
};

TEST_F(AgentWithDevices, RegistersThemAndTheirChanges) {
  start();
  ASSERT_EQ(1, servers_.node->node_resources().devices_size());
  EXPECT_EQ(1, servers_.registrations);
  const v1::NodeDeviceResource& ports = servers_.node->node_resources().devices(0);
  EXPECT_EQ("acme", ports.vendor());
  EXPECT_EQ(115200, ports.attributes().at("speed").int_value());
  ASSERT_EQ(2, ports.instances_size());
  EXPECT_TRUE(ports.instances(0).healthy());

  ports_.breaks("tty0");

  ASSERT_TRUE(servers_.wait([&] { return servers_.registrations == 2; }));
  EXPECT_FALSE(servers_.node->node_resources().devices(0).instances(0).healthy());
  EXPECT_EQ("unplugged", servers_.node->node_resources().devices(0).instances(0).health_description());
  EXPECT_TRUE(servers_.node->node_resources().devices(0).instances(1).healthy());
}

TEST_F(AgentWithDevices, GivesThemToTheTask) {
  start();
  v1::Task web = task("web");
  (*web.mutable_env())["PORTS"] = "none";
  web.set_config("{\"command\":\"use ${PORTS}\"}");
  const std::string id = place({web, task("other")}, "service", 2, {"tty0", "tty1"});
  until_status(id, v1::CLIENT_STATUS_RUNNING);

  const driver::TaskConfig& config = driver_.find("web")->config;
  EXPECT_EQ("tty0,tty1", config.env().at("PORTS"));
  EXPECT_EQ("tty0,tty1", config.device_env().at("PORTS"));
  EXPECT_EQ("{\"command\":\"use tty0,tty1\"}", config.msgpack_driver_config());
  ASSERT_EQ(2, config.devices_size());
  EXPECT_EQ("/dev/tty1", config.devices(1).host_path());
  EXPECT_EQ("rw", config.devices(1).cgroup_permissions());
  ASSERT_EQ(1, config.mounts_size());
  EXPECT_EQ("/opt/acme", config.mounts(0).task_path());
  EXPECT_TRUE(config.mounts(0).readonly());
  EXPECT_EQ(0, driver_.find("other")->config.devices_size());
  EXPECT_EQ(1, ports_.reservations());
}

TEST_F(AgentWithDevices, ATaskThatGoesOnUnderTheNextAgentIsNotGivenThemAgain) {
  start();
  const std::string id = place({task("web")}, "service", 2, {"tty1"});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  servers_.expect_another_agent();
  start();

  until_status(id, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ(1, driver_.recovered());
  EXPECT_EQ(1, ports_.reservations());
  v1::AllocationStatsRequest request;
  request.set_alloc_id(id);
  const auto stats = ask<v1::AllocationStatsResponse>("Stats", request);
  ASSERT_EQ(1, stats->tasks().at("web").resource_usage().device_stats_size());
}

TEST_F(AgentWithDevices, WhatAPluginRefusesFailsTheTask) {
  ports_.refuses(not_found("there is no tty7"), 100);
  start();
  const std::string id = place({task("web")}, "service", 2, {"tty7"});

  const v1::Allocation end = until_status(id, v1::CLIENT_STATUS_FAILED);

  const v1::TaskState& state = end.task_states().at("web");
  EXPECT_EQ((std::vector<std::string>{"Received", "Task Setup", "Task hook failed", "Not Restarting"}),
            event_types(state));
  EXPECT_EQ("devices: there is no tty7", state.events(2).display_message());
  EXPECT_EQ(0u, state.restarts());
  EXPECT_TRUE(driver_.starts().empty());
}

TEST_F(AgentWithDevices, APluginThatIsAwayIsWaitedForByTheRestartPolicy) {
  ports_.refuses(unavailable("it is being restarted"), 2);
  start();
  const std::string id = place({task("web")}, "service", 3, {"tty0"});

  EXPECT_EQ(2u, until_status(id, v1::CLIENT_STATUS_RUNNING).task_states().at("web").restarts());
}

TEST_F(AgentWithDevices, AreWaitedForUntilTheFormerTaskIsGone) {
  start();
  const std::string first = place({task("web")}, "service", 2, {"tty0"});
  until_status(first, v1::CLIENT_STATUS_RUNNING);

  const std::string second = place({task("next")}, "service", 2, {"tty0"});
  const std::string third = place({task("free")}, "service", 2, {"tty1"});
  until_status(third, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ((std::vector<std::string>{"web", "free"}), driver_.starts());
  servers_.stop(first);

  until_status(second, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ((std::vector<std::string>{"web", "free", "next"}), driver_.starts());
  EXPECT_EQ((std::vector<std::string>{"web"}), driver_.stopped());
}

TEST_F(AgentWithDevices, OneThatWaitsForThemCanBeStopped) {
  start();
  const std::string first = place({task("web")}, "service", 2, {"tty0"});
  until_status(first, v1::CLIENT_STATUS_RUNNING);
  const std::string second = place({task("next")}, "service", 2, {"tty0"});
  servers_.until(
      second, [](const v1::Allocation& a) { return event_types(a.task_states().at("next")).back() == "Task Setup"; });

  servers_.stop(second);

  until_status(second, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_EQ((std::vector<std::string>{"web"}), driver_.starts());
}

// The former task outlived the agent, and still has what the new one was given.
TEST_F(AgentWithDevices, AreStillHeldUnderTheNextAgent) {
  start();
  const std::string first = place({task("web")}, "service", 2, {"tty0"});
  until_status(first, v1::CLIENT_STATUS_RUNNING);
  stop();
  const std::string second = place({task("next")}, "service", 2, {"tty0"});
  const std::string third = place({task("free")}, "service", 2, {"tty1"});
  start();

  until_status(third, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ((std::vector<std::string>{"web", "free"}), driver_.starts());
  servers_.stop(first);
  until_status(second, v1::CLIENT_STATUS_RUNNING);
}

TEST_F(AgentWithDevices, CountsWhatTheyDo) {
  start();
  const std::string id = place({task("web"), task("other")}, "service", 2, {"tty1"});
  servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("web").state() == "running" && a.task_states().at("other").state() == "running";
  });

  v1::AllocationStatsRequest request;
  request.set_alloc_id(id);
  const auto of_tasks = ask<v1::AllocationStatsResponse>("Stats", request);
  ASSERT_EQ(1, of_tasks->tasks().at("web").resource_usage().device_stats_size());
  EXPECT_EQ(0, of_tasks->tasks().at("other").resource_usage().device_stats_size());
  const v1::DeviceGroupStats& own = of_tasks->resource_usage().device_stats(0);
  ASSERT_EQ(1, own.instance_stats_size());
  EXPECT_EQ(7, own.instance_stats().at("tty1").summary().int_numerator_val());

  const auto of_host = ask<v1::HostStats>("Host", v1::HostStatsRequest());
  ASSERT_TRUE(of_host.ok()) << of_host.status().message();
  ASSERT_EQ(1, of_host->device_stats_size());
  EXPECT_EQ(2, of_host->device_stats(0).instance_stats_size());
  EXPECT_GT(of_host->memory().total(), 0u);
  EXPECT_GT(of_host->cpu_size(), 0);
  EXPECT_GT(of_host->alloc_dir_stats().size(), 0u);
}

TEST_F(AgentTest, TasksOutliveTheAgent) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  auto process = driver_.find("web");
  const std::string node = servers_.node->id();
  stop();
  servers_.expect_another_agent();

  start();

  const v1::Allocation after = until_status(id, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ(node, servers_.node->id());
  EXPECT_EQ(process, driver_.find("web"));
  EXPECT_EQ(1, driver_.recovered());
  EXPECT_EQ(std::vector<std::string>{"web"}, driver_.starts());
  EXPECT_EQ(0u, after.task_states().at("web").restarts());
  EXPECT_EQ((std::vector<std::string>{"Received", "Task Setup", "Started"}),
            event_types(after.task_states().at("web")));
  servers_.stop(id);
  until_status(id, v1::CLIENT_STATUS_COMPLETE);
}

TEST_F(AgentTest, ADriverMakesTheNetworkThatItsTasksShare) {
  driver_.makes_networks = true;
  network_mode_ = "none";
  start();
  const std::string id = place({task("web"), task("log")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  const std::string name = Uuid::from_bytes(id).to_string();
  EXPECT_EQ(std::set<std::string>{name}, driver_.networks());
  EXPECT_EQ("/net/" + name, driver_.find("web")->config.network_isolation_spec().path());
  EXPECT_EQ("/net/" + name, driver_.find("log")->config.network_isolation_spec().path());

  stop();
  start();  // which finds the tasks, and the network that it has to tear down after them
  EXPECT_EQ(std::set<std::string>{name}, driver_.networks());
  servers_.stop(id);
  until_status(id, v1::CLIENT_STATUS_COMPLETE);
  EXPECT_TRUE(driver_.wait_no_networks());
}

TEST_F(AgentTest, ATaskThatCannotShareANetworkDoesNotStart) {
  driver_.shares_networks = false;
  network_mode_ = "none";
  start();
  const v1::TaskState state = until_status(place({task("web")}), v1::CLIENT_STATUS_FAILED).task_states().at("web");
  EXPECT_EQ(
      "failed to setup alloc: pre-run hook \"network\" failed: task web does not support \"none\" networking "
      "mode",
      state.events(state.events_size() - 1).setup_error());
  EXPECT_TRUE(driver_.starts().empty());
}

TEST(NetworkMaker, IsTheOneDriverThatMustOrTheAgent) {
  driver::DriverCapabilities joins, makes;
  joins.add_network_isolation_modes(driver::NetworkIsolationSpec::GROUP);
  joins.set_fs_isolation(driver::DriverCapabilities::NONE);
  makes = joins;
  makes.set_must_create_network(true);
  const auto maker = [](const std::vector<std::pair<std::string, driver::DriverCapabilities>>& tasks,
                        const std::string& hostname = "") {
    v1::TaskGroup group;
    group.add_networks()->set_mode("bridge");
    group.mutable_networks(0)->set_hostname(hostname);
    DriverAbilities abilities;
    for (const auto& [driver, can] : tasks) {
      v1::Task& task = *group.add_tasks();
      task.set_name("of_" + driver);
      task.set_driver(driver);
      abilities[driver] = can;
    }
    return network_maker(group, abilities);
  };
  EXPECT_EQ("", *maker({{"a", joins}, {"b", joins}}));
  EXPECT_EQ("b", *maker({{"a", joins}, {"b", makes}}));
  EXPECT_EQ("b", *maker({{"b", makes}, {"b", makes}}));
  EXPECT_EQ(
      invalid_argument("tasks of_a and of_b want to initiate networking but only one driver can do so"),
      maker({{"a", makes}, {"b", makes}}).status());
  EXPECT_EQ(invalid_argument("task of_c does not support \"bridge\" networking mode"),
            maker({{"a", makes}, {"c", {}}}).status());
  EXPECT_EQ(invalid_argument("hostname is not currently supported on driver a"), maker({{"a", joins}}, "db").status());
}

// The rows of an agent that ended while its driver was starting the task.
void interrupt_start(LocalStore& store, const std::string& id, const std::string& name) {
  const std::string key = "task/" + id + "/" + name;
  StoredTask row = *parse_message<StoredTask>(**store.get(key));
  row.set_starting(true);
  row.mutable_handle()->clear_driver_state();
  row.mutable_state()->set_state("pending");
  row.mutable_state()->clear_events();
  const LocalStore::Write write{key, serialize(row)};
  ASSERT_TRUE(store.write({&write, 1}).ok());
}

TEST_F(AgentTest, AStartOfWhichTheAgentDidNotHearIsNotRepeated) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  interrupt_start(store_, id, "web");
  start();
  const std::vector<std::string> events = {"Started"};
  const v1::Allocation last = servers_.until(
      id, [&](const v1::Allocation& report) { return event_types(report.task_states().at("web")) == events; });
  EXPECT_EQ(events, event_types(last.task_states().at("web")));
  EXPECT_EQ((std::vector<std::string>{"web"}), driver_.starts());
}

TEST_F(AgentTest, AStartThatCameToNothingIsMadeAgain) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  interrupt_start(store_, id, "web");
  driver_.lose_everything();
  start();
  const std::vector<std::string> events = {"Task Setup", "Started"};
  const v1::Allocation last = servers_.until(
      id, [&](const v1::Allocation& report) { return event_types(report.task_states().at("web")) == events; });
  EXPECT_EQ(events, event_types(last.task_states().at("web")));
  EXPECT_EQ(0U, last.task_states().at("web").restarts());
  EXPECT_EQ((std::vector<std::string>{"web", "web"}), driver_.starts());
}

TEST_F(AgentTest, ATaskThatEndedMeanwhileKeepsItsResult) {
  start();
  const std::string id = place({task("job")}, "batch");
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  driver_.finish("job", 0);
  start();
  EXPECT_FALSE(until_status(id, v1::CLIENT_STATUS_COMPLETE).task_states().at("job").failed());
}

TEST_F(AgentTest, ATaskThatIsGoneIsStartedAgainByItsPolicy) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  driver_.lose_everything();
  start();
  const v1::Allocation after = servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("web").restarts() == 1 && a.task_states().at("web").state() == "running";
  });
  EXPECT_EQ("Failed Restoring Task", event_types(after.task_states().at("web"))[3]);
  EXPECT_EQ(2u, driver_.starts().size());
}

TEST_F(AgentTest, ADevelopmentAgentLeavesNothingBehind) {
  start(true);
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  EXPECT_EQ(std::vector<std::string>{"web"}, driver_.stopped());
  EXPECT_FALSE(std::filesystem::exists(alloc_path(id)));
  EXPECT_EQ(2u, store_.size());  // the node's identifier and secret
}

TEST_F(AgentTest, ADevelopmentAgentEndsStoragePluginsLast) {
  class Supports final : public TaskHook {
   public:
    HookInfo info() const override { return {.name = "storage", .supports = {"csi_plugin"}}; }
    std::unique_ptr<Part> attach(HookedTask&, HookState&) override { return nullptr; }
  } storage;
  task_hooks_ = {&storage};
  start(true);
  v1::Task plugin = task("storage");
  plugin.mutable_csi_plugin_config()->set_id("disks");
  std::vector<std::string> ids = {place({plugin})};
  for (int i = 0; i < 4; ++i) ids.push_back(place({task("web")}));
  for (const std::string& id : ids) until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  EXPECT_EQ((std::vector<std::string>{"web", "web", "web", "web", "storage"}), driver_.stopped());
}

TEST_F(AgentTest, RemovesWhatTheServersNoLongerList) {
  start();
  const std::string id = place({task("web")}, "batch");
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ(*locator().locate(id), host_->node());
  v1::GarbageCollectRequest collect;
  collect.set_alloc_id(id);
  EXPECT_EQ(Code::failed_precondition, ask<v1::ClientResponse>("GarbageCollect", collect).status().code());
  driver_.finish("web", 0);
  until_status(id, v1::CLIENT_STATUS_COMPLETE);
  const std::string other = place({task("next")}, "batch");
  until_status(other, v1::CLIENT_STATUS_RUNNING);

  EXPECT_TRUE(ask<v1::ClientResponse>("GarbageCollect", collect).ok());

  EXPECT_FALSE(std::filesystem::exists(alloc_path(id)));
  EXPECT_FALSE(locator().locate(id));
  servers_.remove(other);
  EXPECT_TRUE(servers_.wait([&] { return true; }));
}

TEST_F(AgentTest, DeliversStatusAfterTheServersWereAway) {
  start();
  servers_.wait([&] {
    servers_.refuse_updates = 2;
    return true;
  });
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
}

// The kernel ends calls first and plugins after that.
TEST_F(AgentTest, ItsOwnEndIsNoReasonToWarn) {
  std::atomic<int> warnings = 0;
  const log::Tap tap(log::Level::warn,
                     [&](log::Level, std::string_view, std::string_view sentence, std::span<const log::Field>) {
                       if (sentence == "allocations not read from the servers") ++warnings;
                     });
  start();

  servers_.end_calls();

  ASSERT_TRUE(servers_.wait([&] { return servers_.refused_watches >= 2; }));  // the first has been reported then
  stop();
  EXPECT_EQ(0, warnings);
}

}  // namespace
}  // namespace drover::agent
