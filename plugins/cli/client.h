// The HTTP API as the commands use it. Blocking. Boost.Beast; only client.cc includes it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "drover/byte_stream.h"
#include "drover/result.h"

namespace drover::cli {

struct ClientOptions {
  std::string address = "http://127.0.0.1:4646";  // or unix:///path
  std::string region;
  std::string name_space;
  std::string token;
};

using Parameters = std::map<std::string, std::string>;

struct Response {
  std::string body;
  uint64_t index = 0;
  std::string next_token;  // of a list that goes on: where its next page begins
};

class Client {
 public:
  explicit Client(ClientOptions options) : options_(std::move(options)) {}

  // Errors: unavailable when nobody answers at the address; else the API's own text under the code of its HTTP status.
  // `next_token`: receives where the next page of a list begins; empty after the last one.
  Result<nlohmann::json> get(std::string_view path, const Parameters& parameters = {},
                             std::string* next_token = nullptr);
  Result<nlohmann::json> write(std::string_view verb, std::string_view path, const Parameters& parameters = {},
                               std::string_view body = {});
  // Hands the body over as it comes, until it ends or `receive` returns false. `digest`: the answer's header of that
  // name.
  Status stream(std::string_view path, const Parameters& parameters,
                const std::function<bool(std::string_view)>& receive, std::string* digest = nullptr);
  // Sends `size` bytes of the source as the body of a PUT. Errors also: the source's own.
  Status upload(std::string_view path, ByteSource& body, uint64_t size);
  const ClientOptions& options() const { return options_; }
  // Path and query, with region and namespace.
  std::string target(std::string_view path, const Parameters& parameters) const;

 private:
  Result<nlohmann::json> to_json(const Response& response) const;
  Result<Response> request(std::string_view verb, std::string_view path, const Parameters& parameters,
                           std::string_view body);
  ClientOptions options_;
};

std::string escape(std::string_view text);

}  // namespace drover::cli
