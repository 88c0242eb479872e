// The first byte of a connection, looked at and left there: it tells TLS from HTTP.
#pragma once

#include <sys/socket.h>

#include <cerrno>
#include <optional>
#include <utility>

namespace drover::api {

// Calls `done` with the byte, or with nothing where none comes any more. The socket (of Asio) lives until then.
template <class Socket, class Done>
void async_first_byte(Socket& socket, Done done) {
  socket.async_wait(Socket::wait_read, [&socket, done = std::move(done)](auto error) mutable {
    char first = 0;
    const ssize_t size = error ? 0 : ::recv(socket.native_handle(), &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (size > 0) return done(std::optional(first));
    // A socket may wake whoever waits for it for nothing.
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return async_first_byte(socket, std::move(done));
    done(std::optional<char>());
  });
}

}  // namespace drover::api
