// How bytes travel between agents: calls to servers and nodes, and lanes for consensus. The agent finds one
// implementation among its plugins and cannot live without it; what a call means and where it goes is the router's
// business.
//
//   declared ──start──▶ reaches out ──listen──▶ is reached as well ──stop──▶ stopped
//
// The agent drives this life itself, not Plugin::start and Plugin::stop: consensus needs the wire before the plugins
// start, and plugins that stop may still send over it. Functions are [any] unless they say otherwise.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "drover/clock.h"
#include "drover/executor.h"
#include "drover/methods.h"
#include "drover/result.h"
#include "drover/tls.h"
#include "drover/uuid.h"

namespace drover {

// Ways to other processes. `done` and the receiver's functions run on any thread and must not block.
class Peers {
 public:
  virtual ~Peers() = default;
  virtual void call_server(const std::string& address, CallContext context, std::string request,
                           std::function<void(Result<Reply>)> done) = 0;
  virtual Result<std::unique_ptr<StreamCall>> open_server(const std::string& address, CallContext context,
                                                          std::string request, StreamReceiver receiver) = 0;
  // Down the connection that the node's agent opened to this server.
  virtual bool has_node(const Uuid& node) const = 0;
  virtual void call_node(const Uuid& node, CallContext context, std::string request,
                         std::function<void(Result<Reply>)> done) = 0;
  virtual Result<std::unique_ptr<StreamCall>> open_node(const Uuid& node, CallContext context, std::string request,
                                                        StreamReceiver receiver) = 0;
};

// A one-way stream of messages to another server, opened again whenever it is lost:
//
//   idle ──connect──▶ greeting ──welcome──▶ open ──broken──▶ idle, again after 50 ms … 1 s
//
// While it is open nothing is lost and the order is kept. Answers go over the answerer's own lanes.
class Lane {
 public:
  // Closes. An event that is on its way may still come, no further one.
  virtual ~Lane() = default;
  // Never blocks. Dropped while the lane is not open.
  virtual void send(std::string message) = 0;
};

// Told what happens to a lane, one event at a time. On any thread; must not block, and may send.
struct LaneEvents {
  std::function<void()> open;
  // The attempt to open it failed (refused, nobody there), or the open lane broke. It is tried again.
  std::function<void(const Status& why, bool was_open)> broken;
};

// Takes the messages of one accepted lane, one at a time and in order. Must not block. An error ends the lane with it.
using LaneSink = std::function<Status(std::string message)>;

// Decides over the lanes that other servers open here. Must not block.
class LaneAcceptor {
 public:
  virtual ~LaneAcceptor() = default;
  // The error is the refusal that the other side is told.
  virtual Result<LaneSink> accept(std::string_view greeting) = 0;
};

enum class MethodForm : uint8_t { unknown, unary, streaming };

class Wire : public Peers {
 public:
  static constexpr std::string_view kExtensionPoint = "wire";

  struct Setup {
    Caller& router;  // answers or forwards what comes in
    std::function<MethodForm(std::string_view method)> form_of;
    Executor& executor;  // runs until after stop()
    Clock& clock;
    std::optional<Tls> tls{};  // none: plain text
    // Checks that the secret is the node's own. Runs on the executor, may wait.
    std::function<Status(const Uuid& node, const std::string& secret)> verify_node;
    // Hears of every address whose call failed with unavailable.
    std::function<void(const std::string& address)> unreachable;
    LaneAcceptor* lanes = nullptr;  // null: this agent takes none
  };
  // All that the setup names outlives stop(). Once, before anything else. [main]
  virtual void start(Setup setup) = 0;
  // Lets others in. `address` is "host:port", port 0 takes a free one; `option` is named in the error. Once. [main]
  // Errors: failed_precondition when it cannot listen.
  virtual Status listen(const std::string& address, const std::string& option) = 0;
  // Where it listens, with the port taken; empty when it does not.
  virtual std::string address() const = 0;

  // The agent's side of the connection that lets servers call this node.
  struct Attachment {
    Uuid node;
    std::string secret;
    std::function<std::string()> server;  // the address to try now
  };
  // It lives until stop(). Further calls say what proves the node when it is opened again.
  virtual void attach(Attachment attachment) = 0;

  // Lanes to one address share a connection when they name the same one. The greeting goes first, at every attempt.
  virtual std::unique_ptr<Lane> open_lane(const std::string& address, const std::string& connection,
                                          std::string greeting, LaneEvents events) = 0;

  // Cancels every call and stream and waits for them; later ones are refused. Idempotent. [main]
  virtual void stop() = 0;
};

}  // namespace drover
