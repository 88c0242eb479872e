// The agent's address as a connected socket. Boost.Asio; for client.cc and exec_client.cc alone.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <string>

#include "drover/result.h"

namespace drover::cli {

using Socket = boost::asio::generic::stream_protocol::socket;

// Errors: unavailable when nobody answers there; invalid_argument.
Status connect(boost::asio::io_context& io, const std::string& address, Socket& socket);

}  // namespace drover::cli
