// Calls to a plugin that is a program of its own, over its socket: methods by name, messages as bytes. All who start
// such programs (the agent, the conformance kit, the author's shell) speak to them through this; only channel.cc knows
// gRPC.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "drover/clock.h"
#include "drover/plugin_programs/handshake.h"
#include "drover/result.h"
#include "drover/tls.h"

namespace drover::plugin_programs {

// The messages of one streaming call. Ends the call when it is destroyed.
class Messages {
 public:
  // Says what happens to messages that nobody has read yet: the plugin waits, or only the newest is kept.
  enum class Keep : uint8_t { all, newest };

  virtual ~Messages() = default;
  // Blocks for the next one; nothing when the call has ended, and status() says how. Requires: Keep::all. One reader.
  virtual std::optional<std::string> next() = 0;
  // The newest one, again and again; blocks for the first. Nothing when the call has ended or the deadline has passed.
  // Requires: Keep::newest. [any]
  virtual std::optional<std::string> newest(SteadyTime deadline) = 0;
  virtual Status status() const = 0;
  virtual void cancel() = 0;  // [any]
};

// A call in which the caller goes on speaking.
class Dialogue : public Messages {
 public:
  // Blocks while the plugin reads slowly. False when the call is over. One at a time, beside next().
  virtual bool say(std::string message) = 0;
  // That was all. Idempotent.
  virtual void finish() = 0;
};

class Channel {
 public:
  virtual ~Channel() = default;

  // One request, one answer. `method` is "/package.Service/Method"; without a deadline it may take for ever. Errors:
  // the plugin's own; unavailable when it is gone; deadline_exceeded; cancelled by `stop`. [any]
  virtual Result<std::string> call(const std::string& method, std::string request, std::optional<SteadyTime> deadline,
                                   std::stop_token stop = {}) = 0;
  // One request, many answers. [any]
  virtual std::shared_ptr<Messages> open(const std::string& method, std::string request,
                                         Messages::Keep keep = Messages::Keep::all) = 0;
  // Many requests, many answers. [any]
  virtual std::shared_ptr<Dialogue> talk(const std::string& method) = 0;
  // Several requests, one after the other, then the end of them; many answers. [any]
  std::shared_ptr<Messages> converse(const std::string& method, std::vector<std::string> requests);
};

// Does not wait for the other end: the first call does.
std::unique_ptr<Channel> connect(const std::string& socket);
// Where the handshake leads to: over TLS when it brings a certificate, which must be the one that the other end shows.
// `identity` is then what this end shows. Requires: there is one when the handshake brings a certificate.
std::unique_ptr<Channel> connect(const Handshake& handshake, const TlsIdentity* identity);

// As the protocol has errors: what a Go plugin can only say by its text becomes a code (an unknown task, a method that
// is not there).
Status translate(Status status);

}  // namespace drover::plugin_programs
