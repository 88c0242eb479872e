#include "redaction.h"

#include <nlohmann/json.hpp>

#include "drover/object_name.h"

namespace drover::login {
namespace {

using Json = nlohmann::json;

constexpr const char* kInstead = "redacted";

Json parsed(const std::string& text) { return Json::parse(text, nullptr, /*allow_exceptions=*/false); }
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

// All below a secret name is secret.
void redact(Json& value, bool is_secret) {
  if (value.is_string() && is_secret && value != "") value = kInstead;
  if (!value.is_structured()) return;
  for (auto& [name, each] : value.items()) redact(each, is_secret || (value.is_object() && is_secret_name(name)));
}

Status restore(Json& value, const Json* existing, const std::string& path, bool is_secret) {
  if (value == kInstead && is_secret) {
    if (!existing || !existing->is_string()) return invalid_argument(path + ": there is no secret that is redacted");
    value = *existing;
  }
  if (!value.is_structured()) return ok_status();
  for (auto& [name, each] : value.items()) {
    const Json* beside = nullptr;
    if (existing && value.is_object() && existing->is_object() && existing->contains(name)) beside = &(*existing)[name];
    if (existing && value.is_array() && existing->is_array() && existing->size() == value.size())
      beside = &(*existing)[std::stoul(name)];
    DROVER_RETURN_IF_ERROR(restore(each, beside, path.empty() ? name : path + "." + name,
                                   is_secret || (value.is_object() && is_secret_name(name))));
  }
  return ok_status();
}

}  // namespace

bool is_secret_name(std::string_view name) {
  const std::string lower = lower_case(std::string(name));
  for (const char* end : {"secret", "password", "passphrase", "privatekey", "pemkey", "token"}) {
    if (lower.ends_with(end)) return true;
  }
  return false;
}

std::string redacted(const std::string& config) {
  Json object = parsed(config);
  if (object.is_discarded()) return {};
  redact(object, false);
  return text_of(object);
}

bool has_secrets(const std::string& config) {
  const Json object = parsed(config);
  return !object.is_discarded() && text_of(object) != redacted(config);
}

Result<std::string> with_secrets(const std::string& config, const std::string& existing) {
  Json object = parsed(config);
  if (object.is_discarded() || !object.is_object()) return invalid_argument("Config must be an object");
  const Json before = parsed(existing);
  DROVER_RETURN_IF_ERROR(restore(object, before.is_object() ? &before : nullptr, "", false).with_context("Config"));
  return text_of(object);
}

}  // namespace drover::login
