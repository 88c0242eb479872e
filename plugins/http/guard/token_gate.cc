#include "token_gate.h"

#include <algorithm>

#include "drover/api/acl.pb.h"

namespace drover::api {
namespace {

constexpr size_t kMaxToken = 16 << 10;

bool is_readable(std::string_view token) {
  return token.size() <= kMaxToken && std::ranges::all_of(token, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

std::variant<std::string, Answer> shown_token(std::string_view token, std::string_view authorization) {
  const std::string_view shown = token.empty() ? bearer(authorization) : token;
  if (shown.empty()) {
    Answer answer = text_answer(401, "this socket wants a token: X-Nomad-Token, or Authorization: Bearer");
    answer.headers.emplace_back("WWW-Authenticate", "Bearer");
    return answer;
  }
  if (!is_readable(shown)) return text_answer(400, "the token holds what no token does, or is too long");
  return std::string(shown);
}

Question whoami(std::string token) {
  Question question{.context = {.method = "/drover.v1.Acl/WhoAmI"}, .request = v1::WhoAmIRequest().SerializeAsString()};
  question.context.query.token = std::move(token);
  return question;
}

std::optional<Answer> judged(const Result<Reply>& reply) {
  const Answer refused = text_answer(403, "Permission denied");
  if (!reply) {
    // "ACL support disabled" is an invalid argument, and so are tokens that cannot be read.
    const int status = error_answer(reply.status()).status;
    if (status == 400 || status == 403 || status == 404) return refused;
    return text_answer(500, "the servers cannot say whose token this is: " + reply.status().message());
  }
  v1::WhoAmIResponse who;
  if (!who.ParseFromString(reply->body)) return text_answer(500, "the servers cannot say whose token this is");
  if (who.kind() == v1::WhoAmIResponse::TOKEN || who.kind() == v1::WhoAmIResponse::WORKLOAD) return std::nullopt;
  return refused;
}

bool is_guess(const Result<Reply>& reply) {
  const int status = reply ? 0 : error_answer(reply.status()).status;
  return status == 403 || status == 404;
}

}  // namespace drover::api
