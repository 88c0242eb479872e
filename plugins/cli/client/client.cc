#include "client.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "connection.h"

namespace drover::cli {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using Error = boost::system::error_code;

struct Place {
  std::string host;
  std::string port;
  std::string unix_path;
};

Result<Place> parse_address(const std::string& address) {
  Place place;
  if (address.starts_with("unix://")) {
    place.unix_path = address.substr(7);
    return place;
  }
  std::string rest = address;
  if (rest.starts_with("https://"))
    return unimplemented("https is not supported by this version of drover; use http:// or unix://");
  if (rest.starts_with("http://")) rest = rest.substr(7);
  rest = rest.substr(0, rest.find('/'));
  const size_t colon = rest.rfind(':');
  if (colon == std::string::npos || (rest.ends_with(']'))) {
    place.host = rest;
    place.port = "80";
  } else {
    place.host = rest.substr(0, colon);
    place.port = rest.substr(colon + 1);
  }
  if (place.host.starts_with('[') && place.host.ends_with(']'))
    place.host = place.host.substr(1, place.host.size() - 2);
  if (place.host.empty()) return invalid_argument("address \"" + address + "\" names no host");
  return place;
}

}  // namespace

Status connect(asio::io_context& io, const std::string& address, Socket& socket) {
  DROVER_TRY(Place place, parse_address(address));
  const auto unreachable = [&](const Error& error) {
    return unavailable("cannot reach the agent at " + address + ": " + error.message() +
                       "; is it running? Set -address or NOMAD_ADDR to where it is");
  };
  Error error;
  if (!place.unix_path.empty()) {
    socket.connect(asio::local::stream_protocol::endpoint(place.unix_path), error);
    return error ? unreachable(error) : ok_status();
  }
  asio::ip::tcp::resolver resolver(io);
  auto found = resolver.resolve(place.host, place.port, error);
  if (error) return unreachable(error);
  for (const auto& entry : found) {
    Error ignored;
    socket.close(ignored);
    socket.connect(entry.endpoint(), error);
    if (!error) return ok_status();
  }
  return unreachable(error);
}

namespace {

Status status_of(unsigned http_status, std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  if (text.empty()) text = "the agent answered with HTTP status " + std::to_string(http_status);
  switch (http_status) {
    case 400:
      return invalid_argument(text);
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

}  // namespace

std::string Client::target(const ApiRequest& request) const {
  std::string out = request.path;
  char separator = request.path.find('?') == std::string::npos ? '?' : '&';
  const auto add = [&](std::string_view name, std::string_view value) {
    out += separator + std::string(name) + "=" + percent_encode(value);
    separator = '&';
  };
  for (const auto& [name, value] : request.parameters) add(name, value);
  if (!options_.region.empty()) add("region", options_.region);
  if (!options_.name_space.empty() && !request.parameters.contains("namespace")) add("namespace", options_.name_space);
  return out;
}

nlohmann::json Response::json() const { return body.empty() ? nlohmann::json() : nlohmann::json::parse(body); }

Status Client::exchange(const ApiRequest& asked, const Source& body, uint64_t size,
                        const std::function<bool(std::string_view)>& receive, Response& head) {
  asio::io_context io;
  Socket socket(io);
  DROVER_RETURN_IF_ERROR(connect(io, options_.address, socket));
  http::request<http::buffer_body> request;
  request.method_string(asked.verb);
  request.target(target(asked));
  request.version(11);
  request.set(http::field::host, "drover");
  request.set(http::field::connection, "close");
  if (!options_.token.empty()) request.set("X-Nomad-Token", options_.token);
  if (size > 0 || asked.verb != "GET") request.content_length(size);
  http::request_serializer<http::buffer_body> serializer(request);
  Error sending;
  http::write_header(socket, serializer, sending);
  std::array<char, 65536> chunk{};
  while (!sending && !serializer.is_done()) {
    DROVER_TRY(const size_t n, body(chunk));
    request.body() = {.data = n == 0 ? nullptr : chunk.data(), .size = n, .more = n != 0};
    http::write(socket, serializer, sending);
    if (sending == http::error::need_buffer) sending = {};
  }
  // An agent that refuses says why and closes, while the body is still on its way.
  Error error;
  boost::beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(std::numeric_limits<uint64_t>::max());
  http::read_header(socket, buffer, parser, error);
  if (error) return unavailable("the connection to the agent broke: " + (sending ? sending : error).message());
  head.next_token = std::string(parser.get()["X-Nomad-NextToken"]);
  head.digest = std::string(parser.get()["Digest"]);
  std::string failure;
  while (!parser.is_done()) {
    parser.get().body().data = chunk.data();
    parser.get().body().size = chunk.size();
    http::read_some(socket, buffer, parser, error);
    if (error == http::error::need_buffer) error = {};
    const std::string_view bytes(chunk.data(), chunk.size() - parser.get().body().size);
    if (parser.get().result_int() >= 400) {
      failure += bytes;
    } else if (!bytes.empty() && !receive(bytes)) {
      return ok_status();
    }
    if (error == http::error::end_of_stream) break;
    if (error) return unavailable("the connection to the agent broke: " + error.message());
  }
  return parser.get().result_int() < 400 ? ok_status() : status_of(parser.get().result_int(), std::move(failure));
}

Status Client::exchange(const ApiRequest& asked, const std::function<bool(std::string_view)>& receive, Response& head) {
  std::string_view rest = asked.body;
  const Source body = [&rest](std::span<char> into) {
    const size_t n = rest.copy(into.data(), into.size());
    rest.remove_prefix(n);
    return n;
  };
  return exchange(asked, body, rest.size(), receive, head);
}

Status Client::unreadable(const std::string& why) const {
  return internal_error("the agent's answer cannot be read (" + why + "); is there a drover agent at " +
                        options_.address + "?");
}

Result<nlohmann::json> Client::send(const ApiRequest& request) {
  Response response;
  DROVER_RETURN_IF_ERROR(exchange(request, response.collect(), response));
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
