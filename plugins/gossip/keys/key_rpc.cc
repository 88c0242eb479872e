#include "keys/key_rpc.h"

#include <algorithm>

#include "drover/api/members.pb.h"
#include "drover/log.h"
#include "gossip.pb.h"

namespace drover::gossip {
namespace {

constexpr auto kCallTime = std::chrono::seconds(5);   // of one server
constexpr auto kTurnTime = std::chrono::seconds(60);  // for the steps before

const char* word_of(Step step) {
  if (step == drover::v1::GOSSIP_KEY_STEP_INSTALL) return "install";
  return step == drover::v1::GOSSIP_KEY_STEP_USE ? "use" : "remove";
}

// As server members shows it.
std::string name_of(const ServerMember& server) { return server.name + "." + server.region; }

}  // namespace

Status KeyRpc::declare(Declarations& declare) {
  DROVER_RETURN_IF_ERROR(declare.service("drover.v1.GossipKeys", {method<&KeyRpc::step>("Step", this)}));
  return declare.service("drover.v1.GossipKeyring",
                         {method<&KeyRpc::list>("List", this), method<&KeyRpc::install>("Install", this),
                          method<&KeyRpc::use>("Use", this), method<&KeyRpc::remove>("Remove", this)});
}

Result<drover::v1::GossipKeysResponse> KeyRpc::list(const drover::v1::ListGossipKeysRequest&, Call& call) {
  return on_all(drover::v1::GOSSIP_KEY_STEP_LIST, "", call);
}
Result<drover::v1::GossipKeysResponse> KeyRpc::install(const drover::v1::GossipKeyRequest& request, Call& call) {
  return on_all(drover::v1::GOSSIP_KEY_STEP_INSTALL, request.key(), call);
}
Result<drover::v1::GossipKeysResponse> KeyRpc::use(const drover::v1::GossipKeyRequest& request, Call& call) {
  return on_all(drover::v1::GOSSIP_KEY_STEP_USE, request.key(), call);
}
Result<drover::v1::GossipKeysResponse> KeyRpc::remove(const drover::v1::GossipKeyRequest& request, Call& call) {
  return on_all(drover::v1::GOSSIP_KEY_STEP_REMOVE, request.key(), call);
}

Result<drover::v1::GossipKeyStepResponse> KeyRpc::step(const drover::v1::GossipKeyStepRequest& request, Call&) {
  std::string key;
  if (request.step() != drover::v1::GOSSIP_KEY_STEP_LIST) {
    DROVER_TRY(key, canonical_key(request.key()));
  }
  DROVER_TRY(const std::vector<std::string> keys, keyring_.step(request.step(), key));
  drover::v1::GossipKeyStepResponse response;
  for (const std::string& each : keys) response.add_keys(each);
  return response;
}

Result<drover::v1::GossipKeysResponse> KeyRpc::on_all(Step step, const std::string& typed, Call& call) {
  // Says so before it looks at the key: without encryption there is no right one.
  DROVER_RETURN_IF_ERROR(keyring_.step(drover::v1::GOSSIP_KEY_STEP_LIST, "").status());
  std::string key;
  if (step != drover::v1::GOSSIP_KEY_STEP_LIST) {
    DROVER_TRY(key, canonical_key(typed));
  }
  const SteadyTime deadline = std::min(call.context().deadline, host_->clock().steady() + kTurnTime);
  DROVER_TRY(const Turns::Turn turn, turns_.take("step", deadline, call.stop()));
  std::vector<ServerMember> living, away;
  for (const ServerMember& server : directory_.servers()) {
    if (server.status == ServerStatus::alive) living.push_back(server);
    if (server.status == ServerStatus::failed || server.status == ServerStatus::leaving) away.push_back(server);
  }
  std::vector<ServerKeys> servers = ask_all(drover::v1::GOSSIP_KEY_STEP_LIST, "", living, call);
  DROVER_RETURN_IF_ERROR(may_begin(step, key, servers));
  if (step != drover::v1::GOSSIP_KEY_STEP_LIST) servers = ask_all(step, key, living, call);
  auto response = summary_of(step, servers);
  if (step != drover::v1::GOSSIP_KEY_STEP_LIST) {
    log::info("gossip", "a step with the keys of the gossip on all servers",
              {{"step", word_of(step)}, {"result", response.status().to_string()}});
  }
  if (!response) return response;
  for (const ServerMember& server : away) {
    (*response->mutable_messages())[name_of(server)] = "is " + std::string(to_string(server.status)) +
                                                   "; when it comes back it has the keys that it had";
  }
  return response;
}

std::vector<ServerKeys> KeyRpc::ask_all(Step step, const std::string& key,
                                        const std::vector<ServerMember>& servers, const Call& call) {
  std::vector<ServerKeys> answers;
  for (const ServerMember& server : servers) {
    ServerKeys& answer = answers.emplace_back();
    answer.name = name_of(server);
    if (server.id == host_->agent().server_id) {
      auto keys = keyring_.step(step, key);
      answer.status = keys.status();
      if (keys) answer.keys = *std::move(keys);
      continue;
    }
    drover::v1::GossipKeyStepRequest request;
    request.set_server_id(server.id.to_string());
    request.set_step(step);
    request.set_key(key);
    CallContext context;
    context.method = "/drover.v1.GossipKeys/Step";
    context.query.region = server.region;
    context.deadline = std::min(call.context().deadline, host_->clock().steady() + kCallTime);
    context.stop = call.stop();
    context.from_server = true;
    const auto done = drover::call<drover::v1::GossipKeyStepResponse>(host_->caller(), std::move(context), request);
    answer.status = done.status();
    if (done) answer.keys.assign(done->keys().begin(), done->keys().end());
  }
  return answers;
}

}  // namespace drover::gossip
