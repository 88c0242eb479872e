#include <curl/curl.h>

#include <algorithm>

#include "drover/auth_config.h"
#include "drover/freed.h"
#include "drover/provider.h"

namespace drover::provider {
namespace {

using Handle = std::unique_ptr<CURL, Freed<curl_easy_cleanup>>;
using List = std::unique_ptr<curl_slist, Freed<curl_slist_free_all>>;
using Url = std::unique_ptr<CURLU, Freed<curl_url_cleanup>>;

struct Taken {
  std::string body;
  bool is_too_long = false;
  std::stop_token stop;

  static size_t write(char* data, size_t, size_t size, void* to) {
    auto& taken = *static_cast<Taken*>(to);
    taken.is_too_long = taken.body.size() + size > kMaxAnswer;
    if (taken.is_too_long) return 0;
    taken.body.append(data, size);
    return size;
  }
  static int progress(void* to, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Taken*>(to)->stop.stop_requested() ? 1 : 0;
  }
};

std::string part_of(const std::string& url, CURLUPart part) {
  const Url parsed(curl_url());
  char* text = nullptr;
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
      curl_url_get(parsed.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK)
    return {};
  std::string out = text;
  curl_free(text);
  return out;
}

// "https://id.example:443": whom a URL speaks to; for errors, too, since paths and queries may hold secrets.
std::string origin_of(const std::string& url) {
  return part_of(url, CURLUPART_SCHEME) + "://" + part_of(url, CURLUPART_HOST) + ":" + part_of(url, CURLUPART_PORT);
}

void set_content(CURL* easy, const Question& question, List& headers) {
  const auto append = [&](const std::string& line) {
    if (curl_slist* longer = curl_slist_append(headers.get(), line.c_str()))
      (void)headers.release(), headers.reset(longer);
  };
  append("Accept: application/json");
  if (!question.bearer.empty()) append("Authorization: Bearer " + question.bearer);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers.get());
  if (!question.user.empty()) {
    curl_easy_setopt(easy, CURLOPT_HTTPAUTH, CURLAUTH_BASIC);
    curl_easy_setopt(easy, CURLOPT_USERNAME, question.user.c_str());
    curl_easy_setopt(easy, CURLOPT_PASSWORD, question.password.c_str());
  }
  if (question.form.empty()) return;
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(question.form.size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, question.form.c_str());
}

void set_limits(CURL* easy, const Question& question, Taken& taken) {
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(std::chrono::milliseconds(kTimeLimit).count()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Taken::write);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &taken);
  curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, &Taken::progress);
  curl_easy_setopt(easy, CURLOPT_XFERINFODATA, &taken);
  if (question.ca.empty()) return;
  curl_blob authorities{const_cast<char*>(question.ca.data()), question.ca.size(), CURL_BLOB_COPY};
  curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &authorities);
  curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);  // those and no others
}

Answer answer_of(CURL* easy, std::string body) {
  Answer answer{.status = 0, .content_type = {}, .body = std::move(body)};
  const char* type = nullptr;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &answer.status);
  curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
  if (type) answer.content_type = type;
  return answer;
}

Status failure(const std::string& url, const std::string& why) { return unavailable(origin_of(url) + ": " + why); }

// One exchange. `next`: where a redirect leads; empty for every other answer.
Result<Answer> exchange(const Question& question, const std::stop_token& stop, std::string& next) {
  const Handle easy(curl_easy_init());
  if (!easy) return resource_exhausted("no memory for a request to the provider");
  char error[CURL_ERROR_SIZE] = {};
  List headers;
  Taken taken{.body = {}, .is_too_long = false, .stop = stop};
  curl_easy_setopt(easy.get(), CURLOPT_URL, question.url.c_str());
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, error);
  set_content(easy.get(), question, headers);
  set_limits(easy.get(), question, taken);
  const CURLcode code = curl_easy_perform(easy.get());
  if (stop.stop_requested()) return cancelled("the login took too long or was given up");
  if (taken.is_too_long) return failure(question.url, "the answer is longer than 1 MiB");
  if (code != CURLE_OK) return failure(question.url, error[0] ? error : curl_easy_strerror(code));
  const char* redirect = nullptr;
  curl_easy_getinfo(easy.get(), CURLINFO_REDIRECT_URL, &redirect);
  next = redirect ? redirect : "";
  return answer_of(easy.get(), std::move(taken.body));
}

}  // namespace

Result<Answer> ask(const Question& question, std::stop_token stop) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) return internal_error("libcurl cannot be used");
  Question now = question;
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    if (!auth::is_trusted_url(now.url)) return unavailable("the provider's address does not begin with https://");
    std::string next;
    DROVER_TRY(Answer answer, exchange(now, stop, next));
    if (next.empty()) return answer;
    if (!now.form.empty()) return failure(now.url, "it redirects a request that carries secrets");
    if (origin_of(next) != origin_of(now.url)) return failure(now.url, "it redirects to " + origin_of(next));
    now.url = next;
  }
  return failure(question.url, "it redirects more than " + std::to_string(kMostRedirects) + " times");
}

std::string form_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                          (byte >= '0' && byte <= '9') || c == '-' || c == '.' || c == '_' || c == '~';
    if (is_plain) {
      out += c;
    } else {
      out += '%', out += kDigits[byte >> 4], out += kDigits[byte & 15];
    }
  }
  return out;
}

}  // namespace drover::provider
