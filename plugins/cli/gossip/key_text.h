// The keys of the gossip as people read them. Pure.
#pragma once

#include <string>

namespace drover::v1 {
class GossipKeysResponse;
}

namespace drover::cli {

// A line for each key: on how many of the servers it is, and how many seal with it.
std::string key_list_text(const v1::GossipKeysResponse& answer);
// "Warning: SERVER TEXT", a line each; empty where no server has anything to say.
std::string key_messages_text(const v1::GossipKeysResponse& answer);

}  // namespace drover::cli
