#include "leader.h"

#include "drover/api/keyring.pb.h"
#include "drover/log.h"
#include "drover/pause.h"
#include "keyring.pb.h"
#include "replicator.h"

namespace drover::keyring {
namespace {

using namespace std::chrono_literals;

constexpr auto kLookEvery = 1s;
constexpr auto kProposeTime = 10s;

// For the log.
std::string id_of(const Applied& rotated) {
  const auto key = parse_message<v1::RootKey>(rotated.answer);
  return key ? key_text(key->key_id()) : "";
}

}  // namespace

Leader::Leader(const Tables& tables, const Users& users, Keys& keys) : tables_(tables), users_(users), keys_(keys) {}
Leader::~Leader() = default;

void Leader::run(const std::stop_token& stop) {
  SteadyTime collect_at = host_->clock().steady() + settings_.gc_interval;
  do {
    ensure_active(stop);
    finish_emptying();
    if (host_->clock().steady() < collect_at) continue;
    rotate_or_forget(stop);
    collect_at = host_->clock().steady() + settings_.gc_interval;
  } while (pause_for(kLookEvery, stop));
}

void Leader::ensure_active(const std::stop_token& stop) {
  if (active_key(*host_->snapshot(), tables_)) return;
  const auto made = rotate(false, stop);
  if (made) {
    log::info("keyring", "initialized keyring", {{"id", id_of(*made)}});
  } else if (!stop.stop_requested()) {
    log::warn("keyring", "the first root key is not active yet", {{"error", made.status().message()}});
  }
}

// Errors do not matter: the leader looks again.
void Leader::finish_emptying() {
  const auto view = host_->snapshot();
  for (const std::string& id : keys_.retiring(*view)) {
    if (users_.uses(*view, id, 1) > 0) continue;
    v1::RootKeyEmptied command;
    command.set_key_id(id);
    (void)host_->propose(command, host_->clock().steady() + kProposeTime);
  }
}

void Leader::rotate_or_forget(const std::stop_token& stop) {
  const auto view = host_->snapshot();
  const int64_t now = host_->clock().wall_ns();
  const auto active = active_key(*view, tables_);
  if (active && now - active->create_time() > settings_.rotation_threshold.count()) {
    const auto rotated = rotate(false, stop);
    if (rotated) {
      log::info("keyring", "rotated a root key that was old", {{"id", id_of(*rotated)}});
    } else {
      log::warn("keyring", "an old root key could not be rotated", {{"error", rotated.status().message()}});
    }
    return;
  }
  for (const v1::RootKey& key : tables_.keys.list(*view, kPrimary, KeyRange::all())) {
    if (key.state() != v1::ROOT_KEY_STATE_INACTIVE || now - key.create_time() < settings_.gc_threshold.count())
      continue;
    if (users_.uses(*view, key.key_id(), 1) > 0) continue;
    v1::RootKeyRemoved command;
    command.set_key_id(key.key_id());
    command.set_time(now);
    const Status status = host_->propose(command, host_->clock().steady() + kProposeTime).status();
    log::info("keyring", "forgets a root key that nothing uses",
              {{"id", key_text(key.key_id())}, {"result", status.to_string()}});
  }
}

Result<Applied> Leader::rotate(bool rekey, const std::stop_token& stop) {
  const MutexLock lock(making_);
  const uint64_t term = host_->term();
  if (!made_) made_ = std::make_unique<v1::KeyMaterial>(Material::make(host_->clock().wall_ns()));
  DROVER_RETURN_IF_ERROR(keys_.add(*made_));
  DROVER_RETURN_IF_ERROR(hand_out(*made_, stop));
  v1::RootKeyActivated command;
  command.mutable_key()->set_key_id(made_->key_id());
  command.mutable_key()->set_algorithm(made_->algorithm());
  command.mutable_key()->set_create_time(made_->create_time());
  command.set_rekey(rekey);
  auto applied = host_->propose(command, host_->clock().steady() + kProposeTime, term);
  // Whatever became of the command: the same key is not proposed a second time.
  made_.reset();
  return applied;
}

Status Leader::hand_out(const v1::KeyMaterial& key, const std::stop_token& stop) {
  size_t voters = 0, holders = 0;
  const RaftInfo raft = host_->raft();
  for (const RaftServer& server : raft.servers) voters += server.is_voter;
  if (voters <= 1) return ok_status();
  const size_t wanted = voters / 2 + 1;
  Status last = unavailable("no other server was asked");
  for (const RaftServer& server : raft.servers) {
    if (!server.is_voter) continue;
    if (server.id == raft.server_id) {
      ++holders;
      continue;
    }
    v1::HoldKeyMaterialRequest request;
    request.set_server_id(server.id.to_string());
    *request.mutable_key() = key;
    const auto held =
        call<v1::HoldKeyMaterialResponse>(host_->caller(), between_servers(*host_, "Hold", stop), request);
    held ? void(++holders) : void(last = held.status());
  }
  if (holders >= wanted) return ok_status();
  return unavailable("a new root key is held by " + std::to_string(holders) + " of " + std::to_string(voters) +
                     " servers, a quorum is needed: " + last.message());
}

}  // namespace drover::keyring
