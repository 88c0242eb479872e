#include "login/callback.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "drover/freed.h"
#include "drover/secret.h"

namespace drover::cli {
namespace {

constexpr size_t kMaxHead = 16 << 10;
constexpr std::string_view kPath = "/oidc/callback";
constexpr timeval kPatience{.tv_sec = 5, .tv_usec = 0};  // with one connection

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_escape =
        text[i] == '%' && i + 2 < text.size() && digit_of(text[i + 1]) >= 0 && digit_of(text[i + 2]) >= 0;
    if (is_escape) {
      out += static_cast<char>(digit_of(text[i + 1]) * 16 + digit_of(text[i + 2]));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string page(const Callback& callback) {
  const char* const text = !callback.is_it          ? "There is nothing here."
                           : callback.error.empty() ? "You can close this window and go back to the command line."
                                                    : "The provider did not log you in. The command line says more.";
  const std::string body = std::string("<!doctype html><meta charset=utf-8><title>drover</title><p>") + text + "</p>\n";
  return std::string(callback.is_it ? "HTTP/1.1 200 OK" : "HTTP/1.1 404 Not Found") +
         "\r\nContent-Type: text/html; charset=utf-8\r\nContent-Security-Policy: default-src 'none'\r\n"
         "Referrer-Policy: no-referrer\r\nCache-Control: no-store\r\nConnection: close\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string read_head(int socket) {
  std::string head;
  char bytes[4096];
  while (head.size() < kMaxHead && head.find("\r\n\r\n") == std::string::npos) {
    const ssize_t size = ::recv(socket, bytes, sizeof bytes, 0);
    if (size <= 0) break;
    head.append(bytes, static_cast<size_t>(size));
  }
  return head;
}

Callback serve(int listener, const std::string& state) {
  const Fd caller(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!caller) return {};
  ::setsockopt(caller.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  ::setsockopt(caller.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  Callback callback = read_callback(read_head(caller.get()));
  callback.is_it = callback.is_it && (state.empty() || is_same_secret(callback.state, state));
  const std::string answer = page(callback);
  (void)!::send(caller.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
  ::shutdown(caller.get(), SHUT_WR);
  return callback;
}

// 0, or the number of the error.
int listen_on(const addrinfo& address, Fd& socket) {
  socket = Fd(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  if (!socket) return errno;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address.ai_family == AF_INET6) ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 || ::listen(socket.get(), 8) != 0) return errno;
  return 0;
}

// The address stands earlier in the list, too: a hosts file may give a name one address twice.
bool is_repeated(const addrinfo* list, const addrinfo& address) {
  for (const addrinfo* each = list; each != &address; each = each->ai_next) {
    if (each->ai_addrlen == address.ai_addrlen && std::memcmp(each->ai_addr, address.ai_addr, each->ai_addrlen) == 0)
      return true;
  }
  return false;
}

// Takes the first "NAME=VALUE" off the query. The value is decoded.
std::pair<std::string_view, std::string> next_value(std::string_view& query) {
  const std::string_view part = query.substr(0, query.find('&'));
  query.remove_prefix(std::min(query.size(), part.size() + 1));
  const size_t equals = std::min(part.find('='), part.size());
  return {part.substr(0, equals), decoded(part.substr(std::min(part.size(), equals + 1)))};
}

}  // namespace

Callback read_callback(std::string_view head) {
  Callback callback;
  if (!head.starts_with("GET ")) return callback;
  const std::string_view target = head.substr(4, head.find_first_of(" \r\n", 4) - 4);
  const size_t mark = target.find('?');
  if (target.substr(0, mark) != kPath || mark == std::string_view::npos) return callback;
  std::string_view query = target.substr(mark + 1);
  while (!query.empty()) {
    const auto [name, value] = next_value(query);
    if (name == "state") callback.state = value;
    if (name == "code") callback.code = value;
    if (name == "error") callback.error = value;
  }
  callback.is_it = !callback.code.empty() || !callback.error.empty();
  return callback;
}

std::string state_of(std::string_view url) {
  url = url.substr(0, url.find('#'));
  std::string_view query = url.substr(std::min(url.find('?'), url.size()));
  if (!query.empty()) query.remove_prefix(1);
  std::string state;
  while (!query.empty()) {
    const auto [name, value] = next_value(query);
    if (name == "state") state = value;
  }
  return state;
}

Result<CallbackServer> CallbackServer::open(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos || colon == 0) return invalid_argument("\"" + address + "\" is no HOST:PORT");
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const addrinfo hints{.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), address.substr(colon + 1).c_str(), &hints, &found);
  if (error != 0) return invalid_argument(address + ": " + ::gai_strerror(error));
  const std::unique_ptr<addrinfo, Freed<::freeaddrinfo>> list(found);
  CallbackServer server;
  int absent = EADDRNOTAVAIL;
  for (const addrinfo* each = found; each; each = each->ai_next) {
    if (is_repeated(found, *each)) continue;
    Fd socket;
    const int problem = listen_on(*each, socket);
    if (problem == 0) {
      server.sockets_.push_back(std::move(socket));
    } else if (problem == EADDRNOTAVAIL || problem == EAFNOSUPPORT) {
      absent = problem;  // a machine without IPv6, for example
    } else {
      return errno_status(problem, "listening on " + address);
    }
  }
  if (server.sockets_.empty()) return errno_status(absent, "listening on " + address);
  return server;
}

Result<Callback> CallbackServer::wait(std::chrono::seconds limit, const std::string& state) {
  const auto end = std::chrono::steady_clock::now() + limit;
  std::vector<pollfd> watched;
  for (const Fd& socket : sockets_) watched.push_back({.fd = socket.get(), .events = POLLIN, .revents = 0});
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return deadline_exceeded("nobody came back from the browser");
    if (::poll(watched.data(), watched.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      return errno_status(errno, "poll");
    for (const pollfd& each : watched) {
      if (!(each.revents & POLLIN)) continue;
      if (Callback callback = serve(each.fd, state); callback.is_it) return callback;
    }
  }
}

}  // namespace drover::cli
