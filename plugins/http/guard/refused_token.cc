#include "refused_token.h"

#include <chrono>
#include <utility>

#include "token_gate.h"

namespace drover::api {

void note_refusal(const SessionShared& shared, std::string place, std::string token, std::shared_ptr<void> kept) {
  if (token.empty()) return;
  Question question = whoami(std::move(token));
  shared.caller.call(std::move(question.context), std::move(question.request),
                     [&shared, place = std::move(place), kept = std::move(kept)](const Result<Reply>& reply) {
                       if (is_guess(reply)) shared.attempts.failed(place, std::chrono::steady_clock::now());
                     });
}

}  // namespace drover::api
