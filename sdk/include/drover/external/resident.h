// Calls to a plugin inside this process, over the stable ABI (drover/abi.h): the same channel as to a program's socket.
#pragma once

#include <memory>

#include "drover/abi.h"
#include "drover/external/channel.h"

namespace drover::external {

class ResidentChannel : public Channel {
 public:
  // Ends every open call and releases the plugin; from now on every call is unavailable. One that keeps a call open for
  // ten seconds longer is not released, and the log says so. Idempotent; the destructor does it, too. Not from inside a
  // call of the plugin. [any]
  virtual void release() = 0;
};

// Takes the plugin's endpoint over. Errors of the plugin arrive as translate() makes them.
std::unique_ptr<ResidentChannel> connect(const drover_endpoint& plugin);

}  // namespace drover::external
