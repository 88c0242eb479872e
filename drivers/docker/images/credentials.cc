#include "images/credentials.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "drover/base64.h"
#include "drover/read_all.h"
#include "images/helper_program.h"

namespace drover::docker {
namespace {

using Json = nlohmann::json;

constexpr const char* kTokenUser = "<token>";

std::string text_at(const Json& json, const char* name) {
  if (!json.is_object()) return {};
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// "user:password" in base64.
Result<Credentials> from_pair(const std::string& encoded) {
  auto pair = base64_decode(encoded);
  const size_t colon = pair ? pair->find(':') : std::string::npos;
  if (colon == std::string::npos) return invalid_argument("its \"auth\" is not a name and a password in base64");
  while (!pair->empty() && pair->back() == '\0') pair->pop_back();
  return Credentials{.username = pair->substr(0, colon), .password = pair->substr(colon + 1)};
}

Result<Credentials> from_entry(const Json& entry, const std::string& registry) {
  Credentials out{.username = text_at(entry, "username"),
                  .password = text_at(entry, "password"),
                  .email = text_at(entry, "email"),
                  .identity_token = text_at(entry, "identitytoken")};
  if (const std::string pair = text_at(entry, "auth"); !pair.empty()) {
    DROVER_TRY(const Credentials both, from_pair(pair));
    out.username = both.username;
    out.password = both.password;
  }
  out.server_address = registry;
  return out;
}

// "https://quay.io/v1/" is written for "quay.io", too.
bool is_entry_of(std::string key, const std::string& registry) {
  if (key == registry) return true;
  for (const std::string_view scheme : {"https://", "http://"}) {
    if (key.starts_with(scheme)) key.erase(0, scheme.size());
  }
  return key.substr(0, key.find('/')) == registry;
}

Result<std::optional<Credentials>> ask(const std::string& helper, const std::string& registry, std::stop_token stop) {
  DROVER_TRY(const std::string answer, run_credential_helper(helper, registry, stop));
  DROVER_TRY(Credentials credentials, read_helper_answer(answer, registry));
  return std::optional(std::move(credentials));
}

Result<std::optional<Credentials>> from_file(const std::string& path, const std::string& registry,
                                             std::stop_token stop) {
  std::ifstream file(path);
  if (!file) return not_found("the file " + path + " cannot be read");
  auto answer = look_up(read_all(file), registry);
  if (!answer) return answer.status().with_context(path);
  if (answer->credentials || answer->helper.empty()) return answer->credentials;
  return ask(answer->helper, registry, std::move(stop));
}

}  // namespace

std::string registry_auth(const Credentials& credentials) {
  Json json = Json::object();
  if (!credentials.identity_token.empty()) {
    json["identitytoken"] = credentials.identity_token;
  } else {
    json["username"] = credentials.username;
    json["password"] = credentials.password;
    json["email"] = credentials.email;
  }
  json["serveraddress"] = credentials.server_address;
  std::string out = base64_encode(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

Result<FileAnswer> look_up(std::string_view file, const std::string& registry) {
  const Json json = Json::parse(file, nullptr, false);
  if (!json.is_object()) return invalid_argument("is no JSON object");
  FileAnswer out;
  if (const auto auths = json.find("auths"); auths != json.end() && auths->is_object()) {
    for (const auto& [key, entry] : auths->items()) {
      if (!is_entry_of(key, registry) || !entry.is_object() || entry.empty()) continue;
      DROVER_TRY(Credentials credentials, from_entry(entry, registry));
      if (credentials.username.empty() && credentials.identity_token.empty()) continue;
      out.credentials = std::move(credentials);
    }
  }
  if (out.credentials) return out;
  if (const auto helpers = json.find("credHelpers"); helpers != json.end())
    out.helper = text_at(*helpers, registry.c_str());
  if (out.helper.empty()) out.helper = text_at(json, "credsStore");
  return out;
}

Result<Credentials> read_helper_answer(std::string_view text, const std::string& registry) {
  const Json json = Json::parse(text, nullptr, false);
  const std::string user = text_at(json, "Username"), secret = text_at(json, "Secret");
  if (user.empty() || secret.empty()) return invalid_argument("the helper's answer has no Username and Secret");
  if (user == kTokenUser) return Credentials{.server_address = registry, .identity_token = secret};
  return Credentials{.username = user, .password = secret, .server_address = registry};
}

Result<std::optional<Credentials>> find_credentials(const ImageName& image, const ContainerOptions& options,
                                                    const PluginOptions& plugin, std::stop_token stop) {
  if (options.auth && !(options.auth->username.empty() && options.auth->password.empty())) {
    return std::optional(Credentials{.username = options.auth->username,
                                     .password = options.auth->password,
                                     .email = options.auth->email,
                                     .server_address = options.auth->server_address});
  }
  const std::string registry = image.registry();
  const auto fail = [&](const Status& cause) {
    return Status(cause.code(), "Failed to find docker auth for repo \"" + image.repository + "\": " + cause.message());
  };
  if (!plugin.auth_config.empty()) {
    auto found = from_file(plugin.auth_config, registry, stop);
    if (!found) return fail(found.status());
    if (*found) return found;
  }
  if (!plugin.auth_helper.empty()) {
    auto found = ask(plugin.auth_helper, registry, stop);
    if (!found) return fail(found.status());
    return found;
  }
  return std::optional<Credentials>();
}

}  // namespace drover::docker
