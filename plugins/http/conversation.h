// A call in which both sides go on speaking, over a WebSocket: each request and response a text frame of JSON.
//
//   accepted ──(ws_handshake: the token)──▶ open ──frames both ways──▶ answered: closed with 1000
//                                             ├─ the call failed: closed with 1008 or 1011 and the error's text
//                                             └─ the client went away: the call is cancelled
//
// While the handler takes nothing, nothing is read: there it is the pings that fail where the client has gone.
//
// Boost.Beast does the WebSocket. Everything runs on the connection's strand but what the receiver's functions do, and
// the thread "http-say", one for each conversation: a handler that does not listen keeps only its own caller waiting.
#pragma once

#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <memory>

#include "request.h"
#include "session.h"

namespace drover::api {

struct ConversationStart {
  Stream& stream;  // of the connection, which `connection` keeps until the conversation has ended
  std::shared_ptr<void> connection;
  const SessionShared& shared;
  std::string place;  // as of the arrival
  Outgoing call;      // its token may still be missing
  bool awaits_token = false;
};

// True when the request asks for a WebSocket.
bool is_upgrade(const boost::beast::http::request<boost::beast::http::string_body>& request);
// Requires: is_upgrade. Returns at once; nobody else touches the stream from now on.
void start_conversation(ConversationStart start,
                        const boost::beast::http::request<boost::beast::http::string_body>& request);

}  // namespace drover::api
