// Identities of nodes: tokens that the servers sign, by which nodes prove themselves in place of their secret.
//
//   no identity ──registers, heartbeat──▶ current ──last third of its life, another pool, asked──▶ current, former
//                                            ▲                                                        │
//                                            └── the node has shown the new one ──────────────────────┘
//
// The servers know them by their digests, which stand in the node's row. Pure. [any]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover::v1 {
class Node;
class NodeIdentity;
}  // namespace drover::v1

namespace drover::nodes {

struct NodeClaims {
  const v1::Node& node;
  std::string region;
  std::string token_id;  // a new one for each token
  int64_t now_ns = 0;    // since 1970
  int64_t ttl_ns = 0;
};
// As a JSON object.
std::string claims_of(const NodeClaims& input);

// True when that is the node's latest identity, whether it has ended or not.
bool is_latest(const v1::Node& node, std::string_view shown);
// True when the node shall get a new identity. `known`: its row; `next`: as it describes itself now; `shown`: what it
// holds; `asks`: it asked for a new one.
bool needs_identity(const v1::Node& known, const v1::Node& next, std::string_view shown, bool asks, int64_t now_ns);
// The servers keep this once the node is given that token. What it showed, if that is an identity that counts, counts
// for a moment more: the answer with the new one may be lost.
v1::NodeIdentity with_token(const v1::Node& known, std::string_view shown, std::string_view token, int64_t now_ns,
                            int64_t ttl_ns);

}  // namespace drover::nodes
