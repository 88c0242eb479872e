// One connection of the HTTP API.
//
//   handshake ──▶ reading ──request──▶ (token asked for) ──▶ calling ──reply──▶ writing ──keep-alive──▶ reading
//                                                              │ the client went away: the call is cancelled
//                                                              └─ streaming: frames are written as they come, the
//                                                                 writer sets the pace
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "guard/attempts.h"
#include "server.h"
#include "transport/stream.h"

namespace drover::api {

// Shared by all sessions; outlives them.
struct SessionShared {
  const ServerOptions& options;
  const Routes& routes;
  Caller& caller;
  Metrics& metrics;
  Attempts& attempts;
  boost::asio::io_context& uploads;  // hands pieces of bodies to handlers, which set the pace
};

// The way by which a connection came.
struct Arrival {
  std::string remote;        // the address; empty over a Unix socket
  std::string place;         // for limits: place_of the address, or the Unix socket's name
  bool wants_token = false;  // a request that shows none is refused
};

// `ended` runs once, when nothing of the session is left. [the session's strand]
void start_session(std::unique_ptr<Stream> stream, Arrival arrival, const SessionShared& shared,
                   std::stop_token stopping, std::function<void()> ended);

}  // namespace drover::api
