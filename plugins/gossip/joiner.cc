#include "joiner.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "drover/log.h"
#include "drover/mutex.h"

namespace drover::gossip {
namespace {

constexpr auto kJoinTime = std::chrono::seconds(8);  // more than an exchange may take
constexpr std::string_view kPrefix = "server/";      // of the keys: server/<identifier> → gossip address
constexpr size_t kRemembered = 64;                   // enough to find everybody else by

}  // namespace

Joiner::Outcome Joiner::join_now(const std::vector<std::string>& addresses) {
  struct Waiter {
    Mutex mutex;
    CondVar answered;
    std::optional<Outcome> outcome DROVER_GUARDED_BY(mutex);
  };
  auto waiter = std::make_shared<Waiter>();
  network_.join(addresses, [waiter](size_t count, std::string errors) {
    MutexLock lock(waiter->mutex);
    waiter->outcome = Outcome{.joined = count, .errors = std::move(errors)};
    waiter->answered.notify_all();
  });
  MutexLock lock(waiter->mutex);
  waiter->answered.wait_until(lock, host_.clock().steady() + kJoinTime,
                              [&]() DROVER_REQUIRES(waiter->mutex) { return waiter->outcome.has_value(); });
  Outcome outcome = waiter->outcome.value_or(Outcome{.errors = "no answer within 8 seconds"});
  if (outcome.joined == 0 && outcome.errors.empty()) outcome.errors = "only this server itself answers";
  return outcome;
}

struct Joiner::Attempts {
  std::vector<std::string> addresses;
  std::chrono::nanoseconds interval{};
  int64_t limit = 0;
  int64_t made = 0;
};

void Joiner::keep_trying(std::vector<std::string> addresses, const Settings& settings) {
  attempt(std::make_shared<Attempts>(
      Attempts{.addresses = std::move(addresses), .interval = settings.retry_interval, .limit = settings.retry_max}));
}

void Joiner::attempt(const std::shared_ptr<Attempts>& attempts) {
  ++attempts->made;
  network_.join(attempts->addresses, [this, attempts](size_t count, const std::string& errors) {
    if (count > 0) {
      log::info("gossip", "joined other servers", {{"servers", count}});
      return;
    }
    if (attempts->limit > 0 && attempts->made >= attempts->limit) {
      log::error("gossip", "no server could be joined; the agent ends, as retry_max asks",
                 {{"attempts", attempts->made}, {"error", errors}});
      kill(getpid(), SIGTERM);  // the orderly way out
      return;
    }
    log::warn("gossip", "no other server could be joined; trying again at the next interval", {{"error", errors}});
    host_.post_after(attempts->interval, [this, attempts] {
      network_.post([this, attempts](Core& core) {
        if (core.live_count() == 1) attempt(attempts);  // else somebody has joined this server meanwhile
      });
    });
  });
}

std::vector<std::string> Joiner::remembered() {
  std::vector<std::string> addresses;
  const auto stored = host_.local_store().list(kPrefix);
  if (!stored) {
    log::warn("gossip", "the servers of before cannot be read", {{"error", stored.status().message()}});
    return addresses;
  }
  for (const auto& [key, address] : *stored) addresses.push_back(address);
  return addresses;
}

void Joiner::remember(const std::vector<Member>& members) {
  std::vector<LocalStore::Write> wanted;
  for (const Member& member : members) {
    if (member.info.id == host_.agent().server_id || member.state >= State::leaving || wanted.size() >= kRemembered)
      continue;
    wanted.push_back({.key = std::string(kPrefix) + member.info.id.to_string(), .value = member.info.address});
  }
  if (wanted.empty()) return;  // alone: those of before may come back
  host_.post([this, wanted = std::move(wanted)]() mutable {
    const auto stored = host_.local_store().list(kPrefix);
    if (!stored) return;
    for (const auto& [key, value] : *stored) {
      const bool stays = std::ranges::any_of(
          wanted, [&, name = std::string_view(key)](const auto& write) { return write.key == name; });
      if (!stays) wanted.push_back({.key = key, .value = std::nullopt});
    }
    if (const Status status = host_.local_store().write(wanted); !status.ok())
      log::warn("gossip", "the servers cannot be remembered", {{"error", status.message()}});
  });
}

void Joiner::forget() {
  std::vector<LocalStore::Write> writes;
  if (const auto stored = host_.local_store().list(kPrefix)) {
    for (const auto& [key, value] : *stored) writes.push_back({.key = key, .value = std::nullopt});
  }
  if (const Status status = host_.local_store().write(writes); !status.ok())
    log::warn("gossip", "the servers cannot be forgotten", {{"error", status.message()}});
}

}  // namespace drover::gossip
