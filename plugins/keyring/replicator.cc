#include "replicator.h"

#include <pthread.h>

#include "drover/api/keyring.pb.h"
#include "drover/log.h"
#include "drover/pause.h"
#include "keyring.pb.h"

namespace drover::keyring {
namespace {

using namespace std::chrono_literals;

constexpr auto kCompareEvery = 500ms;
constexpr auto kTryAgain = 2s;
constexpr auto kBetweenKeys = 200ms;  // five a second at most
constexpr auto kCallTime = 5s;

}  // namespace

CallContext between_servers(Host& host, const std::string& method, const std::stop_token& stop) {
  CallContext context;
  context.method = "/drover.v1.KeyringReplication/" + method;
  context.query.region = host.agent().region;
  context.deadline = host.clock().steady() + kCallTime;
  context.stop = stop;
  context.from_server = true;
  return context;
}

void Replicator::start(Host& host) {
  host_ = &host;
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Replicator::stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

void Replicator::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "keyring");
  uint64_t seen = UINT64_MAX;
  while (!stop.stop_requested()) {
    const auto view = host_->snapshot();
    const uint64_t now = std::max(view->table_index(tables_.keys.id()), view->table_index(tables_.removed.id()));
    if (now != seen && !look(*host_, stop)) {
      pause_for(kTryAgain, stop);
      continue;
    }
    seen = now;
    pause_for(kCompareEvery, stop);
  }
}

bool Replicator::look(Host& host, const std::stop_token& stop) {
  const auto view = host.snapshot();
  bool is_whole = true;
  tables_.removed.scan(*view, kPrimary, KeyRange::all(), [&](const v1::RemovedRootKey& mark, std::string_view id) {
    if (view->get(tables_.keys.id(), id)) return true;  // a restored state has it again
    const Status status = keys_.remove(mark.key_id());
    if (!status.ok()) {
      log::warn("keyring", "the file of a removed root key is still there", {{"error", status.message()}});
      is_whole = false;
    }
    return true;
  });
  for (const v1::RootKey& key : tables_.keys.list(*view, kPrimary, KeyRange::all())) {
    if (stop.stop_requested()) return false;
    if (keys_.find(key.key_id())) continue;
    const Status status = fetch(host, key.key_id(), stop);
    if (!status.ok()) {
      log::warn("keyring", "failed to fetch key from any peer",
                {{"id", key_text(key.key_id())}, {"error", status.message()}});
      is_whole = false;
    } else {
      log::info("keyring", "fetched a root key from another server", {{"id", key_text(key.key_id())}});
    }
    pause_for(kBetweenKeys, stop);
  }
  return is_whole;
}

Status Replicator::fetch(Host& host, const std::string& key_id, const std::stop_token& stop) {
  const RaftInfo raft = host.raft();
  std::vector<Uuid> peers;
  if (!raft.leader_id.is_zero() && raft.leader_id != raft.server_id) peers.push_back(raft.leader_id);
  for (const RaftServer& server : raft.servers) {
    if (server.id != raft.server_id && server.id != raft.leader_id) peers.push_back(server.id);
  }
  Status last = unavailable("there is no other server");
  for (const Uuid& peer : peers) {
    v1::GetKeyMaterialRequest request;
    request.set_server_id(peer.to_string());
    request.set_key_id(key_id);
    const auto got = call<v1::KeyMaterialResponse>(host.caller(), between_servers(host, "Get", stop), request);
    if (!got) {
      last = got.status();
    } else if (got->key().key_id() != key_id) {
      last = data_loss("a server answered with another key");
    } else {
      return keys_.add(got->key());
    }
  }
  return last;
}

}  // namespace drover::keyring
