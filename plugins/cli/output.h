// How commands print: aligned lists, key = value blocks, short identifiers, relative times. Pure.
#pragma once

#include <google/protobuf/generated_enum_reflection.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "drover/json.h"

namespace drover::cli {

// Columns two spaces apart, the first row the header; empty cells show as <none>.
std::string format_list(const std::vector<std::vector<std::string>>& rows);
// "Key   = value", aligned.
std::string format_pairs(const std::vector<std::pair<std::string, std::string>>& pairs);

// An identifier as text, or its first eight characters. Empty for no bytes.
std::string id_text(std::string_view bytes, bool is_whole = true);
// "1m3s ago", "2h5m from now"; two units at most.
std::string relative_time(int64_t when_ns, int64_t now_ns);
// "2023-11-14T22:13:20Z"
std::string full_time(int64_t when_ns);
int64_t now_ns();

// The texts one after the other, the divider between them.
std::string joined(const auto& texts, std::string_view divider) {
  std::string all;
  for (const std::string& text : texts) all.append(all.empty() ? "" : divider).append(text);
  return all;
}

inline std::string yes_no(bool value) { return value ? "true" : "false"; }

// An enumerator as the API writes it.
template <typename Enum>
std::string word(Enum value) {
  return json_word(*google::protobuf::GetEnumDescriptor<Enum>()->FindValueByNumber(value));
}

// Columns of a list of allocations, and a row of it.
extern const std::vector<std::string> kAllocColumns;
template <typename Alloc>
std::vector<std::string> alloc_row(const Alloc& alloc, bool verbose) {
  return {id_text(alloc.id(), verbose),
          id_text(alloc.node_id(), verbose),
          alloc.task_group(),
          std::to_string(alloc.job_version()),
          word(alloc.desired_status()),
          word(alloc.client_status()),
          relative_time(alloc.create_time(), now_ns()),
          relative_time(alloc.modify_time(), now_ns())};
}

// A message's map in the order of its keys.
template <typename Map>
std::map<typename Map::key_type, typename Map::mapped_type> sorted(const Map& map) {
  return {map.begin(), map.end()};
}

}  // namespace drover::cli
