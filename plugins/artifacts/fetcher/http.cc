#include "fetcher/http.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>

namespace drover::artifacts {
namespace {

constexpr int kAttempts = 4;
constexpr long kMostRedirects = 10;
constexpr long kStuckSeconds = 60;  // without a byte

struct Close {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  void operator()(std::FILE* file) const { std::fclose(file); }
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// The body as it arrives.
struct Body {
  std::FILE* file;
  uint64_t most;
  uint64_t size = 0;  // of what the file holds
  bool is_too_large = false;
  bool is_unwritable = false;
  std::string tag;         // says which version of the file this is
  long status = 0;         // of the last headers
  bool wants_rest = false;  // this attempt asked for what is missing
};

bool begin_anew(Body& body) {
  body.size = 0;
  std::rewind(body.file);
  return ::ftruncate(::fileno(body.file), 0) == 0;
}

size_t take(char* data, size_t, size_t size, void* to) {
  Body& body = *static_cast<Body*>(to);
  if (body.status < 200 || body.status > 299) return size;  // the words of an error
  if (body.wants_rest && body.status != 206) {  // the server begins anew
    if (!begin_anew(body)) return body.is_unwritable = true, 0;
    body.wants_rest = false;
  }
  if (body.most > 0 && body.size + size > body.most) return body.is_too_large = true, 0;
  if (std::fwrite(data, 1, size, body.file) != size) return body.is_unwritable = true, 0;
  body.size += size;
  return size;
}

size_t head(char* data, size_t, size_t size, void* to) {
  Body& body = *static_cast<Body*>(to);
  std::string line(data, size);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.pop_back();
  if (line.starts_with("HTTP/")) {
    const size_t blank = line.find(' ');
    body.status = blank == std::string::npos ? 0 : std::strtol(line.c_str() + blank, nullptr, 10);
    return size;
  }
  const size_t colon = line.find(':');
  if (colon == std::string::npos) return size;
  std::string name = line.substr(0, colon);
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 32) : c;
  const size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
  if (name == "etag" && !line.substr(value).starts_with("W/")) body.tag = line.substr(value);
  if (name == "last-modified" && body.tag.empty()) body.tag = line.substr(value);
  return size;
}

bool may_go_on(CURLcode code) {
  return code == CURLE_PARTIAL_FILE || code == CURLE_RECV_ERROR || code == CURLE_GOT_NOTHING ||
         code == CURLE_SEND_ERROR || code == CURLE_HTTP2_STREAM || code == CURLE_HTTP2;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// "eu-west-1" of s3-eu-west-1.amazonaws.com, s3.eu-west-1.amazonaws.com, bucket.s3-eu-west-1.amazonaws.com.
std::string region_of(const Request& request, const std::string& url) {
  if (const std::string said = request.option("region"); !said.empty()) return said;
  const size_t begin = url.find("s3"), end = url.find(".amazonaws.com");
  if (begin != std::string::npos && end != std::string::npos && end > begin + 3)
    return url.substr(begin + 3, end - begin - 3);
  return "us-east-1";
}

class Transfer {
 public:
  Transfer(const Request& request, std::string url)
      : request_(request), url_(std::move(url)), curl_(curl_easy_init()) {}

  Status run(const std::string& path) {
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "w+b"));
    if (!file) return unavailable("cannot write " + path);
    Body body{.file = file.get(), .most = request_.most_bytes};
    DROVER_RETURN_IF_ERROR(prepare(body));
    Status status;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      const CURLcode code = attempt_once(body);
      status = outcome(code, body);
      if (status.ok() || !may_go_on(code) || body.is_too_large || body.is_unwritable) break;
    }
    if (status.ok() && std::fflush(file.get()) != 0) return unavailable("cannot write " + path);
    return status;
  }

 private:
  template <typename Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(curl_.get(), option, value);
  }

  Status prepare(Body& body) {
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 1L);
    set(CURLOPT_MAXREDIRS, kMostRedirects);
    set(CURLOPT_TIMEOUT_MS, static_cast<long>(request_.timeout.count()));
    set(CURLOPT_CONNECTTIMEOUT, 30L);
    set(CURLOPT_LOW_SPEED_LIMIT, 1L);
    set(CURLOPT_LOW_SPEED_TIME, kStuckSeconds);
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_USERAGENT, "drover");
    set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_OPTIONAL));
    set(CURLOPT_ERRORBUFFER, words_.data());
    set(CURLOPT_WRITEFUNCTION, &take);
    set(CURLOPT_WRITEDATA, &body);
    set(CURLOPT_HEADERFUNCTION, &head);
    set(CURLOPT_HEADERDATA, &body);
    if (request_.is_insecure) {
      set(CURLOPT_SSL_VERIFYPEER, 0L);
      set(CURLOPT_SSL_VERIFYHOST, 0L);
    }
    for (const auto& [name, value] : request_.headers) {
      if ((name + value).find_first_of("\r\n") != std::string::npos) return invalid_argument("a header has two lines");
      add_header(name + ": " + value);
    }
    if (request_.getter == "s3") DROVER_RETURN_IF_ERROR(sign_for_s3());
    if (request_.getter == "gcs") DROVER_RETURN_IF_ERROR(ask_gcs());
    set(CURLOPT_URL, url_.c_str());
    return ok_status();
  }

  Status sign_for_s3() {
    if (!request_.option("aws_profile").empty()) {
      return invalid_argument("aws_profile is not read; give aws_access_key_id and aws_access_key_secret");
    }
    std::string id = request_.option("aws_access_key_id"), secret = request_.option("aws_access_key_secret"),
                token = request_.option("aws_access_token");
    if (id.empty()) {
      id = environment("AWS_ACCESS_KEY_ID");
      secret = environment("AWS_SECRET_ACCESS_KEY");
      token = environment("AWS_SESSION_TOKEN");
    }
    if (const std::string version = request_.option("version"); !version.empty())
      url_ += (url_.find('?') == std::string::npos ? "?versionId=" : "&versionId=") + version;
    if (id.empty()) return ok_status();  // a public one
    set(CURLOPT_AWS_SIGV4, ("aws:amz:" + region_of(request_, url_) + ":s3").c_str());
    set(CURLOPT_USERPWD, (id + ":" + secret).c_str());
    if (!token.empty()) add_header("x-amz-security-token: " + token);
    add_header("x-amz-content-sha256: UNSIGNED-PAYLOAD");
    return ok_status();
  }

  // https://www.googleapis.com/storage/v1/BUCKET/KEY is how the source names it; this is how it is read.
  Status ask_gcs() {
    constexpr std::string_view kBase = "https://www.googleapis.com/storage/v1/";
    const size_t bucket_end = url_.find('/', kBase.size());
    if (!url_.starts_with(kBase) || bucket_end == std::string::npos)
      return invalid_argument("URL is not a valid GCS URL: " + url_);
    std::string key = url_.substr(bucket_end + 1), generation;
    if (const size_t hash = key.find('#'); hash != std::string::npos) {
      generation = "&generation=" + key.substr(hash + 1);
      key.erase(hash);
    }
    char* escaped = curl_easy_escape(curl_.get(), key.c_str(), static_cast<int>(key.size()));
    url_ = "https://storage.googleapis.com/download/storage/v1/b/" +
           url_.substr(kBase.size(), bucket_end - kBase.size()) + "/o/" + escaped + "?alt=media" + generation;
    curl_free(escaped);
    if (const std::string token = environment("GOOGLE_OAUTH_ACCESS_TOKEN"); !token.empty())
      add_header("Authorization: Bearer " + token);
    return ok_status();
  }

  void add_header(const std::string& line) {
    curl_slist* longer = curl_slist_append(headers_.get(), line.c_str());
    (void)headers_.release();
    headers_.reset(longer);
    set(CURLOPT_HTTPHEADER, headers_.get());
  }

  CURLcode attempt_once(Body& body) {
    words_[0] = '\0';
    body.wants_rest = body.size > 0 && !body.tag.empty();
    if (body.wants_rest) {
      set(CURLOPT_RANGE, (std::to_string(body.size) + "-").c_str());
      add_header("If-Range: " + body.tag);
    } else if (body.size > 0) {
      if (!begin_anew(body)) return CURLE_WRITE_ERROR;
    }
    return curl_easy_perform(curl_.get());
  }

  Status outcome(CURLcode code, const Body& body) const {
    if (body.is_too_large) {
      return invalid_argument("the file is larger than the limit of " + std::to_string(request_.most_bytes) +
                              " bytes (client.artifact.http_max_size)");
    }
    if (body.is_unwritable) return unavailable("cannot write the file: is the disk full?");
    if (code == CURLE_OK) {
      if (body.status == 200 || body.status == 206) return ok_status();
      const bool is_final = body.status == 400 || body.status == 401 || body.status == 403 || body.status == 404 ||
                            body.status == 410;
      const std::string text = "bad response code: " + std::to_string(body.status);
      return is_final ? invalid_argument(text) : unavailable(text);
    }
    const std::string text = words_[0] != '\0' ? words_.data() : curl_easy_strerror(code);
    const bool is_wrong = code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL ||
                          code == CURLE_TOO_MANY_REDIRECTS || code == CURLE_PEER_FAILED_VERIFICATION;
    return is_wrong ? invalid_argument(text) : unavailable(text);
  }

  const Request& request_;
  std::string url_;
  std::unique_ptr<CURL, Close> curl_;
  std::unique_ptr<curl_slist, Close> headers_;
  std::array<char, CURL_ERROR_SIZE> words_{};
};

}  // namespace

Status download(const Request& request, const std::string& url, const std::string& path) {
  return Transfer(request, url).run(path);
}

}  // namespace drover::artifacts
