#include "client.h"

#include <nlohmann/json.hpp>

#include "client/connection.h"

namespace drover::cli {
namespace {

constexpr std::string_view kWantsTls = "Client sent an HTTP request to an HTTPS server";

Status status_of(long http_status, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty()) text = "the agent answered with HTTP status " + std::to_string(http_status);
  switch (http_status) {
    case 400:
      return invalid_argument(text);
    case 401:
    case 403:
      return permission_denied(text);
    case 404:
      return not_found(text);
    case 429:
      return resource_exhausted(text);
    case 501:
      return unimplemented(text);
    default:
      return internal_error("Unexpected response code: " + std::to_string(http_status) + " (" + text + ")");
  }
}

// One request under way, as the functions that libcurl calls see it.
struct Transfer {
  CURL* curl;
  const Client::Receiver& receive;
  ByteSource* body;
  std::string refusal = {};  // the text of an answer that is an error
  Status source = ok_status();
  bool is_enough = false;

  long http_status() const {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    return status;
  }
  std::string header(const char* name) const {
    curl_header* found = nullptr;
    const CURLHcode code = curl_easy_header(curl, name, 0, CURLH_HEADER, -1, &found);
    return code == CURLHE_OK ? found->value : "";
  }
  static size_t take(char* bytes, size_t, size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    if (transfer.http_status() >= 400) {
      transfer.refusal.append(bytes, size);
    } else {
      transfer.is_enough = !transfer.receive({bytes, size});
    }
    return transfer.is_enough ? 0 : size;
  }
  static size_t give(char* into, size_t, size_t size, void* self) {
    auto& transfer = *static_cast<Transfer*>(self);
    const Result<size_t> n = transfer.body->read({into, size});
    transfer.source = n.status();
    return n ? *n : CURL_READFUNC_ABORT;
  }
};

class Headers {
 public:
  ~Headers() { curl_slist_free_all(list_); }
  void add(const std::string& line) { list_ = curl_slist_append(list_, line.c_str()); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

}  // namespace

Client::Client(ClientOptions options)
    : options_(std::make_unique<const ClientOptions>(std::move(options))),
      connection_(std::make_unique<Connection>(*options_)),
      name_space_(options_->name_space) {}
Client::~Client() = default;

std::string Client::target(const ApiRequest& request) const {
  std::string out = request.path;
  char separator = request.path.find('?') == std::string::npos ? '?' : '&';
  const auto add = [&](std::string_view name, std::string_view value) {
    out += separator + std::string(name) + "=" + percent_encode(value);
    separator = '&';
  };
  for (const auto& [name, value] : request.parameters) add(name, value);
  if (!options_->region.empty()) add("region", options_->region);
  if (!name_space_.empty() && !request.parameters.contains("namespace")) add("namespace", name_space_);
  return out;
}

nlohmann::json Response::json() const { return body.empty() ? nlohmann::json() : nlohmann::json::parse(body); }

Status Client::exchange(const ApiRequest& asked, ByteSource* body, uint64_t size, const Receiver& receive,
                        Response& head) {
  DROVER_TRY(CURL* const curl, connection_->begin(target(asked)));
  const auto set = [curl](CURLoption option, auto value) {
    DROVER_CHECK(curl_easy_setopt(curl, option, value) == CURLE_OK);
  };
  Transfer transfer{.curl = curl, .receive = receive, .body = body};
  Headers headers;
  headers.add("Expect:");  // an agent that refuses says so while the body is still on its way
  if (!options_->token.empty()) headers.add("X-Nomad-Token: " + options_->token);
  for (const auto& [name, value] : asked.headers) headers.add(name + ": " + value);
  if (body != nullptr) {
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
    set(CURLOPT_READFUNCTION, &Transfer::give);
    set(CURLOPT_READDATA, &transfer);
  } else if (asked.verb == "HEAD") {
    set(CURLOPT_NOBODY, 1L);  // it would wait for one
  } else if (size > 0 || asked.verb != "GET") {
    headers.add("Content-Type: application/json");
    set(CURLOPT_POSTFIELDS, asked.body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(size));
  }
  set(CURLOPT_CUSTOMREQUEST, asked.verb.c_str());
  set(CURLOPT_HTTPHEADER, headers.get());
  set(CURLOPT_WRITEFUNCTION, &Transfer::take);
  set(CURLOPT_WRITEDATA, &transfer);
  // libcurl asks again when a connection that it kept is closed meanwhile; a change is asked for once.
  if (asked.verb != "GET") set(CURLOPT_FRESH_CONNECT, 1L);
  const CURLcode code = curl_easy_perform(curl);
  if (transfer.is_enough) return ok_status();
  DROVER_RETURN_IF_ERROR(transfer.source);
  const long status = transfer.http_status();
  if (status == 400 && transfer.refusal.starts_with(kWantsTls)) return connection_->wants_tls();
  if (status >= 400) return status_of(status, std::move(transfer.refusal));
  if (code != CURLE_OK) return connection_->failure(code);
  head.next_token = transfer.header("X-Nomad-NextToken");
  head.digest = transfer.header("Digest");
  return ok_status();
}

Status Client::exchange(const ApiRequest& asked, const Receiver& receive, Response& head) {
  return exchange(asked, nullptr, asked.body.size(), receive, head);
}

Status Client::unreadable(const std::string& why) const {
  return internal_error("the agent's answer cannot be read (" + why + "); is there a drover agent at " +
                        options_->address + "?");
}

Result<Response> Client::fetch(const ApiRequest& request) {
  Response response;
  DROVER_RETURN_IF_ERROR(exchange(request, response.collect(), response));
  return response;
}

Result<nlohmann::json> Client::send(const ApiRequest& request) {
  DROVER_TRY(Response response, fetch(request));
  if (!response.body.empty() && !nlohmann::json::accept(response.body)) return unreadable("it is not JSON");
  return response.json();
}

Status Client::call(const std::string& method, const ApiRequest& request, Response& response,
                    google::protobuf::Message& message) {
  DROVER_RETURN_IF_ERROR(exchange(request, response.collect(), response));
  const Status status = read_api_answer(method, response.body, message);
  return status.ok() ? ok_status() : unreadable(status.message());
}

}  // namespace drover::cli
