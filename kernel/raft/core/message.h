// The messages between the cores of a cluster. Plain values; the transport gives them bytes and an envelope (cluster,
// sender's incarnation, protocol version). A message may be lost, repeated, delayed and reordered: the core copes.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "storage/types.h"

namespace drover::raft {

enum class MessageType : uint8_t {
  pre_vote = 1,
  pre_vote_answer = 2,
  vote = 3,
  vote_answer = 4,
  append = 5,
  append_answer = 6,
  heartbeat = 7,
  heartbeat_answer = 8,
  timeout_now = 9,         // leadership transfer: campaign at once
  read_index = 10,         // a follower asks the leader for a read index
  read_index_answer = 11,  // log_index and last_index, or is_refused
};
std::string_view to_string(MessageType type);

// A comment names the types that carry its field; the field is zero in the others.
struct Message {
  MessageType type = MessageType::heartbeat;
  NodeId from{};
  NodeId to{};
  Term term = 0;  // the sender's; of a pre_vote the one it would campaign in, of its grant the term of the request (E1)

  Index log_index = 0;      // (pre_)vote: last index; append: the entry before; append_answer: matched, or refused prev
  Term log_term = 0;        // of log_index: (pre_)vote, append
  Index commit = 0;         // append; heartbeat: min(commit, match of the receiver) (R11)
  bool is_refused = false;  // answers
  bool is_transfer = false;  // (pre_)vote: campaign of a leadership transfer (E2)

  // append_answer that refuses (R5): the receiver's last index, and its term at log_index with that term's first index
  // (both zero when its log ends before). read_index_answer: the leader's last index, for one that repairs its log.
  Index last_index = 0;
  Term conflict_term = 0;
  Index conflict_first = 0;
  bool is_damaged = false;  // append_answer: the sender's log was cut below what it had confirmed (CoreState)

  // heartbeat and its answer: the leader's round (8); read_index and its answer: the asker's number
  uint64_t round = 0;
  std::vector<Entry> entries{};  // append: log_index + 1 …
};

// Bytes that count against the window and the limits of a stream.
uint64_t message_bytes(const Message& message);

}  // namespace drover::raft
