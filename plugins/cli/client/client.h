// The HTTP API as the commands use it, over libcurl. Blocking. One thread for each client.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "client/settings.h"
#include "drover/api/methods.h"
#include "drover/api_request.h"
#include "drover/byte_stream.h"
#include "drover/result.h"

namespace drover::cli {

using Parameters = QueryParameters;

class Connection;

// An answer as the agent sent it.
struct Response {
  std::string body;
  std::string next_token;  // of a list that goes on: where its next page begins
  std::string digest;      // the header of that name

  // Requires: the body is JSON, or empty.
  nlohmann::json json() const;
  // Takes pieces of the body.
  std::function<bool(std::string_view)> collect() {
    return [this](std::string_view bytes) { return body.append(bytes), true; };
  }
};

// The same with the message that it says.
template <typename Message>
struct Answer : Response {
  Message message;
  const Message* operator->() const { return &message; }
};

// A method is one of drover/api/methods.h: client.call<v1::Jobs::List>(request).
//
// Errors of all calls: unavailable when nobody answers at the address; failed_precondition when the agent's certificate
// is not trusted; invalid_argument for settings that cannot be used; else the API's own text under the code of its HTTP
// status; internal when the answer cannot be read.
class Client {
 public:
  using Receiver = std::function<bool(std::string_view)>;

  explicit Client(ClientOptions options);
  ~Client();

  template <typename Method>
  Result<Answer<typename Method::Response>> call(const typename Method::Request& request,
                                                 const Parameters& further = {}) {
    Answer<typename Method::Response> answer;
    DROVER_RETURN_IF_ERROR(call(Method::kName, api_request(Method::kName, request, further), answer, answer.message));
    return answer;
  }
  // Hands the body over as it comes, until it ends or `receive` returns false. `digest`: the answer's header of that
  // name.
  template <typename Method>
  Status stream(const typename Method::Request& request, const Receiver& receive, const Parameters& further = {},
                std::string* digest = nullptr) {
    Response head;
    const Status status = exchange(api_request(Method::kName, request, further), receive, head);
    if (digest) *digest = head.digest;
    return status;
  }
  // Sends `size` bytes of the source as the body. Errors also: the source's own.
  template <typename Method>
  Status upload(ByteSource& body, uint64_t size) {
    Response head;
    return exchange(
        api_request(Method::kName, typename Method::Request()), &body, size, [](std::string_view) { return true; },
        head);
  }
  // Asks for a path that is no method's, or that a person typed. The answer is JSON; null when it is empty.
  Result<nlohmann::json> send(const ApiRequest& request);
  // The same, whatever the answer is.
  Result<Response> fetch(const ApiRequest& request);

  // As they were given.
  const ClientOptions& options() const { return *options_; }
  // The namespace that is asked from now on: the given one, unless a job says another. Empty: "default".
  const std::string& name_space() const { return name_space_; }
  void set_namespace(std::string name_space) { name_space_ = std::move(name_space); }
  // Path and query, with region and namespace.
  std::string target(const ApiRequest& request) const;

 private:
  // `body`: of `size` bytes; null for the request's own.
  Status exchange(const ApiRequest& request, ByteSource* body, uint64_t size, const Receiver& receive, Response& head);
  Status exchange(const ApiRequest& request, const Receiver& receive, Response& head);
  Status unreadable(const std::string& why) const;
  Status call(const std::string& method, const ApiRequest& request, Response& response,
              google::protobuf::Message& message);
  const std::unique_ptr<const ClientOptions> options_;
  const std::unique_ptr<Connection> connection_;
  std::string name_space_;
};

}  // namespace drover::cli
