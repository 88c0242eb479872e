#include "gossip/key_text.h"

#include "drover/api/members.pb.h"
#include "output.h"

namespace drover::cli {

std::string key_list_text(const v1::GossipKeysResponse& answer) {
  const std::string of_all = "/" + std::to_string(answer.num_nodes());
  std::vector<std::vector<std::string>> rows = {{"Key", "Servers", "Primary On"}};
  for (const auto& [key, count] : sorted(answer.keys())) {
    const auto primary = answer.primary_keys().find(key);
    const int64_t sealing = primary == answer.primary_keys().end() ? 0 : primary->second;
    rows.push_back({key, std::to_string(count) + of_all, std::to_string(sealing) + of_all});
  }
  return format_list(rows);
}

std::string key_messages_text(const v1::GossipKeysResponse& answer) {
  std::string text;
  for (const auto& [server, words] : sorted(answer.messages())) text += "Warning: " + server + " " + words + "\n";
  return text;
}

}  // namespace drover::cli
