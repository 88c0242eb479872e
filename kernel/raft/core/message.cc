#include "kernel/raft/core/message.h"

#include "kernel/raft/core/log_view.h"

namespace drover::raft {

std::string_view to_string(MessageType type) {
  switch (type) {
    case MessageType::pre_vote:
      return "pre_vote";
    case MessageType::pre_vote_answer:
      return "pre_vote_answer";
    case MessageType::vote:
      return "vote";
    case MessageType::vote_answer:
      return "vote_answer";
    case MessageType::append:
      return "append";
    case MessageType::append_answer:
      return "append_answer";
    case MessageType::heartbeat:
      return "heartbeat";
    case MessageType::heartbeat_answer:
      return "heartbeat_answer";
    case MessageType::timeout_now:
      return "timeout_now";
    case MessageType::read_index:
      return "read_index";
    case MessageType::read_index_answer:
      return "read_index_answer";
  }
  return "unknown";
}

uint64_t message_bytes(const Message& message) {
  uint64_t bytes = 128;
  for (const Entry& entry : message.entries) bytes += entry_cost(entry);
  return bytes;
}

}  // namespace drover::raft
