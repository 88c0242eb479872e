#include "drover/auth_config.h"

#include <openssl/err.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/auth_method.h"
#include "drover/duration.h"
#include "drover/v1/auth_method.pb.h"
#include "pem.h"
#include "strict_json.h"

namespace drover::auth {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxConfig = 1 << 20;  // so any text of it has a size that OpenSSL takes

// The text has certificates, and none that cannot be read: a list cut short would come out when somebody logs in.
bool has_certificates_only(const std::string& pem) {
  const auto source = jose::pem_source(pem);
  size_t count = 0;
  while (source && jose::read_certificate(source.get())) ++count;
  const auto why = ERR_peek_last_error();  // after the last one: there is no more
  const bool is_at_end = ERR_GET_LIB(why) == ERR_LIB_PEM && ERR_GET_REASON(why) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  return count > 0 && is_at_end;
}

bool is_absent(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return true;
    case Json::value_t::string:
      return value == "" || value == "0s";
    case Json::value_t::boolean:
      return value == false;
    case Json::value_t::array:
    case Json::value_t::object:
      return value.empty();
    default:
      return value == 0;
  }
}

}  // namespace

struct ConfigReader::Parts {
  Json object = Json::object();
  std::set<std::string> asked;
  std::vector<v1::AuthConfigError> errors;

  const Json* find(const std::string& name) {
    asked.insert(name);
    const auto at = object.find(name);
    return at == object.end() || at->is_null() ? nullptr : &*at;
  }
};

ConfigReader::ConfigReader(std::string_view json) : parts_(std::make_unique<Parts>()) {
  const bool is_long = json.size() > kMaxConfig;
  auto object = jose::parse_object(is_long ? "{}" : json);
  if (is_long) error("", "is longer than " + std::to_string(kMaxConfig) + " bytes");
  if (!object) error("", object.status().message());
  if (object.ok()) parts_->object = *std::move(object);
}
ConfigReader::~ConfigReader() = default;

void ConfigReader::error(std::string path, std::string problem) {
  parts_->errors.push_back(config_error(std::move(path), std::move(problem)));
}

std::string ConfigReader::text(const std::string& name, Need need) {
  const Json* const found = parts_->find(name);
  if (found && !found->is_string()) return error(name, "must be a text"), "";
  std::string text = found ? found->get<std::string>() : std::string();
  if (text.empty() && need == Need::must) error(name, "missing " + name);
  return text;
}

std::vector<std::string> ConfigReader::texts(const std::string& name, Need need) {
  const Json* const found = parts_->find(name);
  std::vector<std::string> texts;
  if (found && !found->is_array()) return error(name, "must be a list of texts"), texts;
  for (size_t i = 0; found && i < found->size(); ++i) {
    if ((*found)[i].is_string()) {
      texts.push_back((*found)[i].get<std::string>());
    } else {
      error(name + "[" + std::to_string(i) + "]", "must be a text");
    }
  }
  if (need == Need::must && (!found || found->empty())) error(name, "missing " + name);
  return texts;
}

std::map<std::string, std::string> ConfigReader::text_map(const std::string& name) {
  const Json* const found = parts_->find(name);
  std::map<std::string, std::string> texts;
  if (found && !found->is_object()) return error(name, "must be an object of texts"), texts;
  if (!found) return texts;
  for (const auto& [key, value] : found->items()) {
    if (value.is_string() && value != "") {
      texts[key] = value.get<std::string>();
    } else {
      error(name + "." + key, "must be a text that is not empty");
    }
  }
  return texts;
}

std::optional<bool> ConfigReader::flag(const std::string& name) {
  const Json* const found = parts_->find(name);
  if (!found) return std::nullopt;
  if (!found->is_boolean()) return error(name, "must be true or false"), std::nullopt;
  return found->get<bool>();
}

std::optional<std::chrono::nanoseconds> ConfigReader::duration(const std::string& name) {
  const Json* const found = parts_->find(name);
  if (!found) return std::nullopt;
  if (found->is_number_integer()) return std::chrono::nanoseconds(found->get<int64_t>());
  if (found->is_string()) {
    if (*found == "") return std::nullopt;
    if (const auto read = parse_duration(found->get<std::string>())) return *read;
  }
  return error(name, "must be a duration, such as \"30s\""), std::nullopt;
}

std::string ConfigReader::url(const std::string& name, Need need) {
  std::string url = text(name, need);
  if (!url.empty() && !is_trusted_url(url)) error(name, "must begin with https:// (http:// on this machine only)");
  return url;
}

std::optional<std::string> ConfigReader::object(const std::string& name) {
  const Json* const found = parts_->find(name);
  if (!found || is_absent(*found)) return std::nullopt;
  if (!found->is_object()) return error(name, "must be an object"), std::nullopt;
  return found->dump();
}

void ConfigReader::add(const std::string& name, std::vector<v1::AuthConfigError> errors) {
  for (v1::AuthConfigError& each : errors) error(name + "." + each.path(), std::move(*each.mutable_problem()));
}

void ConfigReader::refuse(const std::string& name, const std::string& why) {
  const Json* const found = parts_->find(name);
  if (found && !is_absent(*found)) error(name, why);
}

std::vector<v1::AuthConfigError> ConfigReader::finish() {
  for (const auto& [name, value] : parts_->object.items()) {
    if (!parts_->asked.contains(name) && !is_absent(value)) error(name, "there is no such option");
  }
  parts_->object.clear();
  return std::move(parts_->errors);
}

std::vector<jose::Algorithm> signing_algorithms(ConfigReader& config) {
  std::vector<jose::Algorithm> out;
  const std::vector<std::string> names = config.texts("SigningAlgs");
  for (size_t i = 0; i < names.size(); ++i) {
    if (const auto algorithm = jose::algorithm_named(names[i])) {
      out.push_back(*algorithm);
    } else {
      config.error("SigningAlgs[" + std::to_string(i) + "]",
                   "must be RS, PS or ES with 256, 384 or 512, or EdDSA: \"" + names[i].substr(0, 32) + "\" is not");
    }
  }
  return names.empty() ? std::vector{jose::Algorithm::rs256} : out;
}

jose::ClaimMappings claim_mappings(ConfigReader& config) {
  return {.values = config.text_map("ClaimMappings"), .lists = config.text_map("ListClaimMappings")};
}

std::string authorities(ConfigReader& config, const std::string& name, const std::vector<std::string>& pems) {
  std::string joined;
  for (size_t i = 0; i < pems.size(); ++i) {
    if (has_certificates_only(pems[i])) {
      joined += pems[i] + "\n";
    } else {
      config.error(pems.size() == 1 ? name : name + "[" + std::to_string(i) + "]", "must be a certificate in PEM");
    }
  }
  return joined;
}

bool is_trusted_url(std::string_view url) {
  if (url.starts_with("https://")) return url.size() > 8;
  if (!url.starts_with("http://")) return false;
  std::string_view host = url.substr(7, url.find_first_of("/?#", 7) - 7);
  if (host.find_first_of("@\\") != std::string_view::npos) return false;
  if (host.starts_with('[')) return host.starts_with("[::1]") && (host.size() == 5 || host[5] == ':');
  host = host.substr(0, host.find(':'));
  return host == "localhost" || host == "127.0.0.1";
}

}  // namespace drover::auth
