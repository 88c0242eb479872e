// Consul's HTTP API, as far as drover uses it, as typed calls. Each waits for its answer, at most the endpoint's
// timeout, and comes back soon when `stop` is requested. [any]
//
// Errors: unavailable, when Consul is not reached or says that it cannot (5xx); not_found (404); permission_denied
// (403); invalid_argument for other refusals, with Consul's text; cancelled.
#pragma once

#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "client/endpoint.h"
#include "drover/result.h"

namespace drover::consul {

// The Consul agent and its node.
struct AgentSelf {
  std::string name, datacenter, version, revision, segment;
  bool is_enterprise = false;
  bool is_server = false;
  bool has_connect = false;
  int grpc_port = -1;  // -1: off
};

struct TaggedAddress {
  std::string address;
  int port = 0;
  bool operator==(const TaggedAddress&) const = default;
};

// A service of the agent, as Consul has it.
struct KnownService {
  std::string id, name, kind, address;
  int port = 0;
  std::vector<std::string> tags;
  std::map<std::string, std::string> meta;
  std::map<std::string, TaggedAddress> tagged_addresses;
  bool has_tag_override = false;
  int passing_weight = 1, warning_weight = 1;
};

struct KnownCheck {
  std::string id, name, service_id, status, output;
  std::string name_space = {};  // as the client's endpoint names it
};

// A question that waits for a change.
struct Watched {
  std::string body;       // JSON
  uint64_t index = 0;     // at least 1
  bool is_there = true;   // false: Consul says that there is no such thing (404)
};

class ConsulClient {
 public:
  explicit ConsulClient(Endpoint endpoint) : endpoint_(std::move(endpoint)) {}

  // The same Consul, asked in another of the namespaces that Consul Enterprise has; empty: in this one's.
  ConsulClient in(const std::string& name_space) const;
  // Of Consul Enterprise; none where Consul is another one. Those that the token may see.
  Result<std::vector<std::string>> namespaces(std::stop_token stop) const;

  Result<AgentSelf> self(std::stop_token stop) const;
  Result<std::map<std::string, KnownService>> services(std::stop_token stop) const;  // by identifier
  Result<std::map<std::string, KnownCheck>> checks(std::stop_token stop) const;

  // `body`: the registration, JSON.
  Status register_service(const std::string& body, std::stop_token stop) const;
  Status deregister_service(const std::string& id, std::stop_token stop) const;
  Status register_check(const std::string& body, std::stop_token stop) const;
  Status deregister_check(const std::string& id, std::stop_token stop) const;
  // `status`: "passing", "warning", "critical".
  Status update_check(const std::string& id, std::string_view status, std::string_view output,
                      std::stop_token stop) const;

  // GET of a path with its query, "/v1/kv/a?recurse": answers when the index is above `index`, or after a while; 0: at
  // once. `token`: in place of the endpoint's; empty: that.
  Result<Watched> watch(const std::string& path, uint64_t index, const std::string& token, std::stop_token stop) const;
  // A call without waiting; the answer's body.
  Result<std::string> call(const char* method, const std::string& path, const std::string& body,
                           const std::string& token, std::stop_token stop) const;

  const Endpoint& endpoint() const { return endpoint_; }

 private:
  Result<http_client::Answer> exchange(const char* method, const std::string& path, const std::string& body,
                                       const std::string& token, std::chrono::milliseconds limit,
                                       std::stop_token stop) const;

  const Endpoint endpoint_;
};

}  // namespace drover::consul
