#include "drover/auth_config.h"
#include "drover/base64.h"
#include "drover/http_client.h"
#include "drover/provider.h"

namespace drover::provider {
namespace {

http_client::Request request_for(const Question& question) {
  http_client::Request request{.url = question.url,
                               .headers = {{"Accept", "application/json"}},
                               .tls = {.ca = question.ca},
                               .time_limit = kTimeLimit,
                               .max_answer = kMaxAnswer};
  if (!question.bearer.empty()) request.headers.emplace_back("Authorization", "Bearer " + question.bearer);
  if (!question.user.empty())
    request.headers.emplace_back("Authorization",
                                 "Basic " + base64_encode(question.user + ":" + question.password));
  if (!question.form.empty()) {
    request.method = "POST";
    request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
    request.body = question.form;
  }
  return request;
}

Status failure(const std::string& url, const std::string& why) {
  return unavailable(http_client::origin_of(url) + ": " + why);
}

}  // namespace

Result<Answer> ask(const Question& question, std::stop_token stop) {
  http_client::Request request = request_for(question);
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    if (!auth::is_trusted_url(request.url)) return unavailable("the provider's address does not begin with https://");
    auto answer = http_client::exchange(request, stop);
    if (answer.status().code() == Code::cancelled) return cancelled("the login took too long or was given up");
    if (!answer) return answer.status();
    const std::string next = answer->redirect;
    if (next.empty())
      return Answer{.status = answer->status,
                    .content_type = answer->headers["content-type"],
                    .body = std::move(answer->body)};
    if (!question.form.empty()) return failure(request.url, "it redirects a request that carries secrets");
    if (http_client::origin_of(next) != http_client::origin_of(request.url))
      return failure(request.url, "it redirects to " + http_client::origin_of(next));
    request.url = next;
  }
  return failure(question.url, "it redirects more than " + std::to_string(kMostRedirects) + " times");
}


}  // namespace drover::provider
