// How commands print: aligned lists, key = value blocks, short identifiers, relative times. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace drover::cli {

// Columns two spaces apart, the first row the header; empty cells show as <none>.
std::string format_list(const std::vector<std::vector<std::string>>& rows);
// "Key   = value", aligned.
std::string format_pairs(const std::vector<std::pair<std::string, std::string>>& pairs);

// The first eight characters, or all with `verbose`.
std::string short_id(std::string_view id, bool verbose = false);
// "1m3s ago", "2h5m from now"; two units at most.
std::string relative_time(int64_t when_ns, int64_t now_ns);
// "2023-11-14T22:13:20Z"
std::string full_time(int64_t when_ns);
int64_t now_ns();

// Fields of an API object; empty or zero when absent.
std::string text(const nlohmann::json& object, std::string_view key);
int64_t number(const nlohmann::json& object, std::string_view key);
const nlohmann::json& member(const nlohmann::json& object, std::string_view key);  // null when absent

}  // namespace drover::cli
