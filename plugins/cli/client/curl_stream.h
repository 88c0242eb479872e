// A connection that libcurl made, through TLS and proxies as they are, as an asynchronous stream of Boost.Asio. For
// exec_client.cc alone. One thread.
#pragma once

#include <curl/curl.h>
#include <unistd.h>

#include <boost/asio/compose.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/role.hpp>
#include <boost/beast/websocket/teardown.hpp>

namespace drover::cli {

class CurlStream {
 public:
  using executor_type = boost::asio::any_io_executor;
  using Error = boost::system::error_code;

  // Requires: a connected handle (CURLOPT_CONNECT_ONLY), which outlives it.
  CurlStream(boost::asio::io_context& io, CURL* curl) : curl_(curl), socket_(io) {
    curl_socket_t socket = -1;
    curl_easy_getinfo(curl_, CURLINFO_ACTIVESOCKET, &socket);
    Error ignored;  // of a connection that broke at once: its first use fails
    socket_.assign(::dup(socket), ignored);
  }

  executor_type get_executor() { return socket_.get_executor(); }
  // libcurl's word for the last failure; CURLE_OK when there was none.
  CURLcode failure() const { return failure_; }
  void close() {
    Error ignored;
    socket_.close(ignored);
  }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    const auto into = first_of<boost::asio::mutable_buffer>(buffers);
    const auto read = [this, into](size_t& n) { return curl_easy_recv(curl_, into.data(), into.size(), &n); };
    return when_ready(socket_.wait_read, into.size(), read, std::forward<Token>(token));
  }

  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    const auto from = first_of<boost::asio::const_buffer>(buffers);
    const auto write = [this, from](size_t& n) { return curl_easy_send(curl_, from.data(), from.size(), &n); };
    return when_ready(socket_.wait_write, from.size(), write, std::forward<Token>(token));
  }

  // A WebSocket asks for these of the stream below it.
  friend void beast_close_socket(CurlStream& stream) { stream.close(); }
  template <typename Handler>
  friend void async_teardown(boost::beast::role_type, CurlStream& stream, Handler&& handler) {
    stream.close();
    boost::asio::post(stream.get_executor(),
                      [handler = std::forward<Handler>(handler)]() mutable { handler(Error()); });
  }

 private:
  template <typename Buffer, typename Buffers>
  static Buffer first_of(const Buffers& buffers) {
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto at = boost::asio::buffer_sequence_begin(buffers); at != end; ++at) {
      if (const Buffer buffer(*at); buffer.size() > 0) return buffer;
    }
    return {};
  }

  // Tries before it waits: TLS may hold bytes that the socket does not show any more.
  template <typename Attempt, typename Token>
  auto when_ready(boost::asio::posix::descriptor_base::wait_type wait, size_t size, Attempt attempt, Token&& token) {
    return boost::asio::async_compose<Token, void(Error, size_t)>(
        [this, wait, size, attempt, has_begun = false](auto& self, Error error = {}) mutable {
          if (!std::exchange(has_begun, true)) return boost::asio::post(get_executor(), std::move(self));
          size_t n = 0;
          if (!error && !socket_.is_open()) error = boost::asio::error::operation_aborted;
          if (!error && size > 0) {
            const CURLcode code = attempt(n);
            if (code == CURLE_AGAIN) return socket_.async_wait(wait, std::move(self));
            if (code != CURLE_OK) {
              failure_ = code;
              error = boost::asio::error::connection_reset;
            } else if (n == 0) {
              error = boost::asio::error::eof;
            }
          }
          self.complete(error, n);
        },
        token, socket_);
  }

  CURL* const curl_;
  boost::asio::posix::stream_descriptor socket_;
  CURLcode failure_ = CURLE_OK;
};

}  // namespace drover::cli
