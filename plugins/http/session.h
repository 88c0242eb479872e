// One connection of the HTTP API.
//
//   reading ──request──▶ calling ──reply──▶ writing ──keep-alive──▶ reading
//                          │ the client went away: the call is cancelled
//                          └─ streaming: frames are written as they come, the writer sets the pace
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <functional>
#include <memory>
#include <string>

#include "server.h"

namespace drover::api {

// Shared by all sessions; outlives them.
struct SessionShared {
  const ServerOptions& options;
  const Routes& routes;
  Caller& caller;
  Metrics& metrics;
  boost::asio::io_context& uploads;  // hands pieces of bodies to handlers, which set the pace
};

// `ended` runs once, when nothing of the session is left. [the session's strand]
void start_session(boost::asio::ip::tcp::socket socket, const SessionShared& shared, std::stop_token stopping,
                   std::function<void()> ended);

}  // namespace drover::api
