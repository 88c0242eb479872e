#include "drover/claims.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "drover/v1/auth_method.pb.h"
#include "strict_json.h"

namespace drover::jose {
namespace {

using Json = nlohmann::json;

constexpr double kLargestWhole = 9007199254740992.0;  // 2^53: what every JSON reader agrees on

Status cannot_convert(const std::string& claim, const char* to) {
  return invalid_argument("error converting claim '" + claim + "' to " + to);
}

std::optional<std::string> text_of(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  if (value.is_number_unsigned()) return std::to_string(value.get<uint64_t>());
  if (value.is_number_integer()) return std::to_string(value.get<int64_t>());
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (!(std::abs(number) <= kLargestWhole)) return std::nullopt;
  return std::to_string(static_cast<int64_t>(number));
}

const Json* member(const Json& object, std::string_view name) {
  const auto at = object.find(name);
  return at == object.end() ? nullptr : &*at;
}

// Null also for a text that is no JSON pointer (RFC 6901).
const Json* pointed_at(const Json& object, const std::string& pointer) {
  try {
    const Json::json_pointer place(pointer);
    return object.contains(place) ? &object.at(place) : nullptr;
  } catch (const Json::exception&) {
    return nullptr;
  }
}

}  // namespace

Result<Claims> Claims::parse(std::string_view json) {
  DROVER_TRY(Json object, parse_object(json));
  return Claims(std::make_shared<const Json>(std::move(object)));
}

bool Claims::has(std::string_view name) const { return object_->contains(name); }

std::optional<std::string> Claims::text(std::string_view name) const {
  const Json* const found = member(*object_, name);
  if (!found || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

Result<std::optional<int64_t>> Claims::time(std::string_view name) const {
  const Json* const found = member(*object_, name);
  if (!found || found->is_null()) return std::optional<int64_t>();
  const double number = found->is_number() ? found->get<double>() : NAN;
  if (!(std::abs(number) <= kLargestWhole))
    return invalid_argument("the claim '" + std::string(name) + "' is no time");
  return std::optional<int64_t>(static_cast<int64_t>(number));
}

std::vector<std::string> Claims::audiences() const {
  std::vector<std::string> audiences;
  const Json* const said = member(*object_, "aud");
  if (said && said->is_string()) audiences.push_back(said->get<std::string>());
  if (!said || !said->is_array()) return audiences;
  for (const Json& each : *said) {
    if (each.is_string()) audiences.push_back(each.get<std::string>());
  }
  return audiences;
}

Claims Claims::with(const Claims& over) const {
  Json joined = *object_;
  for (const auto& [name, value] : over.object_->items()) {
    if (name != "iss" && name != "sub") joined[name] = value;
  }
  return Claims(std::make_shared<const Json>(std::move(joined)));
}

const Json* Claims::find(const std::string& claim) const {
  const Json* const found = claim.starts_with('/') ? pointed_at(*object_, claim) : member(*object_, claim);
  return found && found->is_null() ? nullptr : found;
}

Result<std::optional<std::string>> Claims::value(const std::string& claim) const {
  const Json* const found = find(claim);
  if (!found) return std::optional<std::string>();
  auto text = text_of(*found);
  if (!text) return cannot_convert(claim, "string");
  return text;
}

Result<std::optional<std::vector<std::string>>> Claims::list(const std::string& claim) const {
  const Json* const found = find(claim);
  if (!found) return std::optional<std::vector<std::string>>();
  std::vector<std::string> texts;
  const auto add = [&](const Json& each) {
    const auto text = text_of(each);
    if (text && !text->empty()) texts.push_back(*text);
    return text.has_value();
  };
  const bool is_good = found->is_array() ? std::ranges::all_of(*found, add) : add(*found);
  if (!is_good) return cannot_convert(claim, "list of strings");
  return std::optional(std::move(texts));
}

Status map_claims(const Claims& claims, const ClaimMappings& mappings, v1::AuthIdentity& identity) {
  for (const auto& [claim, name] : mappings.values) {
    DROVER_TRY(const auto value, claims.value(claim));
    if (value) (*identity.mutable_claims())[name] = *value;
  }
  for (const auto& [claim, name] : mappings.lists) {
    DROVER_TRY(const auto values, claims.list(claim));
    if (!values) continue;
    v1::AuthClaimList& list = (*identity.mutable_list_claims())[name];
    for (const std::string& each : *values) list.add_values(each);
  }
  return ok_status();
}

Result<TokenTimes> times_of(const Claims& claims, const TimeRules& rules) {
  DROVER_TRY(const auto issued, claims.time("iat"));
  DROVER_TRY(const auto not_before, claims.time("nbf"));
  DROVER_TRY(const auto expires, claims.time("exp"));
  if (!issued && !not_before && !expires)
    return invalid_argument("no issued at (iat), not before (nbf), or expiration time (exp) claims in token");
  TokenTimes times;
  times.has_issued_at = issued.has_value();
  times.issued_at = issued.value_or(0);
  times.expires_at =
      expires ? *expires
              : std::max(issued.value_or(INT64_MIN), not_before.value_or(INT64_MIN)) + rules.expiration_leeway.count();
  times.not_before = not_before ? *not_before : issued ? *issued : times.expires_at - rules.not_before_leeway.count();
  return times;
}

Status check_times(const TokenTimes& times, const TimeRules& rules, int64_t now) {
  const int64_t skew = rules.clock_skew.count();
  if (now + skew < times.not_before) return invalid_argument("token not yet valid");
  if (now - skew > times.expires_at) return invalid_argument("token is expired");
  if (times.has_issued_at && now + skew < times.issued_at) return invalid_argument("token issued in the future");
  return ok_status();
}

}  // namespace drover::jose
