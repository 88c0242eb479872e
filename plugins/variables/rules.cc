#include "rules.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <nlohmann/json.hpp>

#include "drover/api/variables.pb.h"

namespace drover::variables {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr std::chrono::nanoseconds kDefaultLockTime = 15s;
constexpr std::chrono::nanoseconds kLeastTtl = 10s, kMostTtl = 24h;

bool is_path_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
         c == '~' || c == '/';
}

}  // namespace

Status check_path(std::string_view path) {
  if (path.empty()) return invalid_argument("variable requires path");
  const std::string shown(path.substr(0, kMaxPath));
  if (path.size() > kMaxPath || !std::ranges::all_of(path, is_path_character))
    return invalid_argument("invalid path \"" + shown + "\"");
  if (path == "nomad") {
    return invalid_argument("\"nomad\" is a reserved top-level directory path, but you may write variables to "
                            "\"nomad/jobs\", \"nomad/job-templates\", or below");
  }
  if (!path.starts_with("nomad/")) return ok_status();
  path.remove_prefix(6);
  const std::string_view second = path.substr(0, path.find('/'));
  if (second == "jobs") return ok_status();
  if (second != "job-templates")
    return invalid_argument("only paths at \"nomad/jobs\" or \"nomad/job-templates\" or below are valid variable paths "
                            "under the top-level \"nomad\" directory");
  const std::string_view name = path.size() > second.size() ? path.substr(second.size() + 1) : "";
  if (!name.empty() && name.find('/') == std::string_view::npos) return ok_status();
  return invalid_argument("\"nomad/job-templates\" is a reserved directory path, but you may write variables at the "
                          "level below it, for example, \"nomad/job-templates/template-name\"");
}

Status check_namespace(std::string_view name_space) {
  return name_space == "*" ? invalid_argument("can not target wildcard (\"*\")namespace") : ok_status();
}

Result<std::string> checked_items(const std::string& items) {
  const Json object = items.empty() ? Json::object() : Json::parse(items, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) return invalid_argument("Items: expected an object of strings");
  if (object.empty()) return invalid_argument("empty variables are invalid");
  size_t size = 0;
  for (const auto& [key, value] : object.items()) {
    if (!value.is_string()) return invalid_argument("Items[\"" + key.substr(0, kMaxPath) + "\"]: expected a string");
    size += key.size() + value.get_ref<const std::string&>().size();
  }
  if (size > kMaxItems) return invalid_argument("variables are limited to 64KiB in total size");
  return object.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<v1::VariableLock> checked_lock(const v1::VariableLock& lock) {
  v1::VariableLock checked = lock;
  if (lock.ttl() < 0 || lock.lock_delay() < 0) return invalid_argument("Lock delay and TTL must be positive");
  if (lock.ttl() == 0) checked.set_ttl(kDefaultLockTime.count());
  if (lock.lock_delay() == 0) checked.set_lock_delay(kDefaultLockTime.count());
  if (checked.ttl() < kLeastTtl.count() || checked.ttl() > kMostTtl.count())
    return invalid_argument("Lock TTL must be between 10s and 24h");
  return checked;
}

Result<std::optional<uint64_t>> read_cas(std::string_view text) {
  if (text.empty()) return std::optional<uint64_t>();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return invalid_argument("can not parse cas: \"" + std::string(text.substr(0, 32)) + "\" is no number");
  return std::optional(value);
}

}  // namespace drover::variables
