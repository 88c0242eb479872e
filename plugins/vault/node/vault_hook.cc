#include "node/vault_hook.h"

#include <atomic>
#include <random>

#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/mutex.h"
#include "drover/pause.h"
#include "drover/task_files.h"
#include "drover/task_tokens.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"
#include "token/token_life.h"
#include "vault_state.pb.h"

namespace drover::vault {
namespace {

using namespace std::chrono_literals;
using Step = TokenLife::Step;

constexpr auto kTellAfter = 5s;  // that there is no token yet
constexpr char kToken[] = "token";  // in the hook's state
constexpr char kFile[] = "secrets/vault_token";
constexpr char kNewToken[] = "Vault: new Vault token acquired";

double chance() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(random);
}

// A failure, and which side it is of.
Status of_servers(const Status& failure) {
  return {failure.code(), "Vault: server failed to derive vault token: " + failure.message()};
}
Status of_vault(const Status& failure) {
  return {failure.code(), "Vault: failed to derive vault token: " + failure.message()};
}

class VaultPart final : public TaskHook::Part {
 public:
  VaultPart(const VaultHook::Means& means, HookedTask& task, HookState& state)
      : host_(means.host),
        config_(means.config),
        client_(means.client),
        revoker_(means.revoker),
        task_(task),
        state_(state),
        block_(task.spec()->task(task.name())->vault()),
        vault_(means.vaults.of(task.allocation(), task.name())),
        life_(block_.allow_token_expiration()),
        acting_(std::make_shared<Acting>()) {
    acting_->part = this;
  }
  ~VaultPart() override { end(); }

  Status prestart(TaskPrestart& start) override {
    if (!config_.is_enabled)
      return failed_precondition(
          "Vault is not enabled on this node: its agent's configuration needs vault { enabled = true }");
    {
      const MutexLock lock(mutex_);
      files_ = std::make_shared<TaskFiles>(
          task_file_folders(task_.alloc_folders(), task_.folders(), start.environment), /*is_closed=*/true);
    }
    if (!has_token_) DROVER_RETURN_IF_ERROR(first_token(start));
    has_token_ = true;
    const Session session = vault_->session();
    if (!start.recovered) DROVER_RETURN_IF_ERROR(write_file(session.token));
    given_ = session.token;
    if (!block_.env()) return ok_status();
    auto& env = *start.adds.mutable_env();
    env["VAULT_TOKEN"] = session.token;
    if (!session.name_space.empty()) env["VAULT_NAMESPACE"] = session.name_space;
    return ok_status();
  }

  Status poststart() override {
    // Another token may have come between the making of the task's variables and its start.
    const MutexLock lock(acting_->mutex);
    if (vault_->session().token != given_) act();
    return ok_status();
  }

  Status stop() override {
    end();
    const auto kept = kept_token();
    if (!kept) return ok_status();
    DROVER_RETURN_IF_ERROR(revoker_.revoke(*kept));
    return state_.put(kToken, "");
  }
  void shutdown() override { end(); }

 private:
  // Later calls hold this of the part: they may come when it is gone.
  struct Acting {
    Mutex mutex;  // held while the part acts
    VaultPart* part DROVER_GUARDED_BY(mutex) = nullptr;
  };

  void end() {
    stop_.request_stop();
    const MutexLock lock(acting_->mutex);
    acting_->part = nullptr;
  }
  int64_t now() const { return host_.clock().wall_ns(); }

  std::string name_space() const {
    return block_.has_namespace_() && !block_.namespace_().empty() ? block_.namespace_() : config_.name_space;
  }
  const std::string& role() const { return block_.role().empty() ? config_.role : block_.role(); }

  std::optional<KeptToken> kept_token() const {
    const auto row = state_.get(kToken);
    if (!row) return std::nullopt;
    auto kept = parse_message<KeptToken>(*row);
    return kept ? std::optional(*std::move(kept)) : std::nullopt;
  }
  Status keep(const std::string& token, const Lease& lease) {
    KeptToken kept;
    kept.set_token(token);
    kept.set_namespace_(name_space());
    kept.set_lease(lease.duration.count());
    kept.set_renewable(lease.is_renewable);
    kept.set_granted_at(now());
    return state_.put(kToken, serialize(kept));
  }

  // --- before the first start

  Status first_token(const TaskPrestart& start) {
    if (const auto kept = kept_token()) {
      const Lease lease{std::chrono::nanoseconds(kept->lease()), kept->renewable()};
      vault_->put({.name_space = kept->namespace_(), .token = kept->token()});
      const TokenLife::Next next = life_.found_again(lease, kept->granted_at(), now());
      // A task that runs goes on with its token; one that starts shall not begin with one that is gone.
      if (start.recovered || next.step != Step::renew) return later(next), ok_status();
      const auto renewed = client_.renew_token(vault_->session(), life_.first_lease(), start.stop);
      if (renewed) return take_renewed(*renewed);
      if (!has_ended(renewed.status())) return later(life_.not_renewed(renewed.status(), now())), ok_status();
    }
    return obtain_first(start.stop);
  }

  Status obtain_first(const std::stop_token& stop) {
    const SteadyTime tell_at = host_.clock().steady() + kTellAfter;
    for (bool is_told = false;;) {
      const auto login = log_in(stop);
      if (login) return take_new(*login);
      if (stop.stop_requested()) return cancelled("the task is to end");
      const TokenLife::Next next = life_.not_obtained(login.status());
      if (next.step == Step::give_up) {
        fail(login.status().message());
        return cancelled("the task has failed");
      }
      if (!is_told && host_.clock().steady() + next.after >= tell_at) {
        is_told = true;
        task_.tell(task_event(now(), "Vault", "Waiting for a token: " + login.status().message()));
      }
      if (!pause_for(next.after, stop)) return cancelled("the task is to end");
    }
  }

  // --- both before and beside the running task

  Result<Login> log_in(const std::stop_token& stop) {
    const TaskTokens* tokens = host_.extension<TaskTokens>("identity");
    if (!tokens) return of_servers(failed_precondition("this agent runs without the plugin identity"));
    const std::string identity = "vault_" + (block_.cluster().empty() ? std::string("default") : block_.cluster());
    const auto signed_one = tokens->sign(task_.allocation(), task_.name(), identity, stop);
    if (!signed_one) return of_servers(signed_one.status());
    auto login = client_.log_in(name_space(), role(), signed_one->jwt, stop);
    if (!login) return of_vault(login.status());
    return login;
  }

  Status take_new(const Login& login) {
    vault_->put({.name_space = name_space(), .token = login.token});
    later(life_.obtained(login.lease, now(), chance()));
    return keep(login.token, login.lease);
  }
  Status take_renewed(const Lease& lease) {
    later(life_.renewed(lease, now(), chance()));
    return keep(vault_->session().token, lease);
  }

  // Takes the place of a step that is due later.
  void later(const TokenLife::Next& next) {
    const uint64_t turn = ++turn_;
    if (next.step != Step::renew && next.step != Step::obtain) return;
    host_.post_after(next.after, [acting = acting_, turn, step = next.step] {
      const MutexLock lock(acting->mutex);
      if (!acting->part || acting->part->turn_ != turn) return;
      step == Step::renew ? acting->part->renew() : acting->part->replace();
    });
  }

  // [a thread that may wait, the part acts]
  void renew() {
    const auto lease = client_.renew_token(vault_->session(), life_.first_lease(), stop_.get_token());
    if (lease) return note(take_renewed(*lease));
    if (stop_.stop_requested()) return;
    const TokenLife::Next next = life_.not_renewed(lease.status(), now());
    const bool has_come_to_its_end = next.step == Step::obtain;
    host_.metrics().add(has_come_to_its_end ? "client.vault.renew_token_failure" : "client.vault.renew_token_error");
    warn(has_come_to_its_end ? "a token's renewal has come to its end" : "a token is not renewed yet", lease.status());
    later(next);
  }

  void replace() {
    const auto login = log_in(stop_.get_token());
    if (stop_.stop_requested()) {
      // One that came in the last moment has no other way to be revoked.
      if (login) note(revoke(login->token, login->lease));
      return;
    }
    if (!login) {
      const TokenLife::Next next = life_.not_obtained(login.status());
      if (next.step == Step::give_up) return fail(login.status().message());
      warn("a task has no new token yet", login.status());
      return later(next);
    }
    const auto former = kept_token();
    note(take_new(*login));
    note(write_file(login->token));
    if (former) note(revoker_.revoke(*former));
    act();
  }

  Status revoke(const std::string& token, const Lease& lease) {
    KeptToken kept;
    kept.set_token(token);
    kept.set_namespace_(name_space());
    kept.set_lease(lease.duration.count());
    kept.set_granted_at(now());
    return revoker_.revoke(kept);
  }

  void act() {
    if (block_.change_mode() == "restart") (void)task_.restart(kNewToken);  // one that does not run starts with it
    if (block_.change_mode() != "signal") return;
    const Status status = task_.signal(block_.change_signal());
    if (status.ok() || status.code() == Code::failed_precondition) return;
    fail("Vault: failed to send signal: " + status.message());
  }

  Status write_file(const std::string& token) {
    if (block_.disable_file()) return ok_status();
    std::shared_ptr<TaskFiles> files;
    {
      const MutexLock lock(mutex_);
      files = files_;
    }
    return files ? files->write_secret(kFile, token) : ok_status();
  }

  void fail(const std::string& why) {
    v1::TaskEvent event = task_event(now(), "Killing", why);
    event.set_kill_reason(why);
    event.set_fails_task(true);
    (*event.mutable_details())["kill_reason"] = why;
    (*event.mutable_details())["fails_task"] = "true";
    task_.fail(std::move(event));
  }
  void note(const Status& status) const {
    if (!status.ok()) warn("a token is not kept", status);
  }
  void warn(const char* what, const Status& why) const {
    log::warn("vault", what,
              {{"alloc", task_.allocation().to_string()}, {"task", task_.name()}, {"error", why.message()}});
  }

  Host& host_;
  const Config& config_;
  const VaultClient& client_;
  Revoker& revoker_;
  HookedTask& task_;
  HookState& state_;
  const v1::Vault block_;  // another one would be another task
  const std::shared_ptr<TaskVault> vault_;
  std::stop_source stop_;
  std::atomic<uint64_t> turn_{0};  // of the step that counts
  bool has_token_ = false;         // [the task's calls]
  std::string given_;              // that the task was started with; [the task's calls]
  TokenLife life_;                 // of the first prestart, then of whoever acts
  Mutex mutex_;
  std::shared_ptr<TaskFiles> files_ DROVER_GUARDED_BY(mutex_);
  const std::shared_ptr<Acting> acting_;
};

}  // namespace

std::unique_ptr<TaskHook::Part> VaultHook::attach(HookedTask& task, HookState& state) {
  if (!task.spec()->task(task.name())->has_vault()) return nullptr;
  return std::make_unique<VaultPart>(*means_, task, state);
}

}  // namespace drover::vault
