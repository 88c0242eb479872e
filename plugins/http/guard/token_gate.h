// The check of sockets on which everybody must show a token, whatever access control says: those of tasks. Pure.
//
//   header ──shown_token──▶ no token: 401, an unreadable one: 400
//                  └─ whoami ──▶ judged: a token or a task's identity goes on; anonymous or a bad one: 403; else 500
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "drover/methods.h"
#include "drover/result.h"
#include "request.h"

namespace drover::api {

// The token that a request shows, or the answer to one that shows none.
std::variant<std::string, Answer> shown_token(std::string_view token, std::string_view authorization);
// The call that asks whose token it is, with the request of that call.
struct Question {
  CallContext context;
  std::string request;
};
Question whoami(std::string token);
// The answer instead of passing the request on; nothing when it may pass.
std::optional<Answer> judged(const Result<Reply>& reply);
// True when the token turned out to be none. Where access control is off nobody can tell, and nobody can guess.
bool is_guess(const Result<Reply>& reply);

}  // namespace drover::api
