#include "nodes/identity_commands.h"

#include <nlohmann/json.hpp>

#include "drover/api/client.pb.h"
#include "drover/api/nodes.pb.h"
#include "drover/duration.h"
#include "lookup.h"
#include "object_output.h"
#include "output.h"

namespace drover::cli {
namespace {

using nlohmann::json;

Result<v1::NodeIdentityRequest> request_of(Run& run) {
  DROVER_TRY(const auto found, find_node(run, run.arguments.positional()[0]));
  v1::NodeIdentityRequest request;
  request.set_node_id(found.message.node().node().id());
  return request;
}

int identity_get(Run& run) {
  const auto request = request_of(run);
  if (!request) return run.fail("Error reading node", request.status());
  const auto identity = run.client.call<v1::ClientIdentity::Get>(*request);
  if (!identity) return run.fail("Error reading node identity", identity.status());
  if (auto code = print_object(run, *identity)) return *code;
  std::vector<std::vector<std::string>> rows = {{"Claim Key", "Claim Value"}};
  const json claims = json::parse(identity->message.claims(), nullptr, /*allow_exceptions=*/false);
  if (!claims.is_object()) return run.fail("Error reading node identity", data_loss("the claims are no JSON object"));
  for (const auto& [key, value] : claims.items())
    rows.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
  run.out << format_list(rows);
  return 0;
}

int identity_renew(Run& run) {
  const auto request = request_of(run);
  if (!request) return run.fail("Error reading node", request.status());
  const auto renewed = run.client.call<v1::ClientIdentity::Renew>(*request);
  return renewed ? 0 : run.fail("Error renewing node identity", renewed.status());
}

int intro_create(Run& run) {
  v1::IntroduceNodeRequest request;
  request.set_node_name(run.arguments.value("node-name"));
  request.set_node_pool(run.arguments.value("node-pool"));
  if (run.arguments.is_set("ttl")) {
    const auto ttl = parse_duration(run.arguments.value("ttl"));
    if (!ttl) return run.usage("-ttl: " + ttl.status().message());
    request.set_ttl(ttl->count());
  }
  const auto made = run.client.call<v1::Nodes::Introduce>(request);
  if (!made) return run.fail("Error creating introduction token", made.status());
  if (auto code = print_object(run, *made)) return *code;
  run.out << made->message.jwt() << "\n";
  return 0;
}

}  // namespace

std::vector<Definition> node_identity_commands() {
  return {{"node identity get", "Shows the claims of a node's identity.", "<node>", "", with_object_flags({}), 1, 1,
           identity_get},
          {"node identity renew", "Has a node get a new identity at once.", "<node>", "", {}, 1, 1, identity_renew},
          {"node intro create", "Makes a token that introduces a new node to the servers.", "",
           "The agent shows it when it registers for the first time: client.intro_token, -client-intro-token, or the "
           "variable NOMAD_CLIENT_INTRO_TOKEN.",
           with_object_flags({with_value("node-name", "", "The node's name; without: any"),
                              with_value("node-pool", "", "The node's pool; without: default"),
                              with_value("ttl", "", "How long it is good; without: what the servers say")}),
           0, 0, intro_create}};
}

}  // namespace drover::cli
