#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "drover/base64url.h"
#include "drover/jose.h"
#include "strict_json.h"

namespace drover::jose {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 10> kNames = {"RS256", "RS384", "RS512", "PS256", "PS384",
                                                     "PS512", "ES256", "ES384", "ES512", "EdDSA"};

// Empty for none. Errors: invalid_argument for one that is no text.
Result<std::string> header_text(const Json& header, const char* name) {
  const auto at = header.find(name);
  if (at == header.end()) return std::string();
  if (!at->is_string())
    return invalid_argument("the token's header has a \"" + std::string(name) + "\" that is no text");
  return at->get<std::string>();
}

struct Header {
  Algorithm algorithm;
  std::string key_id, type;
};

Result<Header> read_header(std::string_view json) {
  const auto header = parse_object(json);
  if (!header) return header.status().with_context("the token's header");
  if (header->contains("crit")) return invalid_argument("the token's header has a \"crit\" that is not known");
  DROVER_TRY(const std::string name, header_text(*header, "alg"));
  const auto algorithm = algorithm_named(name);
  if (!algorithm) return invalid_argument("token signed with unexpected algorithm");
  DROVER_TRY(std::string key_id, header_text(*header, "kid"));
  DROVER_TRY(std::string type, header_text(*header, "typ"));
  return Header{.algorithm = *algorithm, .key_id = std::move(key_id), .type = std::move(type)};
}

}  // namespace

std::string_view name_of(Algorithm algorithm) { return kNames[static_cast<size_t>(algorithm)]; }

std::optional<Algorithm> algorithm_named(std::string_view name) {
  const auto at = std::ranges::find(kNames, name);
  if (at == kNames.end()) return std::nullopt;
  return static_cast<Algorithm>(at - kNames.begin());
}

Result<Token> parse_token(std::string_view text) {
  if (text.size() > kMaxToken)
    return invalid_argument("the token is longer than " + std::to_string(kMaxToken) + " bytes");
  if (text.starts_with('{')) return invalid_argument("token with multiple signatures not supported");
  const size_t first = text.find('.');
  const size_t second = first == std::string_view::npos ? first : text.find('.', first + 1);
  if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
    return invalid_argument("the token does not have three parts");
  const auto header = base64url_decode(text.substr(0, first));
  const auto payload = base64url_decode(text.substr(first + 1, second - first - 1));
  auto signature = base64url_decode(text.substr(second + 1));
  if (!header || !payload || !signature)
    return invalid_argument("a part of the token is not base64url without padding");
  DROVER_TRY(Header said, read_header(*header));
  DROVER_TRY(Claims claims, Claims::parse(*payload).with_context("the token's claims"));
  return Token{.algorithm = said.algorithm,
               .key_id = std::move(said.key_id),
               .type = std::move(said.type),
               .claims = std::move(claims),
               .signed_text = std::string(text.substr(0, second)),
               .signature = *std::move(signature)};
}

bool names_known_key(const Token& token, std::span<const Key> keys) {
  return token.key_id.empty() || std::ranges::find(keys, token.key_id, &Key::id) != keys.end();
}

bool is_signed(const Token& token, std::span<const Key> keys) {
  const bool have_ids = std::ranges::any_of(keys, [](const Key& key) { return !key.id().empty(); });
  return std::ranges::any_of(keys, [&](const Key& key) {
    if (have_ids && !token.key_id.empty() && key.id() != token.key_id) return false;
    return key.verifies(token.algorithm, token.signed_text, token.signature);
  });
}

}  // namespace drover::jose
