#include "client/exec_client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/websocket.hpp>
#include <csignal>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>

#include "client/connection.h"
#include "client/curl_stream.h"
#include "drover/base64.h"
#include "escape.h"

namespace drover::cli {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using nlohmann::json;
using Error = boost::system::error_code;

constexpr auto kHeartbeat = std::chrono::seconds(10);
constexpr size_t kMaxFrame = 8 << 20;
constexpr size_t kMaxQueued = 16;  // frames of input that are not on their way yet
constexpr int kSignalBase = 128;   // the exit code of who was ended by a signal: this and its number

// The terminal without lines, echo and signals of its own; as it was when this goes.
class RawTerminal {
 public:
  explicit RawTerminal(bool is_wanted) : is_raw_(is_wanted && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!is_raw_) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    is_raw_ = ::tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
  }
  ~RawTerminal() {
    if (is_raw_) (void)::tcsetattr(STDIN_FILENO, TCSADRAIN, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool is_raw_;
};

// Reading without waiting is a property of the input that others have as well, this process's output often among them:
// as it was when this goes.
class InputFlags {
 public:
  InputFlags() : before_(::fcntl(STDIN_FILENO, F_GETFL)) {}
  ~InputFlags() {
    if (before_ >= 0) (void)::fcntl(STDIN_FILENO, F_SETFL, before_);
  }
  InputFlags(const InputFlags&) = delete;
  InputFlags& operator=(const InputFlags&) = delete;

 private:
  const int before_;
};

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) {
      pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
      (void)::poll(&room, 1, -1);
      continue;
    }
    if (size <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  return true;
}

class Exec {
 public:
  Exec(asio::io_context& io, const Connection& connection, CURL* curl, const ExecOptions& options)
      : options_(options),
        connection_(connection),
        socket_(io, curl),
        input_(io),
        signals_(io),
        heartbeat_(io),
        escape_(options.has_terminal ? options.escape : std::nullopt) {}

  Status handshake(asio::io_context& io, const ClientOptions& client) {
    socket_.set_option(websocket::stream_base::decorator([&client](websocket::request_type& request) {
      if (!client.token.empty()) request.set("X-Nomad-Token", client.token);
      if (!client.http_auth.empty())
        request.set(beast::http::field::authorization, "Basic " + base64_encode(client.http_auth));
    }));
    socket_.read_message_max(kMaxFrame);
    socket_.text(true);
    websocket::response_type response;
    Error error;
    socket_.async_handshake(response, connection_.authority(), options_.path, [&](Error result) { error = result; });
    io.run();
    io.restart();
    if (!error) return ok_status();
    if (response.result_int() < 400) return broken(error);
    const std::string& text = response.body();
    if (response.result_int() == 404) return not_found(text.empty() ? "the agent does not know this address" : text);
    return internal_error("Unexpected response code: " + std::to_string(response.result_int()) + " (" + text + ")");
  }

  Result<int> run(asio::io_context& io) {
    const InputFlags flags;
    const RawTerminal raw(options_.has_terminal);
    follow_signals();
    if (options_.has_terminal) tell_size();
    beat();
    read();
    if (options_.takes_input) {
      Error error;
      input_.assign(::dup(STDIN_FILENO), error);
      error ? send_end() : read_input();
    } else {
      send_end();
    }
    io.run();
    return *std::move(result_);
  }

 private:
  void end(Result<int> result) {
    if (result_) return;
    result_ = std::move(result);
    Error ignored;
    input_.close(ignored);
    signals_.cancel(ignored);
    heartbeat_.cancel();
    socket_.next_layer().close();
  }

  // ---- from the agent

  void read() {
    socket_.async_read(buffer_, [this](Error error, size_t) {
      if (result_) return;
      if (error) return end(broken(error));
      const json frame = json::parse(beast::buffers_to_string(buffer_.data()), nullptr, false);
      buffer_.consume(buffer_.size());
      if (!frame.is_object()) return end(internal_error("the agent's answer is no JSON object"));
      print(frame, "stdout", STDOUT_FILENO);
      print(frame, "stderr", STDERR_FILENO);
      if (frame.value("exited", false)) {
        const json result = frame.value("result", json::object());
        return end(result.is_object() ? result.value("exit_code", 0) : 0);
      }
      read();
    });
  }

  static void print(const json& frame, const char* name, int fd) {
    const auto part = frame.find(name);
    if (part == frame.end() || !part->is_object()) return;
    const auto data = part->find("data");
    if (data == part->end() || !data->is_string()) return;
    if (const auto bytes = base64_decode(data->get<std::string>())) (void)write_all(fd, *bytes);
  }

  Status broken(const Error& error) const {
    const auto& reason = socket_.reason();
    if (error == websocket::error::closed && !reason.reason.empty())
      return internal_error(std::string(reason.reason.data(), reason.reason.size()));
    const CURLcode code = socket_.next_layer().failure();
    if (code != CURLE_OK) return connection_.failure(code);
    return unavailable("the connection to the agent broke: " + error.message());
  }

  // ---- to the agent

  void send(const json& frame) {
    frames_.push_back(frame.dump());
    if (frames_.size() == 1) write_next();
  }

  void write_next() {
    socket_.async_write(asio::buffer(frames_.front()), [this](Error error, size_t) {
      if (error || result_) return;  // the reader hears of it, too
      frames_.pop_front();
      if (!frames_.empty()) write_next();
      if (std::exchange(is_input_waiting_, false)) read_input();
    });
  }

  void send_end() { send({{"stdin", {{"close", true}}}}); }

  void read_input() {
    if (frames_.size() >= kMaxQueued) {
      is_input_waiting_ = true;
      return;
    }
    input_.async_read_some(asio::buffer(input_bytes_), [this](Error error, size_t size) {
      if (result_) return;
      if (error) return send_end();
      const std::string bytes = escape_.read({input_bytes_.data(), size});
      if (escape_.wants_out()) return end(0);
      if (!bytes.empty()) send({{"stdin", {{"data", base64_encode(bytes)}}}});
      read_input();
    });
  }

  void tell_size() {
    winsize size{};
    if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) != 0) return;
    send({{"tty_size", {{"height", size.ws_row}, {"width", size.ws_col}}}});
  }

  // A signal that would end this process ends the call first, and leaves the terminal as it was.
  void follow_signals() {
    signals_.add(SIGTERM);
    signals_.add(SIGHUP);
    signals_.add(SIGINT);
    if (options_.has_terminal) signals_.add(SIGWINCH);
    wait_signal();
  }

  void wait_signal() {
    signals_.async_wait([this](Error error, int number) {
      if (error || result_) return;
      if (number != SIGWINCH) return end(kSignalBase + number);
      tell_size();
      wait_signal();
    });
  }

  void beat() {
    heartbeat_.expires_after(kHeartbeat);
    heartbeat_.async_wait([this](Error error) {
      if (error || result_) return;
      send(json::object());
      beat();
    });
  }

  const ExecOptions& options_;
  const Connection& connection_;
  websocket::stream<CurlStream> socket_;
  asio::posix::stream_descriptor input_;
  asio::signal_set signals_;
  asio::steady_timer heartbeat_;
  Escape escape_;
  beast::flat_buffer buffer_;
  std::deque<std::string> frames_;  // the first is being written
  std::array<char, 32 * 1024> input_bytes_{};
  bool is_input_waiting_ = false;
  std::optional<Result<int>> result_;
};

}  // namespace

Result<int> run_exec(const Client& client, const ExecOptions& options) {
  Connection connection(client.options());
  DROVER_TRY(CURL* const curl, connection.begin(""));
  curl_easy_setopt(curl, CURLOPT_CONNECT_ONLY, 1L);
  curl_easy_setopt(curl, CURLOPT_HTTPPROXYTUNNEL, 1L);
  if (const CURLcode code = curl_easy_perform(curl); code != CURLE_OK) return connection.failure(code);
  asio::io_context io;
  Exec exec(io, connection, curl, options);
  DROVER_RETURN_IF_ERROR(exec.handshake(io, client.options()));
  return exec.run(io);
}

}  // namespace drover::cli
