#include "crypto/token.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "drover/base64url.h"

namespace drover::keyring {
namespace {

using Json = nlohmann::json;

Status refused(std::string why) { return permission_denied("token refused: " + std::move(why)); }

// The object; discarded where a member comes twice, or the text is no object.
Json read_object(std::string_view text) {
  std::vector<std::set<std::string>> open;
  bool is_double = false;
  const auto look = [&](int, Json::parse_event_t event, Json& value) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second) is_double = true;
    return true;
  };
  Json object = Json::parse(text, look, /*allow_exceptions=*/false);
  if (is_double || !object.is_object()) return Json(Json::value_t::discarded);
  return object;
}

std::string text_in(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : std::string();
}

}  // namespace

std::string signing_text(std::string_view algorithm, std::string_view key_id, std::string_view claims) {
  const std::string header =
      R"({"alg":")" + std::string(algorithm) + R"(","kid":")" + std::string(key_id) + R"(","typ":"JWT"})";
  return base64url(header) + "." + base64url(claims);
}

Result<Token> read_token(std::string_view text) {
  if (text.size() > kMaxToken) return refused("it is longer than " + std::to_string(kMaxToken) + " bytes");
  const size_t first = text.find('.');
  const size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
    return refused("it does not have three parts");
  const auto header = base64url_decode(text.substr(0, first));
  auto claims = base64url_decode(text.substr(first + 1, second - first - 1));
  auto signature = base64url_decode(text.substr(second + 1));
  if (!header || !claims || !signature) return refused("a part is not base64url without padding");
  const Json said = read_object(*header);
  if (said.is_discarded()) return refused("its header is no JSON object");
  if (said.contains("crit")) return refused("its header has a \"crit\" that is not known");
  if (said.contains("typ") && text_in(said, "typ") != "JWT") return refused("its header's \"typ\" is not JWT");
  if (read_object(*claims).is_discarded()) return refused("its claims are no JSON object");
  Token token{.algorithm = text_in(said, "alg"),
              .key_id = text_in(said, "kid"),
              .claims = *std::move(claims),
              .signed_text = text.substr(0, second),
              .signature = *std::move(signature)};
  if (token.key_id.empty()) return permission_denied("missing key ID header");
  return token;
}

}  // namespace drover::keyring
