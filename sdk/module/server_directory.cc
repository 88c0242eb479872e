#include "drover/server_directory.h"

#include <charconv>

#include "drover/v1/member.pb.h"

namespace drover {
namespace {

std::pair<std::string, uint32_t> split(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, 0};
  uint32_t port = 0;
  std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
  return {address.substr(0, colon), port};
}

}  // namespace

std::string_view to_string(ServerStatus status) {
  static constexpr std::string_view kNames[] = {"alive", "leaving", "failed", "left"};
  return kNames[static_cast<size_t>(status)];
}

v1::AgentMember to_agent_member(const ServerMember& server) {
  v1::AgentMember member;
  member.set_name(server.name + "." + server.region);
  const auto [host, port] = split(server.address);
  member.set_addr(host);
  member.set_port(port);
  auto& tags = *member.mutable_tags();
  const auto [rpc_host, rpc_port] = split(server.rpc_address);
  tags["role"] = "nomad";
  tags["region"] = server.region;
  tags["dc"] = server.datacenter;
  tags["build"] = "1.5.6";  // of the API that is spoken
  tags["drover"] = server.version;
  tags["id"] = server.id.to_string();
  tags["rpc_addr"] = rpc_host;
  tags["port"] = std::to_string(rpc_port);
  tags["raft_vsn"] = "3";
  tags["vsn"] = "1";
  if (server.bootstrap_expect == 1) tags["bootstrap"] = "1";
  if (server.bootstrap_expect > 1) tags["expect"] = std::to_string(server.bootstrap_expect);
  member.set_status(std::string(to_string(server.status)));
  member.set_protocol_min(1);
  member.set_protocol_max(5);
  member.set_protocol_cur(2);
  member.set_delegate_min(2);
  member.set_delegate_max(5);
  member.set_delegate_cur(4);
  return member;
}

}  // namespace drover
