// From an HTTP request to a call, and from a reply to an HTTP answer. Pure.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drover/methods.h"
#include "drover/result.h"
#include "routes.h"

namespace google::protobuf {
class Message;
}

namespace drover::api {

// The target's query, decoded. A name given twice keeps all its values.
using Query = std::multimap<std::string, std::string, std::less<>>;
Result<Query> parse_query(std::string_view text);

struct Incoming {
  std::string_view verb;
  std::string_view target;  // path and query
  std::string_view body;
  std::string_view token;          // X-Nomad-Token
  std::string_view authorization;  // Authorization
  // Any header by its name, for methods whose form asks for one. Empty: the request has none.
  std::function<std::string_view(std::string_view name)> header = {};
};

struct Outgoing {
  CallContext context;
  std::string request;
  const Binding* binding = nullptr;
  bool pretty = false;
  bool plain = false;         // streamed: raw bytes instead of frames
  bool ws_handshake = false;  // a conversation whose first frame carries the token
};

// The answer to a request. `status` other than 200 comes with plain text.
struct Answer {
  int status = 200;
  std::string body;
  std::string content_type;
  std::vector<std::pair<std::string, std::string>> headers;
};

// The token of the header Authorization; empty when it holds none of the kind "Bearer".
std::string_view bearer(std::string_view authorization);
// The call to make, or the answer to give at once (unknown path, wrong verb, a bad parameter or body).
std::variant<Outgoing, Answer> to_call(const Incoming& incoming, const Routes& routes);
Answer to_answer(const Outgoing& call, Result<Reply> reply);
Answer error_answer(const Status& status);
// An answer of plain text.
Answer text_answer(int status, std::string text);
// One streamed message in the form that the call asked for; false when the message is not one.
bool append_frame(const Outgoing& call, std::string_view message, std::string& out);
// True when a page of this origin ("https://host:port", empty outside of browsers) may open a WebSocket to what its
// browser calls `host`: browsers ask nobody, so the server must look.
bool is_same_origin(std::string_view origin, std::string_view host);
// The other way: a frame of the client as a request. Errors: invalid_argument.
Result<std::string> frame_message(const Outgoing& call, std::string_view frame);
// The value of the header Digest, which a download's first message brings; empty when there is none.
std::string digest_of(const Outgoing& call, std::string_view first_message);
// Likewise of the header Content-Type; without one, bytes.
std::string content_type_of(const Outgoing& call, std::string_view first_message);
// A piece of an uploaded body as the message that goes to the handler.
std::string upload_message(const Outgoing& call, std::string_view bytes);

}  // namespace drover::api
