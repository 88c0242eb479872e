// A node with a task that uses a fake Vault, for tests: timers run when the test says so.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include "drover/task_tokens.h"
#include "drover/v1/job.pb.h"
#include "node/vault_hook.h"
#include "sdk/testing/fake_hooks.h"
#include "sdk/testing/fake_host.h"
#include "testing/fake_vault.h"

namespace drover::vault {

class MemoryStore final : public LocalStore {
 public:
  Result<std::optional<std::string>> get(std::string_view key) override {
    const std::lock_guard lock(mutex_);
    const auto at = rows_.find(key);
    return at == rows_.end() ? std::nullopt : std::optional(at->second);
  }
  Status write(std::span<const Write> writes) override {
    const std::lock_guard lock(mutex_);
    for (const Write& each : writes) {
      rows_.erase(each.key);
      if (each.value) rows_.emplace(each.key, *each.value);
    }
    return ok_status();
  }
  Result<std::vector<std::pair<std::string, std::string>>> list(std::string_view prefix) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<std::string, std::string>> found;
    for (const auto& [key, row] : rows_) {
      if (key.starts_with(prefix)) found.emplace_back(key, row);
    }
    return found;
  }
  bool is_empty() const {
    const std::lock_guard lock(mutex_);
    return rows_.empty();
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> rows_;  // guarded by mutex_
};

class VaultHost final : public testing::FakeHost {
 public:
  LocalStore& local_store() override { return store; }
  MemoryStore store;
};

class FakeTokens final : public TaskTokens {
 public:
  Result<Token> sign(const Uuid&, const std::string& task, const std::string& identity,
                     std::stop_token) const override {
    DROVER_RETURN_IF_ERROR(answer);
    return Token{.jwt = task + "/" + identity};
  }
  Status answer;
};

class VaultNode : public ::testing::Test {
 protected:
  VaultNode() {
    EXPECT_TRUE(host_.rows().extend<TaskTokens>("identity", tokens_).ok());
    host_.delay_tasks();
    config_.is_enabled = true;
    config_.address = vault_.address();
    config_.auth_path = "jwt-nomad";
    config_.role = "nomad-workloads";
    block_.set_env(true);
    block_.set_cluster("default");
    block_.set_change_mode("restart");
    block_.set_change_signal("SIGHUP");
    client_.emplace(config_);
    EXPECT_TRUE(revoker_.start(host_, *client_).ok());
    hook_.start({.host = host_, .config = config_, .client = *client_, .vaults = vaults_, .revoker = revoker_});
  }
  ~VaultNode() override {
    part_.reset();
    std::filesystem::remove_all(folder_);
  }

  void attach() {
    auto job = std::make_shared<v1::Job>();
    v1::TaskGroup& group = *job->add_task_groups();
    group.set_name("front");
    v1::Task& task = *group.add_tasks();
    task.set_name("web");
    *task.mutable_vault() = block_;
    v1::Allocation allocation;
    allocation.set_id(std::string(16, 'a'));
    allocation.set_task_group("front");
    if (!task_) task_.emplace(folder_, "web", std::make_shared<AllocSpec>(allocation, std::move(job)));
    part_ = hook_.attach(*task_, state_);
  }
  Status start() {
    attach();
    DROVER_RETURN_IF_ERROR(start_.prestart(*part_));
    return part_->poststart();
  }
  std::string variable(const std::string& name) const {
    const auto at = start_.adds.env().find(name);
    return at == start_.adds.env().end() ? "" : at->second;
  }
  std::string file() const {
    std::ifstream file(folder_ + "/web/secrets/vault_token");
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string folder_ = std::filesystem::path(::testing::TempDir()) / ("vault." + std::to_string(::getpid()));
  testing::FakeVault vault_;
  VaultHost host_;
  testing::FakeStart start_{.environment = {{"NOMAD_SECRETS_DIR", "/secrets"}, {"NOMAD_TASK_DIR", "/local"}}};
  testing::FakeState state_;
  FakeTokens tokens_;
  v1::Vault block_;
  Config config_;
  std::optional<VaultClient> client_;
  TaskVaults vaults_;
  Revoker revoker_;
  VaultHook hook_;
  std::optional<testing::FakeTask> task_;
  std::unique_ptr<TaskHook::Part> part_;
};

}  // namespace drover::vault
