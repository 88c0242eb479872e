// Hooks of other plugins beside the agent's own: when they are called, and what becomes of what they say.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "testing/agent_fixture.h"

namespace drover::agent {
namespace {

// Records the calls, in order. [any]
class Calls {
 public:
  void add(std::string call) {
    std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    changed_.notify_all();
  }
  std::vector<std::string> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(calls_, {});
  }
  bool wait(const std::string& call) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return std::ranges::find(calls_, call) != calls_.end(); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> calls_;
};

// Notes every call of a task; refuses as often as it is told to.
class Witness final : public TaskHook {
 public:
  explicit Witness(Calls& calls, std::string name = "witness", bool is_done = false)
      : calls_(calls), name_(std::move(name)), is_done_(is_done) {}
  HookInfo info() const override { return {.name = name_, .after = {"devices"}, .supports = {"artifact"}}; }

  class Seen final : public Part {
   public:
    Seen(Witness& witness, HookedTask& task, HookState& state) : witness_(witness), task_(task), state_(state) {}
    Status prestart(TaskPrestart& start) override {
      (void)note(start.recovered ? "prestart again" : "prestart");
      if (witness_.refusals > 0 && witness_.refusals-- > 0) return witness_.refusal;
      const int count = std::stoi(state_.get("count").value_or("0")) + 1;
      DROVER_RETURN_IF_ERROR(state_.put("count", std::to_string(count)));
      (*start.adds.mutable_env())["WITNESS"] =
          std::to_string(count) + " saw " + start.environment.at("NOMAD_TASK_NAME");
      start.adds.add_mounts()->set_task_path("/witness");
      start.done = witness_.is_done_;
      return ok_status();
    }
    Status poststart() override { return note("poststart"); }
    Status update() override { return note("update"); }
    Status prekill() override { return note("prekill"); }
    Status exited() override { return note("exited"); }
    Status stop() override { return note("stop"); }
    void shutdown() override { (void)note("shutdown"); }

   private:
    Status note(const char* call) { return witness_.calls_.add(task_.name() + " " + call), ok_status(); }
    Witness& witness_;
    HookedTask& task_;
    HookState& state_;
  };
  std::unique_ptr<Part> attach(HookedTask& task, HookState& state) override {
    return std::make_unique<Seen>(*this, task, state);
  }

  std::atomic<int> refusals = 0;  // of prestart, to come
  Status refusal = invalid_argument("not today");

 private:
  Calls& calls_;
  const std::string name_;
  const bool is_done_;
};

class Caretaker final : public AllocHook {
 public:
  explicit Caretaker(Calls& calls) : calls_(calls) {}
  HookInfo info() const override { return {.name = "caretaker", .after = {"network"}}; }

  class Care final : public Part {
   public:
    Care(Caretaker& owner, HookedAlloc& alloc) : owner_(owner), alloc_(alloc) {}
    Status prerun(std::stop_token) override {
      (void)note(std::filesystem::exists(alloc_.folders().shared) ? "prerun" : "prerun without folders");
      return owner_.refusal;
    }
    Status update() override { return note("update"); }
    Status prerestart(std::stop_token) override { return note("prerestart"); }
    Status prekill() override { return note("prekill"); }
    Status postrun() override { return note("postrun"); }
    Status destroy() override {
      return note(std::filesystem::exists(alloc_.folders().root) ? "destroy" : "destroy too late");
    }
    void shutdown() override { (void)note("shutdown"); }

   private:
    Status note(const char* call) { return owner_.calls_.add(std::string("alloc ") + call), ok_status(); }
    Caretaker& owner_;
    HookedAlloc& alloc_;
  };
  std::unique_ptr<Part> attach(HookedAlloc& alloc, HookState&) override { return std::make_unique<Care>(*this, alloc); }

  Status refusal;

 private:
  Calls& calls_;
};

class AgentWithHooks : public AgentTest {
 protected:
  AgentWithHooks() {
    task_hooks_ = {&witness_};
    alloc_hooks_ = {&caretaker_};
  }
  ~AgentWithHooks() override {
    if (agent_) stop();  // before the hooks are gone
  }
  // Those of the task "web", or of the allocation. The order to stop may come as an update first or not.
  static std::vector<std::string> of(const std::string& who, const std::vector<std::string>& calls) {
    std::vector<std::string> own;
    for (const std::string& call : calls) {
      if (call.starts_with(who) && call != "web update") own.push_back(call.substr(who.size() + 1));
    }
    return own;
  }
  Calls calls_;
  Witness witness_{calls_};
  Caretaker caretaker_{calls_};
};

TEST_F(AgentWithHooks, CallsThemThroughAnAllocationsLife) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  ASSERT_TRUE(calls_.wait("web poststart"));
  EXPECT_EQ("1 saw web", driver_.find("web")->config.env().at("WITNESS"));
  EXPECT_EQ("/witness", driver_.find("web")->config.mounts(0).task_path());

  servers_.stop(id);
  until_status(id, v1::CLIENT_STATUS_COMPLETE);
  ASSERT_TRUE(calls_.wait("alloc postrun"));
  servers_.remove(id);
  ASSERT_TRUE(calls_.wait("alloc destroy"));

  const std::vector<std::string> calls = calls_.take();
  EXPECT_EQ((std::vector<std::string>{"prerun", "update", "prekill", "postrun", "destroy"}), of("alloc", calls));
  EXPECT_EQ((std::vector<std::string>{"prestart", "poststart", "prekill", "exited", "stop"}), of("web", calls));
  EXPECT_LT(std::ranges::find(calls, "alloc prekill"), std::ranges::find(calls, "web prekill"));
  EXPECT_LT(std::ranges::find(calls, "web stop"), std::ranges::find(calls, "alloc postrun"));
}

TEST_F(AgentWithHooks, AnUpdateReachesTheTaskThatRuns) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  servers_.touch(id);
  EXPECT_TRUE(calls_.wait("alloc update"));
  EXPECT_TRUE(calls_.wait("web update"));
  servers_.stop(id);
  until_status(id, v1::CLIENT_STATUS_COMPLETE);
}

TEST_F(AgentWithHooks, HearThatAllTasksAreRestarted) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  v1::RestartAllocationRequest restart;
  restart.set_alloc_id(id);
  restart.set_all_tasks(true);
  ASSERT_TRUE(ask<v1::ClientResponse>("Restart", restart).ok());
  servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("web").restarts() == 1 && a.task_states().at("web").state() == "running";
  });
  const std::vector<std::string> calls = calls_.take();
  EXPECT_EQ((std::vector<std::string>{"prerun", "prerestart"}), of("alloc", calls));
  EXPECT_LT(std::ranges::find(calls, "alloc prerestart"), std::ranges::find(calls, "web prekill"));
}

TEST_F(AgentWithHooks, KeepTheirStateOverTheAgentsEnd) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  EXPECT_EQ(
      (std::vector<std::string>{"alloc prerun", "web prestart", "web poststart", "web shutdown", "alloc shutdown"}),
      calls_.take());
  servers_.expect_another_agent();

  start();
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  ASSERT_TRUE(calls_.wait("web poststart"));
  EXPECT_EQ((std::vector<std::string>{"alloc prerun", "web prestart again", "web poststart"}), calls_.take());
  EXPECT_EQ("1 saw web", driver_.find("web")->config.env().at("WITNESS")) << "the task that runs has what it had";
  driver_.finish("web", 1);
  servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("web").restarts() == 1 && a.task_states().at("web").state() == "running";
  });
  EXPECT_EQ("3 saw web", driver_.find("web")->config.env().at("WITNESS"));
}

TEST_F(AgentWithHooks, OneThatIsDoneIsNotAskedAgain) {
  Witness done(calls_, "once", true);
  task_hooks_ = {&done};
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  driver_.finish("web", 1);
  servers_.until(id, [](const v1::Allocation& a) {
    return a.task_states().at("web").restarts() == 1 && a.task_states().at("web").state() == "running";
  });
  EXPECT_EQ("1 saw web", driver_.find("web")->config.env().at("WITNESS")) << "what it added is added again";
  EXPECT_EQ(1, std::ranges::count(calls_.take(), "web prestart"));
  stop();  // before the hook is gone
}

TEST_F(AgentWithHooks, ARefusalFailsTheTaskOrIsTriedAgain) {
  witness_.refusals = 1;
  start();
  const v1::TaskState dead = until_status(place({task("web")}), v1::CLIENT_STATUS_FAILED).task_states().at("web");
  EXPECT_EQ((std::vector<std::string>{"Received", "Task Setup", "Task hook failed", "Not Restarting"}),
            event_types(dead));
  EXPECT_EQ("witness: not today", dead.events(2).display_message());
  EXPECT_TRUE(driver_.starts().empty());

  witness_.refusal = unavailable("not yet");
  witness_.refusals = 1;
  EXPECT_EQ(1u, until_status(place({task("again")}), v1::CLIENT_STATUS_RUNNING).task_states().at("again").restarts());
}

TEST_F(AgentWithHooks, ARecoveredTaskGoesOnWithoutThem) {
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  stop();
  servers_.expect_another_agent();
  witness_.refusals = 1;
  start();
  const v1::Allocation after = servers_.until(
      id, [](const v1::Allocation& a) { return event_types(a.task_states().at("web")).back() == "Task hook failed"; });
  EXPECT_EQ("running", after.task_states().at("web").state());
  EXPECT_EQ(std::vector<std::string>{"web"}, driver_.starts());
}

TEST_F(AgentWithHooks, AFailedPrerunFailsEveryTask) {
  caretaker_.refusal = invalid_argument("no room");
  start();
  const v1::Allocation end = until_status(place({task("a"), task("b")}), v1::CLIENT_STATUS_FAILED);
  for (const char* name : {"a", "b"}) {
    const v1::TaskState& state = end.task_states().at(name);
    EXPECT_EQ("failed to setup alloc: pre-run hook \"caretaker\" failed: no room",
              state.events(state.events_size() - 1).setup_error());
    EXPECT_TRUE(state.failed());
  }
  EXPECT_TRUE(calls_.wait("alloc postrun"));
}

TEST_F(AgentWithHooks, ABlockIsSupportedWhenAHookSaysSo) {
  start();
  v1::Task web = task("web");
  web.add_artifacts()->set_getter_source("http://x");
  until_status(place({web}), v1::CLIENT_STATUS_RUNNING);
  web.add_templates();
  EXPECT_EQ("this client does not support the block template",
            until_status(place({web}), v1::CLIENT_STATUS_FAILED).task_states().at("web").events(2).setup_error());
}

TEST_F(AgentWithHooks, HooksThatWaitForEachOtherKeepTheAgentFromStarting) {
  struct Circular final : TaskHook {
    HookInfo info() const override { return {.name = "circular", .after = {"logs"}, .before = {"environment"}}; }
    std::unique_ptr<Part> attach(HookedTask&, HookState&) override { return nullptr; }
  } circular;
  FakeHost host(folder_, servers_, store_, false);
  FakeDeclarations declarations;
  AgentPlugin agent;
  ASSERT_TRUE(agent.declare(declarations).ok());
  ASSERT_TRUE(declarations.extend<TaskHook>("circular", circular).ok());
  host.extensions = declarations.extensions;
  const Status status = agent.start(host);
  EXPECT_EQ(Code::invalid_argument, status.code());
  EXPECT_NE(std::string::npos, status.message().find("wait for each other")) << status.message();
}

// The one that docs/plugin-author/README.md shows.
class Note final : public TaskHook {
 public:
  HookInfo info() const override { return {.name = "note", .after = {"task_dir"}}; }
  std::unique_ptr<Part> attach(HookedTask& task, HookState&) override { return std::make_unique<Own>(task); }

 private:
  struct Own final : Part {
    explicit Own(HookedTask& t) : task(t) {}
    Status prestart(TaskPrestart& start) override {
      std::ofstream(task.folders().local + "/note") << "started by " << start.environment.at("NOMAD_TASK_NAME");
      (*start.adds.mutable_env())["NOTE"] = "local/note";
      return ok_status();
    }
    HookedTask& task;
  };
};

TEST_F(AgentTest, TheHookOfTheGuideLeavesItsNote) {
  Note note;
  task_hooks_ = {&note};
  start();
  const std::string id = place({task("web")});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  EXPECT_EQ("local/note", driver_.find("web")->config.env().at("NOTE"));
  std::ifstream in(alloc_path(id) + "/web/local/note");
  EXPECT_EQ("started by web", std::string(std::istreambuf_iterator<char>(in), {}));
  stop();  // before the hook is gone
}

TEST_F(AgentTest, ADispatchedJobFindsItsPayload) {
  payload_ = std::string("some\0bytes", 10);
  start();
  v1::Task web = task("web"), bad = task("bad");
  web.mutable_dispatch_payload()->set_file("deep/input.txt");
  bad.mutable_dispatch_payload()->set_file("../../x");
  const std::string id = place({web});
  until_status(id, v1::CLIENT_STATUS_RUNNING);
  std::ifstream in(alloc_path(id) + "/web/local/deep/input.txt", std::ios::binary);
  EXPECT_EQ(payload_, std::string(std::istreambuf_iterator<char>(in), {}));

  const v1::TaskState refused = until_status(place({bad}), v1::CLIENT_STATUS_FAILED).task_states().at("bad");
  EXPECT_EQ("dispatch_payload: dispatch_payload.file \"../../x\" does not name a file in the task's folder",
            refused.events(2).display_message());
}

}  // namespace
}  // namespace drover::agent
