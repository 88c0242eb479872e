#include "health/check_relay.h"

#include <pthread.h>

#include "drover/check_provider.h"
#include "drover/log.h"
#include "drover/pause.h"
#include "drover/v1/check_provider.pb.h"
#include "services/registration.h"

namespace drover::consul {
namespace {

const char* word_of(v1::CheckResult::Status status) {
  if (status == v1::CheckResult::PASSING) return "passing";
  return status == v1::CheckResult::WARNING ? "warning" : "critical";
}

}  // namespace

Result<v1::CheckResult> result_of(const KnownCheck& check) {
  if (check.status == "passing") return check::passing(check.output);
  if (check.status == "warning") return check::warning(check.output);
  // A new check is critical, and says nothing, until Consul has run it.
  if (check.output.empty()) return failed_precondition("Consul has not run the check yet");
  return check::critical(check.output);
}

void CheckRelay::start(const ConsulClient& client, Clock& clock) {
  client_ = &client;
  clock_ = &clock;
  thread_ = std::jthread([this](const std::stop_token& stop) { work(stop); });
}

void CheckRelay::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void CheckRelay::look_soon(const std::set<std::string>& namespaces) {
  const MutexLock lock(mutex_);
  namespaces_ = namespaces;
  is_due_ = asked_.has_value() || !told_.empty();
  if (is_due_) woken_.notify_all();
}

bool CheckRelay::runs(std::string_view type) const { return consul_runs(type); }

Result<v1::CheckResult> CheckRelay::result(const std::string& check) const {
  if (!client_) return unavailable("the agent's configuration has no block \"consul\"");
  const SteadyTime now = clock_->steady();
  const MutexLock lock(mutex_);
  if (!asked_) woken_.notify_all();
  asked_ = now;
  if (!answered_ || now - *answered_ > kFresh) return unavailable(trouble_);
  const auto at = known_.find(check_id(check));
  if (at == known_.end()) return not_found("Consul does not have the check");
  return result_of(at->second);
}

void CheckRelay::tell(const std::string& check, const v1::CheckResult& result) {
  if (!client_) return;
  const MutexLock lock(mutex_);
  told_[check_id(check)] = {.status = word_of(result.status()),
                            .output = check::cut_output(result.output()),
                            .at = clock_->steady(),
                            .turn = ++turn_};
  is_due_ = true;
  woken_.notify_all();
}

void CheckRelay::work(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "consul-checks");
  while (!stop.stop_requested()) {
    {
      MutexLock lock(mutex_);
      woken_.wait(lock, stop, [this]() DROVER_REQUIRES(mutex_) {
        if (asked_ && clock_->steady() - *asked_ > kAskedFor) asked_.reset();
        return is_due_ || asked_ || !told_.empty();
      });
      if (stop.stop_requested()) return;
      is_due_ = false;
    }
    look(stop);
    pass_on(stop);
    MutexLock lock(mutex_);
    woken_.wait_for(lock, stop, kEvery, [this]() DROVER_REQUIRES(mutex_) { return is_due_; });
  }
}

void CheckRelay::look(const std::stop_token& stop) {
  std::set<std::string> namespaces;
  {
    const MutexLock lock(mutex_);
    namespaces = namespaces_;
  }
  std::map<std::string, KnownCheck> known;
  for (const std::string& name_space : namespaces) {
    auto found = client_->in(name_space).checks(stop);
    if (found) {
      known.merge(*found);
    } else if (namespaces.size() == 1 || found.status().code() == Code::unavailable) {
      const MutexLock lock(mutex_);
      trouble_ = found.status().message();
      return;
    }
  }
  const MutexLock lock(mutex_);
  answered_ = clock_->steady();
  known_ = std::move(known);
}

void CheckRelay::pass_on(const std::stop_token& stop) {
  struct Due {
    Told told;
    std::string name_space;
  };
  std::map<std::string, Due> all_due;
  {
    const MutexLock lock(mutex_);
    const SteadyTime now = clock_->steady();
    std::erase_if(told_, [&](const auto& row) { return now - row.second.at > kToldFor; });
    for (const auto& [id, told] : told_) {
      if (const auto at = known_.find(id); at != known_.end())
        all_due.emplace(id, Due{.told = told, .name_space = at->second.name_space});
    }
  }
  for (const auto& [id, due] : all_due) {
    const Told& told = due.told;
    const Status status = client_->in(due.name_space).update_check(id, told.status, told.output, stop);
    if (!status.ok()) {
      log::debug("consul", "a check's result is not told", {{"check", id}, {"error", status.message()}});
      if (status.code() == Code::unavailable || status.code() == Code::cancelled) continue;
    }
    const MutexLock lock(mutex_);
    if (const auto at = told_.find(id); at != told_.end() && at->second.turn == told.turn) told_.erase(at);
  }
}

}  // namespace drover::consul
