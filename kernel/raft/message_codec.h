// The messages between servers, as bytes. Little-endian; every message says how long its fixed part is, so that a later
// version can add to it and an earlier one skips what it does not know. Entries have the form that they have in the
// log, each with its checksum. Pure. [any]
#pragma once

#include <string>
#include <string_view>

#include "drover/result.h"
#include "kernel/raft/core/message.h"
#include "kernel/raft/transport.h"

namespace drover::raft {

inline constexpr uint8_t kPeerProtocol = 1;  // refused when the other's is lower than what this program can speak

std::string encode_message(const Message& message);
// `from` and `to` are the stream's, not the bytes'. Errors: invalid_argument.
Result<Message> decode_message(std::string_view bytes, NodeId from, NodeId to);

std::string encode_bulk(const BulkMessage& message);
Result<BulkMessage> decode_bulk(std::string_view bytes, NodeId from, NodeId to);

// The first thing on a stream between servers.
struct PeerHello {
  enum class Lane : uint8_t { control = 1, append = 2, bulk = 3 };
  uint8_t protocol = kPeerProtocol;
  Lane lane = Lane::control;
  ClusterId cluster{};
  NodeId from{};
  NodeId to{};
  uint64_t incarnation = 0;             // drawn at every start
  std::string address{};                // of the sender: a server that has just been added knows nobody yet
  std::vector<std::string> commands{};  // that the sender can apply; nothing is known of a sender that names none
};
std::string encode_hello(const PeerHello& hello);
Result<PeerHello> decode_hello(std::string_view bytes);

}  // namespace drover::raft
