#include "config/fields.h"

#include <nlohmann/json.hpp>
#include <set>

#include "drover/duration.h"

namespace drover::docker {

using Json = nlohmann::json;

struct Fields::Members {
  Json json;
  std::string place;  // of this block; empty: the whole
  std::set<std::string, std::less<>> asked{};
  Status problem{};

  // Null where nothing is written.
  const Json& get(const std::string& name) {
    static const Json kNothing;
    asked.insert(name);
    const auto at = json.find(name);
    return at == json.end() ? kNothing : *at;
  }
  std::string path(const std::string& name) const { return place.empty() ? name : place + "." + name; }
  void refuse(const std::string& name, const std::string& what) {
    if (problem.ok()) problem = invalid_argument("config option \"" + path(name) + "\" " + what);
  }
};

Fields::Fields(std::unique_ptr<Members> members) : members_(std::move(members)) {}
Fields::~Fields() = default;
Fields::Fields(Fields&&) noexcept = default;

Result<Fields> Fields::from_msgpack(std::string_view bytes) {
  Json json = Json::object();
  if (!bytes.empty()) json = Json::from_msgpack(bytes.begin(), bytes.end(), true, false);
  if (json.is_null()) json = Json::object();
  if (!json.is_object()) return invalid_argument("the config is not one map in msgpack");
  return Fields(std::make_unique<Members>(Members{.json = std::move(json), .place = {}}));
}

std::string Fields::text(const std::string& name, std::string fallback) {
  const Json& value = members_->get(name);
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_null()) members_->refuse(name, "must be a text");
  return fallback;
}

int64_t Fields::integer(const std::string& name, int64_t fallback) {
  const Json& value = members_->get(name);
  if (value.is_number_integer() && (!value.is_number_unsigned() || value.get<uint64_t>() <= INT64_MAX))
    return value.get<int64_t>();
  if (!value.is_null()) members_->refuse(name, "must be a whole number");
  return fallback;
}

std::optional<bool> Fields::maybe_boolean(const std::string& name) {
  const Json& value = members_->get(name);
  if (value.is_boolean()) return value.get<bool>();
  if (!value.is_null()) members_->refuse(name, "must be true or false");
  return std::nullopt;
}

bool Fields::boolean(const std::string& name, bool fallback) { return maybe_boolean(name).value_or(fallback); }

std::chrono::nanoseconds Fields::duration(const std::string& name, std::chrono::nanoseconds fallback) {
  const std::string written = text(name);
  if (written.empty()) return fallback;
  const auto time = parse_duration(written);
  if (time && time->count() >= 0) return *time;
  members_->refuse(name, "must be a time such as \"5m\", and is \"" + written + "\"");
  return fallback;
}

std::optional<std::vector<std::string>> Fields::maybe_texts(const std::string& name) {
  const Json& value = members_->get(name);
  if (value.is_null()) return std::nullopt;
  std::vector<std::string> out;
  bool is_good = value.is_array();
  for (size_t i = 0; is_good && i < value.size(); ++i) {
    is_good = value[i].is_string();
    if (is_good) out.push_back(value[i].get<std::string>());
  }
  if (is_good) return out;
  members_->refuse(name, "must be a list of texts");
  return std::nullopt;
}

std::vector<std::string> Fields::texts(const std::string& name) {
  return maybe_texts(name).value_or(std::vector<std::string>());
}

std::map<std::string, std::string> Fields::map(const std::string& name) {
  const Json& value = members_->get(name);
  std::map<std::string, std::string> out;
  if (value.is_null()) return out;
  if (!value.is_object()) {
    members_->refuse(name, "must be a block of names and values");
    return out;
  }
  for (const auto& [key, one] : value.items()) {
    if (one.is_string()) {
      out[key] = one.get<std::string>();
    } else if (one.is_number_integer() || one.is_boolean()) {
      out[key] = one.dump();
    } else {
      members_->refuse(name, "must have a text for \"" + key + "\"");
    }
  }
  return out;
}

std::optional<Fields> Fields::block(const std::string& name) {
  const Json& value = members_->get(name);
  if (value.is_object())
    return Fields(std::make_unique<Members>(Members{.json = value, .place = members_->path(name)}));
  if (!value.is_null()) members_->refuse(name, "must be a block");
  return std::nullopt;
}

std::vector<Fields> Fields::blocks(const std::string& name) {
  const Json& value = members_->get(name);
  std::vector<Fields> out;
  if (value.is_null()) return out;
  if (!value.is_array()) {
    members_->refuse(name, "must be blocks");
    return out;
  }
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string place = members_->path(name) + "[" + std::to_string(i) + "]";
    if (value[i].is_object()) {
      out.push_back(Fields(std::make_unique<Members>(Members{.json = value[i], .place = place})));
    } else {
      members_->refuse(name, "must be blocks");
    }
  }
  return out;
}

Status Fields::finish() const {
  if (!members_->problem.ok()) return members_->problem;
  for (const auto& [name, value] : members_->json.items()) {
    if (!members_->asked.contains(name))
      return invalid_argument("config option \"" + members_->path(name) + "\" is unknown");
  }
  return ok_status();
}

}  // namespace drover::docker
