// Calls: how a plugin answers methods and how it calls others.
//
// A method is named by its protobuf full name, "/drover.v1.Jobs/Register". Its .proto carries the route, the access
// rule and the HTTP form (drover/options.proto); handlers are bound to it in Plugin::declare:
//
//   declare.service("drover.v1.Jobs", {
//       method<&Jobs::list>("List", this),               // Result<Response> list(const Request&, Call&)
//       method<&Jobs::register_job>("Register", this),   // Result<Write<Response>> register_job(const Request&, Call&)
//       stream<&Jobs::follow>("Follow", this)});         // Status follow(const Request&, Call&, Replies<Response>&)
//
// A method's kind says what its handler may do and where it runs:
//
//   READ, LIST  answers from call.view() and from nothing else. The router runs it again when what it looked at has
//               changed and somebody waits. Runs on the pool; must not wait.
//   WRITE       decides on call.view(): returns a command of the log and how its answer is made from what was applied.
//               The router proposes, for the term in which the decision was made, and decides again if another began.
//               Runs on the pool; must not wait: nobody's thread waits for the log.
//   ACT         does something on this machine, or calls other methods. Runs on a thread of its own and may wait.
//
// The router sets the deadline of a proposal, the index of an answer, last_contact and known_leader for all of them.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "drover/clock.h"
#include "drover/messages.h"
#include "drover/result.h"
#include "drover/permissions.h"
#include "drover/tables.h"
#include "drover/uuid.h"

namespace drover {

// The caller of a method. Made by the authenticate stage, never taken from the wire.
struct Identity {
  enum class Kind : uint8_t { anonymous, management, token, client, workload };
  Kind kind = Kind::anonymous;
  std::string name;  // accessor, node or allocation identifier; for logs and metrics, never a secret
  std::shared_ptr<const Permissions> permissions = {};  // null: none
};

// The options that every call understands. They travel beside the message.
struct QueryOptions {
  std::string region;                   // empty: the receiving agent's
  std::string name_space = "default";   // "*" on lists: all that the caller may read
  std::string token;                    // secret; never logged
  uint64_t min_index = 0;               // block until the answer's index is greater
  std::chrono::nanoseconds max_wait{};  // how long to block; zero: the default of five minutes
  bool stale = false;                   // any server may answer
  std::string prefix;
  std::string filter;
  int32_t per_page = 0;  // zero: everything
  std::string next_token;
  bool reverse = false;
};

// Says which calls may be made on behalf of a plugin that is not part of the build. The router asks it
// before all else. [any]
class CallGate {
 public:
  virtual ~CallGate() = default;
  // Errors: permission_denied.
  virtual Status admit(std::string_view method) = 0;
};

struct CallContext {
  std::string method;
  QueryOptions query;
  Identity identity;
  std::string node_secret;        // a node's proof of identity; secret
  std::string remote_address;     // of the outermost caller, for logs and limits
  std::vector<std::string> path;  // servers that this call has passed; one of them twice is an error
  SteadyTime deadline = SteadyTime::max();
  std::stop_token stop;
  std::shared_ptr<CallGate> gate;  // of the caller; null: everything may be asked for. It does not travel
  // It comes from another server, which its certificate proves where agents use TLS, or from this one's own plugins,
  // which say so. It does not travel: a server vouches for no one but itself.
  bool from_server = false;
  const Access* access = nullptr;  // the method's rule, from the router on
};

// The answer to who may not, which does not say why.
Status access_denied();

// The part of an answer beside its message.
struct ReplyMeta {
  uint64_t index = 0;  // of the data in the answer; the next blocking call passes it as min_index
  std::chrono::nanoseconds last_contact{};
  bool known_leader = false;
  std::string next_token;
};

// One call as its handler sees it. [the handler's thread]
class Call {
 public:
  virtual ~Call() = default;
  virtual const CallContext& context() const = 0;
  // The snapshot to answer or to decide from. Requires: the method's kind is READ, LIST or WRITE.
  virtual const ReadView& view() const = 0;

  const QueryOptions& query() const { return context().query; }
  std::stop_token stop() const { return context().stop; }

  const Permissions& permissions() const;
  // True when the caller meets the method's rule in that namespace. Handlers of methods whose rule is `of_object` ask
  // for the namespace of what they found, and lists for that of each row.
  bool allowed_in(std::string_view name_space) const;
  Status require(std::string_view name_space) const;  // the same; errors: access_denied()
  // A node asks about itself only. Errors: access_denied(), for another node's identifier (sixteen bytes).
  Status own_node(std::string_view node_id) const;

  // READ and LIST: the index of what was read. Unset, the router takes the largest table index the handler looked at.
  // WRITE and ACT: of what was found where nothing was written; else the router sets the index of the log entry.
  void set_index(uint64_t index) { meta_.index = index; }
  void set_next_token(std::string token) { meta_.next_token = std::move(token); }
  const ReplyMeta& meta() const { return meta_; }

 protected:
  ReplyMeta meta_;
};

// Messages of a streaming call, in both directions.
class MessageStream {
 public:
  virtual ~MessageStream() = default;
  // False when the caller has gone. May block while the caller reads slowly.
  virtual bool send(std::string message) = 0;
  // The caller's next message; nothing when it closed its side, has gone, or the deadline passed.
  virtual std::optional<std::string> receive(SteadyTime deadline) = 0;
};

// A command that was applied here: the index of its log entry, and what its apply function answered.
struct Applied {
  uint64_t index = 0;
  std::string answer;
};

// The decision of a WRITE handler, as bytes.
struct Decision {
  std::string command;  // full name; empty: nothing is to be written
  std::string payload;
  // Makes the answer, on the pool, from what was applied; from nothing applied where nothing was to be written.
  std::function<Result<std::string>(const Applied&)> answer;
};

// The same with types. `answer` owns all that it needs: the handler's arguments are gone when it runs.
//
//   return Write<Response>(command, [id](const Applied& applied) -> Result<Response> { … });
//   return Write<Response>(response);  // nothing to write
template <typename Response>
class Write {
 public:
  Write(Response response)
      : decision_{{}, {}, [response = std::move(response)](const Applied&) -> Result<std::string> {
                    return response.SerializeAsString();
                  }} {}
  // An answer that does not depend on what was applied.
  template <typename Command>
  Write(const Command& command, const Response& response)
      : Write(command, [response](const Applied&) { return response; }) {}
  template <typename Command, typename Answer>
  Write(const Command& command, Answer answer) requires std::is_invocable_v<Answer, const Applied&>
      : decision_{Command::descriptor()->full_name(), serialize(command),
                  [answer = std::move(answer)](const Applied& applied) mutable -> Result<std::string> {
                    Result<Response> response = answer(applied);
                    if (!response) return response.status();
                    return response->SerializeAsString();
                  }} {}
  Decision take() && { return std::move(decision_); }

 private:
  Decision decision_;
};

using UnaryHandler = std::function<Result<std::string>(std::string_view request, Call& call)>;
using WriteHandler = std::function<Result<Decision>(std::string_view request, Call& call)>;
using StreamHandler = std::function<Status(std::string_view request, Call& call, MessageStream& stream)>;

// A handler by the method's short name. Exactly one of the functions is set.
struct MethodBinding {
  std::string name;
  UnaryHandler unary;  // READ, LIST, ACT
  StreamHandler stream;
  WriteHandler write;  // WRITE
};

template <typename Response>
class Replies {
 public:
  explicit Replies(MessageStream& stream) : stream_(stream) {}
  bool send(const Response& response) { return stream_.send(response.SerializeAsString()); }
  MessageStream& raw() { return stream_; }

 private:
  MessageStream& stream_;
};

template <typename Message>
Result<Message> parse_message(std::string_view bytes) {
  Message parsed;
  if (!parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return invalid_argument("not a valid " + std::string(parsed.GetTypeName()) + " message");
  }
  return parsed;
}

namespace detail {
template <typename T>
struct HandlerTraits;
template <typename Owner, typename Req, typename Resp>
struct HandlerTraits<Result<Resp> (Owner::*)(const Req&, Call&)> {
  using Request = Req;
  using Self = Owner;
  static constexpr bool kIsWrite = false;
};
template <typename Owner, typename Req, typename Resp>
struct HandlerTraits<Result<Write<Resp>> (Owner::*)(const Req&, Call&)> {
  using Request = Req;
  using Self = Owner;
  static constexpr bool kIsWrite = true;
};
template <typename T>
struct StreamTraits;
template <typename Owner, typename Req, typename Resp>
struct StreamTraits<Status (Owner::*)(const Req&, Call&, Replies<Resp>&)> {
  using Request = Req;
  using Response = Resp;
  using Self = Owner;
};
}  // namespace detail

// Requires: `self` outlives every call.
template <auto Function>
MethodBinding method(std::string name, typename detail::HandlerTraits<decltype(Function)>::Self* self) {
  using Traits = detail::HandlerTraits<decltype(Function)>;
  using Request = typename Traits::Request;
  MethodBinding binding{.name = std::move(name), .unary = {}, .stream = {}, .write = {}};
  if constexpr (Traits::kIsWrite) {
    binding.write = [self](std::string_view bytes, Call& call) -> Result<Decision> {
      DROVER_TRY(Request request, parse_message<Request>(bytes));
      DROVER_TRY(auto write, (self->*Function)(request, call));
      return std::move(write).take();
    };
  } else {
    binding.unary = [self](std::string_view bytes, Call& call) -> Result<std::string> {
      DROVER_TRY(Request request, parse_message<Request>(bytes));
      DROVER_TRY(auto response, (self->*Function)(request, call));
      return response.SerializeAsString();
    };
  }
  return binding;
}

template <auto Function>
MethodBinding stream(std::string name, typename detail::StreamTraits<decltype(Function)>::Self* self) {
  using Traits = detail::StreamTraits<decltype(Function)>;
  return {std::move(name),
          {},
          [self](std::string_view bytes, Call& call, MessageStream& messages) -> Status {
            DROVER_TRY(typename Traits::Request request, parse_message<typename Traits::Request>(bytes));
            Replies<typename Traits::Response> replies(messages);
            return (self->*Function)(request, call, replies);
          },
          {}};
}

// For the few answers whose HTTP status the error's code does not give. Travels in the status's details.
Status with_http_status(Status status, int http_status);
std::optional<int> http_status_of(const Status& status);

struct Reply {
  std::string body;
  ReplyMeta meta;
};

// The caller's end of a streaming call. Functions run on a thread of the router, one at a time; `closed` is the last.
struct StreamReceiver {
  std::function<bool(std::string message)> message;  // false: no more, please; ends the call
  std::function<void(Status status)> closed;
};
class StreamCall {
 public:
  virtual ~StreamCall() = default;  // dropping it cancels the call
  virtual bool send(std::string message) = 0;
  virtual void close_sending() = 0;
  virtual void cancel() = 0;
};

// The way to every method, wherever it is answered: here, on another server, on a node. [any]
class Caller {
 public:
  virtual ~Caller() = default;
  // `done` runs exactly once on a thread of the router; it must not block.
  virtual void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done) = 0;
  // Calls and waits. Requires: a thread that may wait: one of the plugin's own, or that of an ACT or stream handler.
  virtual Result<Reply> call_and_wait(CallContext context, std::string request) = 0;
  virtual Result<std::unique_ptr<StreamCall>> open(CallContext context, std::string request,
                                                   StreamReceiver receiver) = 0;
};

// A typed call that waits: auto reply = call<v1::RegisterNodeResponse>(caller, std::move(context), request);
template <typename Response, typename Request>
Result<Response> call(Caller& caller, CallContext context, const Request& request, ReplyMeta* meta = nullptr) {
  DROVER_TRY(Reply reply, caller.call_and_wait(std::move(context), request.SerializeAsString()));
  if (meta) *meta = reply.meta;
  return parse_message<Response>(reply.body);
}

}  // namespace drover
