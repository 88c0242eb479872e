#include "sdk/testing/identity_provider/web_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace drover::testing {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

Asked asked_of(const http::request<http::string_body>& request) {
  const std::string target(request.target());
  const size_t mark = target.find('?');
  Asked asked{.path = target.substr(0, mark), .query = {}, .headers = {}, .body = request.body()};
  asked.method = std::string(request.method_string());
  if (mark != std::string::npos) asked.query = read_form(std::string_view(target).substr(mark + 1));
  for (const auto& field : request) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    asked.headers[name] = std::string(field.value());
  }
  return asked;
}

http::response<http::string_body> response_of(const Told& told) {
  http::response<http::string_body> response{static_cast<http::status>(told.status), 11, told.body};
  response.set(http::field::content_type, told.type);
  for (const auto& [name, value] : told.headers) response.set(name, value);
  if (!told.location.empty()) response.set(http::field::location, told.location);
  response.keep_alive(false);
  response.prepare_payload();
  return response;
}

template <typename Stream>
void serve(Stream& stream, const std::function<Told(const Asked&)>& handler) {
  boost::beast::flat_buffer buffer;
  http::request<http::string_body> request;
  error_code error;
  http::read(stream, buffer, request, error);
  if (error) return;
  const Told told = handler(asked_of(request));
  if (told.is_silent) {
    char byte = 0;
    stream.read_some(asio::buffer(&byte, 1), error);  // until it goes
    return;
  }
  http::write(stream, response_of(told), error);
}

struct Address {
  std::string host, port, target;
};
Address address_of(const std::string& url) {
  const std::string rest = url.substr(url.find("://") + 3);
  const std::string authority = rest.substr(0, rest.find_first_of("/?"));
  const size_t colon = authority.rfind(':');
  return {authority.substr(0, colon), colon == std::string::npos ? "80" : authority.substr(colon + 1),
          rest.size() == authority.size() ? "/" : rest.substr(authority.size())};
}

Result<http::response<http::string_body>> exchange(http::verb verb, const std::string& url, const std::string& body) {
  const Address address = address_of(url);
  asio::io_context context;
  tcp::socket socket(context);
  error_code error;
  asio::connect(socket, tcp::resolver(context).resolve(address.host, address.port, error), error);
  if (error) return unavailable(url + ": " + error.message());
  http::request<http::string_body> request{verb, address.target, 11, body};
  request.set(http::field::host, address.host);
  request.prepare_payload();
  http::write(socket, request, error);
  boost::beast::flat_buffer buffer;
  http::response<http::string_body> response;
  http::read(socket, buffer, response, error);
  if (error) return unavailable(url + ": " + error.message());
  return response;
}

}  // namespace

struct WebServer::State {
  asio::io_context context;
  tcp::acceptor acceptor{context, tcp::endpoint(asio::ip::address_v4::loopback(), 0)};
  std::optional<asio::ssl::context> tls;
  std::function<Told(const Asked&)> handler;
  std::mutex mutex;
  bool has_ended = false;  // guarded by mutex, as what follows
  std::set<int> open;      // sockets
  std::vector<std::jthread> threads;
  std::jthread listener;

  void listen() {
    for (;;) {
      error_code error;
      tcp::socket socket(context);
      acceptor.accept(socket, error);
      const std::lock_guard lock(mutex);
      if (error || has_ended) return;
      open.insert(socket.native_handle());
      threads.emplace_back([this, socket = std::move(socket)]() mutable { answer(std::move(socket)); });
    }
  }
  void answer(tcp::socket socket) {
    const int handle = socket.native_handle();
    if (tls) {
      asio::ssl::stream<tcp::socket&> stream(socket, *tls);
      error_code error;
      stream.handshake(asio::ssl::stream_base::server, error);
      if (!error) serve(stream, handler);
      if (!error) stream.shutdown(error);
    } else {
      serve(socket, handler);
    }
    const std::lock_guard lock(mutex);
    open.erase(handle);
    error_code ignored;
    socket.shutdown(tcp::socket::shutdown_both, ignored);
    socket.close(ignored);
  }
};

WebServer::WebServer(const std::string& cert, const std::string& key, std::function<Told(const Asked&)> handler)
    : state_(std::make_unique<State>()) {
  if (!cert.empty()) {
    state_->tls.emplace(asio::ssl::context::tls_server);
    state_->tls->use_certificate_chain(asio::buffer(cert));
    state_->tls->use_private_key(asio::buffer(key), asio::ssl::context::pem);
  }
  state_->handler = std::move(handler);
  state_->listener = std::jthread([this] { state_->listen(); });
}

WebServer::~WebServer() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->has_ended = true;
    ::shutdown(state_->acceptor.native_handle(), SHUT_RDWR);
    for (const int socket : state_->open) ::shutdown(socket, SHUT_RDWR);
  }
  state_->listener.join();
  for (std::jthread& each : state_->threads) each.join();
}

uint16_t WebServer::port() const { return state_->acceptor.local_endpoint().port(); }

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::map<std::string, std::string> read_form(std::string_view text) {
  std::map<std::string, std::string> out;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    const size_t equals = part.find('=');
    out[decoded(part.substr(0, equals))] = equals == std::string_view::npos ? "" : decoded(part.substr(equals + 1));
  }
  return out;
}

Result<std::string> redirect_of(const std::string& url) {
  DROVER_TRY(const auto response, exchange(http::verb::get, url, ""));
  if (response[http::field::location].empty())
    return unavailable("no redirect: " + std::to_string(response.result_int()) + " " + response.body());
  return std::string(response[http::field::location]);
}

Result<std::string> page_at(const std::string& url) {
  DROVER_TRY(const auto response, exchange(http::verb::get, url, ""));
  return response.body();
}

Result<std::string> post(const std::string& url, const std::string& body) {
  DROVER_TRY(const auto response, exchange(http::verb::post, url, body));
  return response.body();
}

}  // namespace drover::testing
