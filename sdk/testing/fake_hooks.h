// For tests of hooks: a task that records what is asked of it, its start, and a hook's state in memory.
#pragma once

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "drover/task_hook.h"
#include "drover/v1/allocation.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::testing {

class FakeState final : public HookState {
 public:
  std::optional<std::string> get(std::string_view key) const override {
    const std::lock_guard lock(mutex_);
    const auto at = values_.find(key);
    return at == values_.end() ? std::nullopt : std::optional(at->second);
  }
  Status put(std::string_view key, std::string value) override {
    const std::lock_guard lock(mutex_);
    values_.erase(std::string(key));
    if (!value.empty()) values_.emplace(key, std::move(value));
    return ok_status();
  }
  bool is_empty() const {
    const std::lock_guard lock(mutex_);
    return values_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> values_;
};

// Its folders are below `folder`, with the task's name; made where the folder has a name.
class FakeTask final : public HookedTask {
 public:
  FakeTask(std::string folder, std::string name, AllocSpecPtr spec)
      : folder_(std::move(folder)), name_(std::move(name)), spec_(std::move(spec)) {
    if (folder_.empty()) return;
    for (const std::string& each : {tasks_.local, tasks_.secrets, alloc_.shared})
      std::filesystem::create_directories(each);
  }
  Uuid allocation() const override { return Uuid::from_bytes(spec()->allocation->id()); }
  const std::string& name() const override { return name_; }
  AllocSpecPtr spec() const override {
    const std::lock_guard lock(mutex_);
    return spec_;
  }
  const AllocFolders& alloc_folders() const override { return alloc_; }
  const TaskFolders& folders() const override { return tasks_; }
  v1::NetworkStatus network_status() const override { return {}; }
  hashicorp::nomad::plugins::drivers::proto::NetworkOverride driver_network() const override { return {}; }
  void tell(v1::TaskEvent event) override { add(event.type() + ": " + event.display_message()); }
  Status restart(std::string reason) override { return add("restart: " + reason), ok_status(); }
  Status signal(const std::string& name) override { return add("signal " + name), signal_status; }
  Status exec(std::vector<std::string> command, bool, ExecStream& caller) const override {
    std::string text = "exec";
    for (const std::string& word : command) text += " " + word;
    add(text);
    hashicorp::nomad::plugins::drivers::proto::ExecTaskStreamingResponse end;
    end.set_exited(true);
    end.mutable_result()->set_exit_code(exit_code);
    (void)caller.send(end);
    return ok_status();
  }
  void fail(v1::TaskEvent event) override { add("fail: " + event.display_message()); }

  // The servers describe it anew.
  void describe(AllocSpecPtr spec) {
    const std::lock_guard lock(mutex_);
    spec_ = std::move(spec);
  }
  // The next thing that was asked; empty after a while.
  std::string next() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(20), [&] { return !calls_.empty(); })) return {};
    std::string call = calls_.front();
    calls_.erase(calls_.begin());
    return call;
  }
  bool is_quiet() const {
    const std::lock_guard lock(mutex_);
    return calls_.empty();
  }

  Status signal_status;
  int exit_code = 0;

 private:
  void add(std::string call) const {
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(call));
    changed_.notify_all();
  }
  const std::string folder_, name_;
  const AllocFolders alloc_{.root = folder_, .shared = folder_ + "/alloc", .logs = folder_ + "/alloc/logs"};
  const TaskFolders tasks_{.root = folder_ + "/" + name_,
                           .local = folder_ + "/" + name_ + "/local",
                           .secrets = folder_ + "/" + name_ + "/secrets"};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  AllocSpecPtr spec_;                        // guarded by mutex_, as the next
  mutable std::vector<std::string> calls_;
};

// A start of a task as its hooks see it.
struct FakeStart {
  Variables environment, node;
  std::stop_source stop;
  hashicorp::nomad::plugins::drivers::proto::TaskConfig adds;  // of the hook that was called last

  Status prestart(TaskHook::Part& part, bool recovered = false) {
    const hashicorp::nomad::plugins::drivers::proto::DriverCapabilities capabilities;
    adds.Clear();
    TaskPrestart start{.capabilities = capabilities,
                       .environment = environment,
                       .node = node,
                       .recovered = recovered,
                       .stop = stop.get_token(),
                       .adds = adds};
    return part.prestart(start);
  }
};

}  // namespace drover::testing
