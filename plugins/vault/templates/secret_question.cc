#include "templates/secret_question.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "client/answer.h"
#include "drover/sha256.h"
#include "drover/trim.h"

namespace drover::vault {
namespace {

using nlohmann::json;
using namespace std::chrono_literals;
using Kind = SecretQuestion::Kind;

constexpr std::chrono::nanoseconds kStatic = 5min;  // between two looks at what has no lease
constexpr std::chrono::nanoseconds kShortest = 1s;

std::string plain(std::string_view path) {
  std::string_view text = trim(path);
  while (text.starts_with('/')) text.remove_prefix(1);
  while (text.ends_with('/')) text.remove_suffix(1);
  return std::string(text);
}

json text_member(const json& object, const char* name) {
  const json& at = member(object, name);
  return at.is_string() ? at : json("");
}
int64_t number_member(const json& object, const char* name) {
  const json& at = member(object, name);
  return at.is_number() ? at.get<int64_t>() : 0;
}

// In the names of Go's type, as templates of Nomad use them.
json as_secret(const json& answer) {
  json secret = {{"RequestID", text_member(answer, "request_id")},
                 {"LeaseID", text_member(answer, "lease_id")},
                 {"LeaseDuration", number_member(answer, "lease_duration")},
                 {"Renewable", member(answer, "renewable") == true},
                 {"Data", member(answer, "data").is_object() ? member(answer, "data") : json::object()},
                 {"Warnings", member(answer, "warnings")}};
  if (const json& auth = member(answer, "auth"); auth.is_object()) {
    secret["Auth"] = {{"ClientToken", text_member(auth, "client_token")},
                      {"Accessor", text_member(auth, "accessor")},
                      {"Policies", member(auth, "policies")},
                      {"Metadata", member(auth, "metadata")},
                      {"LeaseDuration", number_member(auth, "lease_duration")},
                      {"Renewable", member(auth, "renewable") == true}};
  }
  return secret;
}

Result<SecretValue> certificate_of(const json& data, int64_t now_ns) {
  const auto text = [&](const char* name) { return text_member(data, name).get<std::string>(); };
  if (text("certificate").empty()) return invalid_argument("the answer has no certificate");
  json chain = json::array();
  for (const json& one : member(data, "ca_chain")) {
    if (one.is_string()) chain.push_back(one);
  }
  json value = {{"Cert", text("certificate")}, {"Key", text("private_key")}, {"CA", text("issuing_ca")},
                {"CAChain", std::move(chain)}};
  // A new one is made when nine tenths of its life are over.
  const std::chrono::nanoseconds left = std::chrono::seconds(number_member(data, "expiration")) -
                                        std::chrono::nanoseconds(now_ns);
  return SecretValue{.value = text_template::value_of(std::move(value)),
                     .lease = {},
                     .lease_duration = {},
                     .again = number_member(data, "expiration") > 0 ? std::max(left * 9 / 10, kShortest) : kStatic};
}

json keys_of(const json& data) {
  json keys = json::array();
  for (const json& one : member(data, "keys")) {
    if (one.is_string()) keys.push_back(one);
  }
  std::sort(keys.begin(), keys.end());
  return keys;
}

}  // namespace

std::string SecretQuestion::name() const {
  switch (kind) {
    case Kind::read:
      return "vault.read(" + path + ")";
    case Kind::list:
      return "vault.list(" + path + ")";
    case Kind::certificate:
    case Kind::write:
      break;
  }
  const std::string text = json(data).dump(-1, ' ', false, json::error_handler_t::replace);
  const std::string digest = to_hex(sha256(text)).substr(0, 8);
  return (kind == Kind::write ? "vault.write(" : "vault.pki(") + path + " -> " + digest + ")";
}

Result<SecretQuestion> read_question(std::string_view function, std::span<const text_template::Value> arguments) {
  std::vector<std::string> texts;
  for (const text_template::Value& each : arguments) {
    if (!each->is_string()) return invalid_argument("takes texts only");
    texts.push_back(each->get<std::string>());
  }
  if (texts.empty()) return invalid_argument("takes a path");
  SecretQuestion question{.path = plain(texts.front())};
  if (question.path.empty()) return invalid_argument("takes a path, which is empty");
  if (function == "secrets") {
    if (texts.size() > 1) return invalid_argument("takes one argument, a path");
    question.kind = Kind::list;
    return question;
  }
  for (size_t i = 1; i < texts.size(); ++i) {
    const std::string_view text = trim(texts[i]);
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      return invalid_argument("argument " + std::to_string(i + 1) + " is no pair k=v");
    question.data[std::string(trim(text.substr(0, equals)))] = std::string(trim(text.substr(equals + 1)));
  }
  if (function == "pkiCert") {
    question.kind = Kind::certificate;
  } else if (!question.data.empty()) {
    question.kind = Kind::write;
  }
  return question;
}

std::string path_at(const Mount& mount, const SecretQuestion& question) {
  if (mount.kv_version != 2 || !question.path.starts_with(mount.path)) return question.path;
  const std::string below = question.path.substr(mount.path.size());
  const std::string part = question.kind == Kind::list ? "metadata" : "data";
  if (below == part || below.starts_with(part + "/")) return question.path;
  return mount.path + part + (below.empty() ? "" : "/" + below);
}

json body_at(const Mount& mount, const SecretQuestion& question) {
  json data = json::object();
  for (const auto& [key, value] : question.data) data[key] = value;
  if (mount.kv_version == 2 && question.kind == Kind::write) return {{"data", std::move(data)}};
  return data;
}

std::chrono::nanoseconds again_after(std::chrono::nanoseconds lease) { return std::max(lease * 2 / 3, kShortest); }

Result<SecretValue> read_answer(const SecretQuestion& question, const json& answer, int64_t now_ns) {
  const json& data = member(answer, "data");
  if (question.kind == Kind::certificate) return certificate_of(data, now_ns);
  if (question.kind == Kind::list)
    return SecretValue{
        .value = text_template::value_of(keys_of(data)), .lease = {}, .lease_duration = {}, .again = kStatic};
  SecretValue out;
  out.lease_duration =
      std::chrono::seconds(std::clamp<int64_t>(number_member(answer, "lease_duration"), 0, 100'000'000));
  const std::string lease = text_member(answer, "lease_id").get<std::string>();
  if (!lease.empty()) {
    if (member(answer, "renewable") == true) out.lease = lease;
    out.again = again_after(out.lease_duration);
  } else if (question.kind == Kind::read) {
    // A key-value store of version 1 says how often a secret is to be looked at by what the secret holds as "ttl".
    out.again = out.lease_duration > 0s ? std::min(again_after(out.lease_duration), kStatic) : kStatic;
  }
  // Version 2 answers for a secret that was deleted, too.
  const bool is_deleted = question.kind == Kind::read && data.is_object() && data.contains("data") &&
                          data.at("data").is_null() && data.contains("metadata");
  out.value = text_template::value_of(is_deleted ? json() : as_secret(answer));
  return out;
}

}  // namespace drover::vault
