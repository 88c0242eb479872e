#include "node/revoker.h"

#include <algorithm>

#include "drover/log.h"
#include "token/token_life.h"
#include "vault_state.pb.h"

namespace drover::vault {
namespace {

using namespace std::chrono_literals;

constexpr char kRows[] = "revoke/";
constexpr std::chrono::nanoseconds kFirstPause = 5s, kLongestPause = 5min;

bool is_over(const KeptToken& token, int64_t now) {
  return token.lease() > 0 && now >= token.granted_at() + token.lease();
}

}  // namespace

Status Revoker::start(Host& host, const VaultClient& client) {
  host_ = &host;
  client_ = &client;
  DROVER_TRY(auto rows, host.local_store().list(kRows));
  for (auto& [key, row] : rows) try_later(key, row, 0s, kFirstPause);
  return ok_status();
}

Status Revoker::revoke(const KeptToken& token) {
  const std::string key = kRows + Uuid::random().to_string();
  std::string row = serialize(token);
  const LocalStore::Write write{.key = key, .value = row};
  DROVER_RETURN_IF_ERROR(host_->local_store().write(std::span(&write, 1)));
  try_later(key, std::move(row), 0s, kFirstPause);
  return ok_status();
}

void Revoker::try_later(std::string key, std::string row, std::chrono::nanoseconds after,
                        std::chrono::nanoseconds next) {
  host_->post_after(after, [this, key = std::move(key), row = std::move(row), next] { try_now(key, row, next); });
}

void Revoker::try_now(const std::string& key, const std::string& row, std::chrono::nanoseconds next) {
  const auto token = parse_message<KeptToken>(row);
  if (!token || is_over(*token, host_->clock().wall_ns())) return forget(key);
  const Status status =
      client_->revoke_token({.name_space = token->namespace_(), .token = token->token()}, stop_.get_token());
  if (status.ok() || has_ended(status)) return forget(key);
  if (stop_.stop_requested()) return;
  log::warn("vault", "a token is not revoked yet", {{"error", status.message()}});
  try_later(key, row, next, std::min(next * 2, kLongestPause));
}

void Revoker::forget(const std::string& key) {
  const LocalStore::Write write{.key = key, .value = std::nullopt};
  if (const Status status = host_->local_store().write(std::span(&write, 1)); !status.ok())
    log::warn("vault", "a revoked token is not forgotten", {{"error", status.message()}});
}

}  // namespace drover::vault
