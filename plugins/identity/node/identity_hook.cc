#include "node/identity_hook.h"

#include <algorithm>
#include <atomic>
#include <charconv>

#include "drover/log.h"
#include "drover/mutex.h"
#include "drover/pause.h"
#include "drover/task_files.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "identity.pb.h"
#include "node/given.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::identity {
namespace {

using namespace std::chrono_literals;

constexpr auto kAgain = 2s;      // after the servers gave no token
constexpr char kRenewAt[] = "renew_at";  // in the hook's state: nanoseconds since 1970
constexpr auto kTellAfter = 5s;  // that there is none yet

// The things to do to a task whose token has become another.
struct Change {
  bool restarts = false;
  std::vector<std::string> signals;
};

void add_change(const v1::Identity& identity, Change& change) {
  if (identity.change_mode() == "restart") change.restarts = true;
  if (identity.change_mode() == "signal") change.signals.push_back(identity.change_signal());
}

class IdentityPart final : public TaskHook::Part {
 public:
  IdentityPart(Host& host, const Signing& signing, HookedTask& task, HookState& state)
      : host_(host), signing_(signing), task_(task), state_(state), acting_(std::make_shared<Acting>()) {
    acting_->part = this;
  }
  ~IdentityPart() override { end(); }

  // A task that runs already has its tokens; the state says when they are renewed.
  Status prestart(TaskPrestart& start) override {
    {
      const MutexLock lock(mutex_);
      files_ = std::make_shared<TaskFiles>(
          task_file_folders(task_.alloc_folders(), task_.folders(), start.environment), /*is_closed=*/true);
    }
    if (wanted().empty() || start.recovered) return ok_status();
    DROVER_TRY(const v1::SignIdentitiesResponse tokens, first_tokens(start.stop));
    for (const v1::SignedIdentity& one : tokens.identities()) {
      const auto identity = identity_named(one.name());
      if (identity && identity->env()) (*start.adds.mutable_env())[variable_of(*identity)] = one.token();
    }
    DROVER_RETURN_IF_ERROR(write(tokens).status());
    return remember(tokens);
  }

  Status poststart() override {
    if (const auto due = renewal_due()) renew_after(*due, /*acts=*/true);
    return ok_status();
  }
  // The job was updated in place: its files are written anew, the variables of the running task stay.
  Status update() override {
    if (!wanted().empty()) renew_after(std::chrono::nanoseconds(0), /*acts=*/false);
    return ok_status();
  }
  Status stop() override { return end(), ok_status(); }
  void shutdown() override { end(); }

 private:
  // Later calls hold this of the part: they may come when it is gone.
  struct Acting {
    Mutex mutex;  // held while the part acts
    IdentityPart* part DROVER_GUARDED_BY(mutex) = nullptr;
  };

  void end() {
    stop_.request_stop();
    const MutexLock lock(acting_->mutex);
    acting_->part = nullptr;
  }
  int64_t now() const { return host_.clock().wall_ns(); }

  std::vector<v1::Identity> wanted() const {
    const AllocSpecPtr spec = task_.spec();
    const v1::Task* task = spec->task(task_.name());
    return task ? shown_identities(*task) : std::vector<v1::Identity>();
  }
  std::optional<v1::Identity> identity_named(const std::string& name) const {
    std::optional<v1::Identity> found;
    for (v1::Identity& one : wanted()) {
      if (one.name() == name) found = std::move(one);
    }
    return found;
  }

  Result<v1::SignIdentitiesResponse> ask(std::stop_token stop, bool only_those_that_end = false) {
    std::vector<std::string> names;
    for (const v1::Identity& one : wanted()) {
      if (one.ttl() > 0 || !only_those_that_end) names.push_back(one.name());
    }
    return signing_.ask(task_.allocation(), task_.name(), names, std::move(stop));
  }

  // Waits until the servers have signed. A refusal ends it: it would come again.
  Result<v1::SignIdentitiesResponse> first_tokens(const std::stop_token& stop) {
    const SteadyTime tell_at = host_.clock().steady() + kTellAfter;
    for (bool is_told = false;;) {
      auto tokens = ask(stop);
      const Code code = tokens.status().code();
      if (tokens || code == Code::permission_denied || code == Code::not_found || code == Code::invalid_argument)
        return tokens;
      if (!is_told && host_.clock().steady() >= tell_at) {
        is_told = true;
        task_.tell(task_event(now(), "Identity", "Waiting for the task's identity: " + tokens.status().message()));
      }
      if (!pause_for(kAgain, stop)) return cancelled("the task is to end");
    }
  }

  // Says what is to be done about the new tokens.
  Result<Change> write(const v1::SignIdentitiesResponse& tokens) {
    std::shared_ptr<TaskFiles> files;
    {
      const MutexLock lock(mutex_);
      files = files_;
    }
    Change change;
    for (const v1::SignedIdentity& one : tokens.identities()) {
      const auto identity = identity_named(one.name());
      if (!identity) continue;
      if (identity->file() && files)
        DROVER_RETURN_IF_ERROR(files->write_secret(file_of(*identity), one.token()));
      add_change(*identity, change);
    }
    return change;
  }

  // Keeps when the first of them is to be renewed; nothing where no token ends.
  Status remember(const v1::SignIdentitiesResponse& tokens) {
    int64_t due = 0;
    for (const v1::SignedIdentity& one : tokens.identities()) {
      if (one.expires_at() == 0) continue;
      const int64_t at = now() + until_renewal(one.expires_at(), now()).count();
      due = due == 0 ? at : std::min(due, at);
    }
    return state_.put(kRenewAt, due == 0 ? "" : std::to_string(due));
  }
  std::optional<std::chrono::nanoseconds> renewal_due() const {
    const auto kept = state_.get(kRenewAt);
    int64_t at = 0;
    if (!kept || std::from_chars(kept->data(), kept->data() + kept->size(), at).ec != std::errc()) return std::nullopt;
    return std::max<std::chrono::nanoseconds>(kAgain, std::chrono::nanoseconds(at - now()));
  }

  // Takes the place of a renewal that is due later.
  void renew_after(std::chrono::nanoseconds delay, bool acts) {
    const uint64_t turn = ++turn_;
    host_.post_after(delay, [acting = acting_, turn, acts] {
      const MutexLock lock(acting->mutex);
      if (acting->part && acting->part->turn_ == turn) acting->part->renew(acts);
    });
  }

  // [a thread that may wait]
  void renew(bool acts) {
    const auto tokens = ask(stop_.get_token(), /*only_those_that_end=*/acts);
    const auto change = tokens ? write(*tokens) : Result<Change>(tokens.status());
    if (!change) {
      log::warn("identity", "a task's token is not renewed yet",
                {{"alloc", task_.allocation().to_string()}, {"task", task_.name()}, {"error", change.status().message()}});
      return renew_after(kAgain, acts);
    }
    if (const Status kept = remember(*tokens); !kept.ok())
      log::warn("identity", "the time of a renewal is not kept", {{"error", kept.message()}});
    if (acts) act(*change);
    if (const auto due = renewal_due()) renew_after(*due, /*acts=*/true);
  }

  void act(const Change& change) {
    if (change.restarts) {
      (void)task_.restart("Identity: a new token");
      return;
    }
    for (const std::string& signal : change.signals) {
      if (const Status status = task_.signal(signal); !status.ok())
        task_.tell(task_event(now(), "Identity", "The signal " + signal + " failed: " + status.message()));
    }
  }

  Host& host_;
  const Signing& signing_;
  HookedTask& task_;
  HookState& state_;
  std::stop_source stop_;
  std::atomic<uint64_t> turn_{0};  // of the renewal that counts
  Mutex mutex_;
  std::shared_ptr<TaskFiles> files_ DROVER_GUARDED_BY(mutex_);
  const std::shared_ptr<Acting> acting_;
};

}  // namespace

std::unique_ptr<TaskHook::Part> IdentityHook::attach(HookedTask& task, HookState& state) {
  const v1::Task* described = task.spec()->task(task.name());
  if (!described || shown_identities(*described).empty()) return nullptr;
  return std::make_unique<IdentityPart>(*host_, signing_, task, state);
}

}  // namespace drover::identity
