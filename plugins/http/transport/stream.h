// One accepted connection, in whichever way it comes: TCP, a Unix socket, TLS over TCP. One type for all of them, so
// that sessions and WebSockets are compiled once. Boost.Asio's asynchronous read and write streams. [the strand of its
// socket]
//
// A stream with a TLS context speaks in the clear until async_handshake: this is how a client that sends plain HTTP to
// a TLS port can be told so.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/websocket/ssl.hpp>
#include <boost/beast/websocket/teardown.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace drover::api {

using TlsContext = boost::asio::ssl::context;

class Stream {
 public:
  using Socket = boost::asio::generic::stream_protocol::socket;
  using executor_type = Socket::executor_type;
  using Error = boost::system::error_code;

  // `context`: null for a connection that stays in the clear.
  Stream(Socket socket, std::shared_ptr<TlsContext> context)
      : context_(std::move(context)), socket_(std::move(socket)) {}

  executor_type get_executor() { return socket_.get_executor(); }
  Socket& socket() { return socket_; }
  bool wants_handshake() const { return context_ && !tls_; }
  bool is_encrypted() const { return tls_.has_value(); }

  // Requires: wants_handshake().
  template <typename Handler>
  void async_handshake(Handler&& handler) {
    tls_.emplace(socket_, *context_);
    tls_->async_handshake(boost::asio::ssl::stream_base::server, std::forward<Handler>(handler));
  }
  // Tells the other side that nothing follows, and hears the same from it where TLS has a word for that.
  template <typename Handler>
  void async_farewell(Handler&& handler) {
    if (tls_) return tls_->async_shutdown(std::forward<Handler>(handler));
    boost::asio::post(get_executor(), [handler = std::forward<Handler>(handler)]() mutable { handler(Error()); });
  }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_read_some(buffers, std::forward<Token>(token))
                : socket_.async_read_some(buffers, std::forward<Token>(token));
  }
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return tls_ ? tls_->async_write_some(buffers, std::forward<Token>(token))
                : socket_.async_write_some(buffers, std::forward<Token>(token));
  }

  // Ends what is being read and written; the connection stays.
  void cancel() {
    Error ignored;
    socket_.cancel(ignored);
  }
  void shutdown_send() {
    Error ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
  }
  void close() {
    shutdown_send();
    Error ignored;
    socket_.close(ignored);
  }

  // A WebSocket asks for these of the stream below it.
  friend void beast_close_socket(Stream& stream) { stream.close(); }
  template <typename Handler>
  friend void async_teardown(boost::beast::role_type role, Stream& stream, Handler&& handler) {
    using boost::beast::websocket::async_teardown;
    stream.tls_ ? async_teardown(role, *stream.tls_, std::forward<Handler>(handler))
                : async_teardown(role, stream.socket_, std::forward<Handler>(handler));
  }

 private:
  const std::shared_ptr<TlsContext> context_;  // null: in the clear
  Socket socket_;
  std::optional<boost::asio::ssl::stream<Socket&>> tls_;
};

}  // namespace drover::api
