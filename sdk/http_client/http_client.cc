#include "drover/http_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <memory>

#include "drover/freed.h"
#include "drover/trim.h"

namespace drover::http_client {
namespace {

using Easy = std::unique_ptr<CURL, Freed<curl_easy_cleanup>>;
using Multi = std::unique_ptr<CURLM, Freed<curl_multi_cleanup>>;
using List = std::unique_ptr<curl_slist, Freed<curl_slist_free_all>>;
using Url = std::unique_ptr<CURLU, Freed<curl_url_cleanup>>;

constexpr int kLookEveryMs = 1000;

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

// The URL with another host in it.
std::string with_host(const std::string& url, const std::string& host) {
  const Url parsed(curl_url());
  char* text = nullptr;
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK ||
      curl_url_set(parsed.get(), CURLUPART_HOST, host.c_str(), 0) != CURLUE_OK ||
      curl_url_get(parsed.get(), CURLUPART_URL, &text, 0) != CURLUE_OK)
    return url;
  std::string out = text;
  curl_free(text);
  return out;
}

void append(List& list, const std::string& line) {
  if (curl_slist* longer = curl_slist_append(list.get(), line.c_str())) (void)list.release(), list.reset(longer);
}

struct Taken {
  Answer answer{};
  size_t most = 0;
  bool is_too_long = false;

  static size_t body(char* data, size_t, size_t size, void* to) {
    auto& taken = *static_cast<Taken*>(to);
    taken.is_too_long = taken.answer.body.size() + size > taken.most;
    if (taken.is_too_long) return 0;
    taken.answer.body.append(data, size);
    return size;
  }
  static size_t header(char* data, size_t, size_t size, void* to) {
    const std::string_view line(data, size);
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return size;
    std::string name(line.substr(0, colon));
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    static_cast<Taken*>(to)->answer.headers[name] = std::string(trim(line.substr(colon + 1)));
    return size;
  }
};

// What libcurl reads until the exchange is over.
struct Lent {
  List headers, connect_to;
};

void set_content(CURL* easy, const Request& request, Lent& lent) {
  for (const auto& [name, value] : request.headers) append(lent.headers, name + ": " + value);
  append(lent.headers, "Expect:");  // the body follows at once
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lent.headers.get());
  if (request.method == "GET") return;
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, static_cast<long>(request.body.size()));
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

void set_place(CURL* easy, const Request& request, Lent& lent) {
  const std::string& name = request.tls.server_name;
  if (name.empty()) {
    curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  } else {
    append(lent.connect_to, "::" + part_of(request.url, CURLUPART_HOST) + ":" + part_of(request.url, CURLUPART_PORT));
    curl_easy_setopt(easy, CURLOPT_CONNECT_TO, lent.connect_to.get());
    curl_easy_setopt(easy, CURLOPT_URL, with_host(request.url, name).c_str());
  }
  if (!request.unix_socket.empty()) curl_easy_setopt(easy, CURLOPT_UNIX_SOCKET_PATH, request.unix_socket.c_str());
}

void set_tls(CURL* easy, const Tls& tls) {
  const auto set = [&](CURLoption option, const std::string& text) {
    if (!text.empty()) curl_easy_setopt(easy, option, text.c_str());
  };
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, tls.is_verified ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, tls.is_verified ? 2L : 0L);
  const bool has_authorities = !tls.ca.empty() || !tls.ca_file.empty() || !tls.ca_path.empty();
  if (has_authorities) {  // those and no others
    curl_easy_setopt(easy, CURLOPT_CAINFO, nullptr);
    curl_easy_setopt(easy, CURLOPT_CAPATH, nullptr);
  }
  set(CURLOPT_CAINFO, tls.ca_file);
  set(CURLOPT_CAPATH, tls.ca_path);
  if (!tls.ca.empty()) {
    curl_blob authorities{const_cast<char*>(tls.ca.data()), tls.ca.size(), CURL_BLOB_COPY};
    curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &authorities);
  }
  set(CURLOPT_SSLCERT, tls.cert_file);
  set(CURLOPT_SSLKEY, tls.key_file);
}

void set_limits(CURL* easy, const Request& request, Taken& taken) {
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, static_cast<long>(request.time_limit.count()));
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &Taken::body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &taken);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &Taken::header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &taken);
}

// Until it is over or `stop` is requested, which wakes it.
CURLcode perform(CURL* easy, const std::stop_token& stop) {
  const Multi multi(curl_multi_init());
  if (!multi || curl_multi_add_handle(multi.get(), easy) != CURLM_OK) return CURLE_OUT_OF_MEMORY;
  CURLcode code = CURLE_OK;
  {
    const std::stop_callback wake(stop, [&] { curl_multi_wakeup(multi.get()); });
    int running = 1;
    while (running > 0 && !stop.stop_requested()) {
      if (curl_multi_perform(multi.get(), &running) != CURLM_OK) code = CURLE_OUT_OF_MEMORY, running = 0;
      if (running > 0) curl_multi_poll(multi.get(), nullptr, 0, kLookEveryMs, nullptr);
    }
  }
  int left = 0;
  while (const CURLMsg* said = curl_multi_info_read(multi.get(), &left)) {
    if (said->msg == CURLMSG_DONE) code = said->data.result;
  }
  curl_multi_remove_handle(multi.get(), easy);
  return code;
}

bool has_line_break(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) != text.npos; }

}  // namespace

Result<Answer> exchange(const Request& request, std::stop_token stop) {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) return internal_error("libcurl cannot be used");
  for (const auto& [name, value] : request.headers) {
    if (has_line_break(name) || has_line_break(value)) return invalid_argument("a header has a line break");
  }
  const Easy easy(curl_easy_init());
  if (!easy) return resource_exhausted("no memory for a request");
  char error[CURL_ERROR_SIZE] = {};
  Lent lent;
  Taken taken{.most = request.max_answer};
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, error);
  set_place(easy.get(), request, lent);
  set_content(easy.get(), request, lent);
  set_tls(easy.get(), request.tls);
  set_limits(easy.get(), request, taken);
  const CURLcode code = perform(easy.get(), stop);
  const auto failed = [&](const std::string& why) { return unavailable(origin_of(request.url) + ": " + why); };
  if (stop.stop_requested()) return cancelled("given up");
  if (taken.is_too_long) return failed("the answer is longer than " + std::to_string(request.max_answer) + " bytes");
  if (code != CURLE_OK) return failed(error[0] ? error : curl_easy_strerror(code));
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &taken.answer.status);
  const char* redirect = nullptr;
  curl_easy_getinfo(easy.get(), CURLINFO_REDIRECT_URL, &redirect);
  if (redirect) taken.answer.redirect = redirect;
  return std::move(taken.answer);
}

std::string origin_of(const std::string& url) {
  return part_of(url, CURLUPART_SCHEME) + "://" + part_of(url, CURLUPART_HOST) + ":" + part_of(url, CURLUPART_PORT);
}

std::string encoded(std::string_view text) {
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

}  // namespace drover::http_client
