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

std::string escape(std::string_view text) {
  static constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    if (kPlain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

std::string Client::target(std::string_view path, const Parameters& parameters) const {
  std::string out(path);
  char separator = '?';
  const auto add = [&](std::string_view name, std::string_view value) {
    out += separator + std::string(name) + "=" + escape(value);
    separator = '&';
  };
  for (const auto& [name, value] : parameters) add(name, value);
  if (!options_.region.empty()) add("region", options_.region);
  if (!options_.name_space.empty() && !parameters.contains("namespace")) add("namespace", options_.name_space);
  return out;
}

Result<Response> Client::request(std::string_view verb, std::string_view path, const Parameters& parameters,
                                 std::string_view body) {
  asio::io_context io;
  Socket socket(io);
  DROVER_RETURN_IF_ERROR(connect(io, options_.address, socket));
  http::request<http::string_body> request;
  request.method_string({verb.data(), verb.size()});
  request.target(target(path, parameters));
  request.version(11);
  request.set(http::field::host, "drover");
  request.set(http::field::connection, "close");
  if (!options_.token.empty()) request.set("X-Nomad-Token", options_.token);
  request.body() = body;
  request.prepare_payload();
  Error error;
  http::write(socket, request, error);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(std::numeric_limits<uint64_t>::max());
  if (!error) http::read(socket, buffer, parser, error);
  if (error) return unavailable("the connection to the agent broke: " + error.message());
  auto response = parser.release();
  if (response.result_int() >= 400) return status_of(response.result_int(), std::move(response.body()));
  Response out{.body = std::move(response.body())};
  const auto index = response["X-Nomad-Index"];
  if (!index.empty()) out.index = std::strtoull(std::string(index).c_str(), nullptr, 10);
  out.next_token = std::string(response["X-Nomad-NextToken"]);
  return out;
}

Result<nlohmann::json> Client::get(std::string_view path, const Parameters& parameters, std::string* next_token) {
  DROVER_TRY(Response response, request("GET", path, parameters, ""));
  if (next_token) *next_token = response.next_token;
  return to_json(response);
}

Result<nlohmann::json> Client::write(std::string_view verb, std::string_view path, const Parameters& parameters,
                                     std::string_view body) {
  DROVER_TRY(Response response, request(verb, path, parameters, body));
  return to_json(response);
}

Result<nlohmann::json> Client::to_json(const Response& response) const {
  if (response.body.empty()) return nlohmann::json();
  auto json = nlohmann::json::parse(response.body, nullptr, false);
  if (json.is_discarded())
    return internal_error("the agent's answer is not JSON; is there a drover agent at " + options_.address + "?");
  return json;
}

Status Client::stream(std::string_view path, const Parameters& parameters,
                      const std::function<bool(std::string_view)>& receive, std::string* digest) {
  asio::io_context io;
  Socket socket(io);
  DROVER_RETURN_IF_ERROR(connect(io, options_.address, socket));
  http::request<http::empty_body> request{http::verb::get, target(path, parameters), 11};
  request.set(http::field::host, "drover");
  if (!options_.token.empty()) request.set("X-Nomad-Token", options_.token);
  Error error;
  http::write(socket, request, error);
  boost::beast::flat_buffer buffer;
  http::response_parser<http::buffer_body> parser;
  parser.body_limit(std::numeric_limits<uint64_t>::max());
  if (!error) http::read_header(socket, buffer, parser, error);
  if (error) return unavailable("the connection to the agent broke: " + error.message());
  if (digest != nullptr) *digest = std::string(parser.get()["Digest"]);
  std::string failure;
  std::array<char, 65536> chunk{};
  while (!parser.is_done()) {
    parser.get().body().data = chunk.data();
    parser.get().body().size = chunk.size();
    http::read_some(socket, buffer, parser, error);
    if (error == http::error::need_buffer) error = {};
    const size_t got = chunk.size() - parser.get().body().size;
    const std::string_view bytes(chunk.data(), got);
    if (parser.get().result_int() >= 400) {
      failure += bytes;
    } else if (got > 0 && !receive(bytes)) {
      return ok_status();
    }
    if (error == http::error::end_of_stream) break;
    if (error) return unavailable("the connection to the agent broke: " + error.message());
  }
  if (parser.get().result_int() >= 400) return status_of(parser.get().result_int(), std::move(failure));
  return ok_status();
}

Status Client::upload(std::string_view path, ByteSource& body, uint64_t size) {
  asio::io_context io;
  Socket socket(io);
  DROVER_RETURN_IF_ERROR(connect(io, options_.address, socket));
  http::request<http::buffer_body> request{http::verb::put, target(path, {}), 11};
  request.set(http::field::host, "drover");
  request.set(http::field::connection, "close");
  if (!options_.token.empty()) request.set("X-Nomad-Token", options_.token);
  request.content_length(size);
  http::request_serializer<http::buffer_body> serializer(request);
  Error error;
  http::write_header(socket, serializer, error);
  std::array<char, 65536> chunk{};
  while (!error && !serializer.is_done()) {
    DROVER_TRY(const size_t n, body.read(chunk));
    request.body() = {.data = n == 0 ? nullptr : chunk.data(), .size = n, .more = n != 0};
    http::write(socket, serializer, error);
    if (error == http::error::need_buffer) error = {};
  }
  // An agent that refuses says why and closes, while the body is still on its way.
  const Error sending = error;
  error = {};
  boost::beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  http::read(socket, buffer, parser, error);
  if (error) return unavailable("the connection to the agent broke: " + (sending ? sending : error).message());
  if (parser.get().result_int() >= 400) return status_of(parser.get().result_int(), std::move(parser.get().body()));
  return ok_status();
}

}  // namespace drover::cli
