#include "tokens/task_tokens.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config.h"
#include "drover/log.h"
#include "drover/pause.h"
#include "drover/task_files.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::consul {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr auto kAgain = 2s;      // after there was no token
constexpr auto kTellAfter = 5s;  // that there is none yet
constexpr char kToken[] = "token";
constexpr char kFile[] = "secrets/consul_token";
constexpr std::string_view kLogouts = "logout/";

bool may_pass(const Status& status) {
  return status.code() == Code::unavailable || status.code() == Code::deadline_exceeded ||
         status.code() == Code::resource_exhausted;
}

class TokenPart final : public TaskHook::Part {
 public:
  TokenPart(const TokenSetup& setup, HookedTask& task, HookState& state) : setup_(setup), task_(task), state_(state) {}
  ~TokenPart() override { setup_.known->remove(task_); }

  Status prestart(TaskPrestart& start) override {
    std::string token = state_.get(kToken).value_or("");
    if (!token.empty() && !start.recovered && is_forgotten(token, start.stop)) token.clear();
    if (token.empty() && start.recovered) return ok_status();  // it runs without one until its next start
    if (token.empty()) {
      DROVER_TRY(token, first_token(start.stop));
    }
    setup_.known->put(task_, token);
    if (start.recovered) return ok_status();
    for (const char* variable : {"CONSUL_TOKEN", "CONSUL_HTTP_TOKEN"}) (*start.adds.mutable_env())[variable] = token;
    return write(token, start.environment);
  }

  Status stop() override {
    const std::string token = state_.get(kToken).value_or("");
    setup_.known->remove(task_);
    if (token.empty()) return ok_status();
    DROVER_RETURN_IF_ERROR(setup_.logouts->add(token));
    return state_.put(kToken, "");
  }

 private:
  // True when Consul says so; while it says nothing, what is kept counts.
  bool is_forgotten(const std::string& token, const std::stop_token& stop) const {
    const auto known = setup_.client->call("GET", "/v1/acl/token/self", "", token, stop);
    return known.status().code() == Code::permission_denied || known.status().code() == Code::not_found;
  }

  Result<std::string> log_in(const std::stop_token& stop) const {
    const TaskTokens* identities = setup_.identities();
    if (!identities) return failed_precondition("no plugin of this node signs the identities of tasks");
    DROVER_TRY(const TaskTokens::Token identity,
               identities->sign(task_.allocation(), task_.name(), kTaskIdentity, stop));
    const Json body = {{"AuthMethod", setup_.auth_method},
                       {"BearerToken", identity.jwt},
                       {"Meta", {{"requested_by", "nomad_task_" + task_.name()}}}};
    const std::string text = body.dump(-1, ' ', false, Json::error_handler_t::replace);
    auto answer = setup_.client->call("POST", "/v1/acl/login", text, "", stop);
    if (!answer) return answer.status().with_context("Consul's auth method \"" + setup_.auth_method + "\"");
    const Json given = Json::parse(*answer, nullptr, false);
    if (!given.is_object() || !given.contains("SecretID") || !given["SecretID"].is_string())
      return unavailable("Consul's answer to the login has no token");
    return given["SecretID"].get<std::string>();
  }

  // Waits until there is one. A refusal ends it: it would come again.
  Result<std::string> first_token(const std::stop_token& stop) {
    const SteadyTime tell_at = setup_.host->clock().steady() + kTellAfter;
    for (bool is_told = false;;) {
      auto token = log_in(stop);
      if (token) {
        DROVER_RETURN_IF_ERROR(state_.put(kToken, *token));
        return token;
      }
      if (!may_pass(token.status())) return token;
      if (!is_told && setup_.host->clock().steady() >= tell_at) {
        is_told = true;
        task_.tell(task_event(setup_.host->clock().wall_ns(), "Consul",
                              "Waiting for the task's token for Consul: " + token.status().message()));
      }
      if (!pause_for(kAgain, stop)) return cancelled("the task is to end");
    }
  }

  Status write(const std::string& token, const Variables& environment) const {
    const TaskFiles files(task_file_folders(task_.alloc_folders(), task_.folders(), environment), /*is_closed=*/true);
    return files.write_secret(kFile, token);
  }

  const TokenSetup& setup_;
  HookedTask& task_;
  HookState& state_;
};

}  // namespace

void KnownTokens::put(const HookedTask& task, std::string token) {
  const MutexLock lock(mutex_);
  tokens_[{task.allocation(), task.name()}] = std::move(token);
}

void KnownTokens::remove(const HookedTask& task) {
  const MutexLock lock(mutex_);
  tokens_.erase({task.allocation(), task.name()});
}

std::string KnownTokens::of(const HookedTask& task) const {
  const MutexLock lock(mutex_);
  const auto at = tokens_.find({task.allocation(), task.name()});
  return at == tokens_.end() ? std::string() : at->second;
}

void Logouts::start(Host& host, std::shared_ptr<const ConsulClient> client) {
  host_ = &host;
  client_ = std::move(client);
  const auto left = host.local_store().list(kLogouts);
  if (!left) return log::warn("consul", "tokens to end are not found", {{"error", left.status().message()}});
  for (const auto& [key, token] : *left) host.post([this, key, token] { attempt(key, token); });
}

Status Logouts::add(const std::string& token) {
  const std::string key = std::string(kLogouts) + Uuid::random().to_string();
  const LocalStore::Write write{.key = key, .value = token};
  DROVER_RETURN_IF_ERROR(host_->local_store().write({&write, 1}));
  host_->post([this, key, token] { attempt(key, token); });
  return ok_status();
}

// [a thread that may wait]
void Logouts::attempt(const std::string& key, const std::string& token) {
  const Status status = client_->call("POST", "/v1/acl/logout", "", token, stop_.get_token()).status();
  const bool is_over = status.ok() || status.code() == Code::permission_denied || status.code() == Code::not_found;
  if (is_over) {
    const LocalStore::Write write{.key = key, .value = std::nullopt};
    if (const Status removed = host_->local_store().write({&write, 1}); !removed.ok())
      log::warn("consul", "a token that has ended is kept", {{"error", removed.message()}});
    return;
  }
  if (stop_.stop_requested()) return;
  log::warn("consul", "a task's token is not ended yet", {{"error", status.message()}});
  host_->post_after(Logouts::kAgain, [this, key, token] { attempt(key, token); });
}

std::unique_ptr<TaskHook::Part> ConsulTokenHook::attach(HookedTask& task, HookState& state) {
  if (!setup_.client) return nullptr;
  const v1::Task* described = task.spec()->task(task.name());
  if (!described) return nullptr;
  const bool has_identity = std::ranges::any_of(
      described->identities(), [](const v1::Identity& each) { return each.name() == kTaskIdentity; });
  return has_identity ? std::make_unique<TokenPart>(setup_, task, state) : nullptr;
}

}  // namespace drover::consul
