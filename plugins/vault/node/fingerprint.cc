#include "node/fingerprint.h"

#include <random>

#include "drover/log.h"
#include "drover/v1/node.pb.h"

namespace drover::vault {
namespace {

using namespace std::chrono_literals;

constexpr auto kUntilSeen = 15s;
constexpr auto kOnceSeen = 30s;
constexpr auto kSpread = 90s;  // nodes do not ask all at once

std::chrono::nanoseconds spread() {
  thread_local std::mt19937_64 random{std::random_device{}()};
  return kOnceSeen + std::chrono::nanoseconds(random() % std::chrono::nanoseconds(kSpread).count());
}

bool is_same(const std::optional<SealStatus>& one, const std::optional<SealStatus>& other) {
  if (!one || !other) return !one == !other;
  return one->version == other->version && one->cluster_id == other->cluster_id &&
         one->cluster_name == other->cluster_name;
}

}  // namespace

void Fingerprint::start(Host& host, const VaultClient& client) {
  host_ = &host;
  client_ = &client;
  host.post([this] { look(); });
}

// [a thread that may wait]
void Fingerprint::look() {
  const auto status = client_->seal_status(stop_.get_token());
  if (stop_.stop_requested()) return;
  std::optional<SealStatus> seen;
  if (status && !status->is_sealed) seen = *status;
  std::function<void()> changed;
  bool was_seen = false;
  {
    const MutexLock lock(mutex_);
    was_seen = seen_.has_value();
    if (!is_same(seen_, seen)) changed = changed_;
    seen_ = seen;
  }
  if (was_seen && !seen) {
    log::warn("vault", "Vault is away: tasks that need it are not placed here",
              {{"error", status ? "it is sealed" : status.status().message()}});
  }
  if (!was_seen && seen) log::info("vault", "Vault answers", {{"version", seen->version}});
  if (changed) changed();
  host_->post_after(seen ? spread() : std::chrono::nanoseconds(kUntilSeen), [this] { look(); });
}

bool Fingerprint::refresh(v1::Node& node) {
  std::optional<SealStatus> seen;
  {
    const MutexLock lock(mutex_);
    seen = seen_;
  }
  auto& attributes = *node.mutable_attributes();
  bool is_changed = false;
  const auto set = [&](const std::string& name, const std::string& value) {
    if (value.empty()) {
      is_changed = attributes.erase(name) > 0 || is_changed;
    } else if (const auto at = attributes.find(name); at == attributes.end() || at->second != value) {
      attributes[name] = value;
      is_changed = true;
    }
  };
  set("vault.accessible", seen ? "true" : "");
  set("vault.version", seen ? seen->version : "");
  set("vault.cluster_id", seen ? seen->cluster_id : "");
  set("vault.cluster_name", seen ? seen->cluster_name : "");
  return is_changed;
}

void Fingerprint::watch(std::function<void()> changed) {
  const MutexLock lock(mutex_);
  changed_ = std::move(changed);
}

}  // namespace drover::vault
