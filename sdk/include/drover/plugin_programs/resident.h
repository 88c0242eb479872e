// Calls to a plugin inside this process, over the stable ABI (drover/abi.h): the same channel as to a program's socket.
#pragma once

#include <memory>

#include "drover/abi.h"
#include "drover/plugin_programs/channel.h"

namespace drover::plugin_programs {

class ResidentChannel : public Channel {
 public:
  // Every open call and each later one ends as unavailable. Idempotent; as release(), by one thread at a time.
  virtual void cut() = 0;
  // Cuts, waits until the plugin, too, has ended its calls, and releases it. One that keeps a call open for
  // ten seconds longer is not released, and the log says so. Idempotent; the destructor does it, too. Not from inside a
  // call of the plugin. [any]
  virtual void release() = 0;
};

// Takes the plugin's endpoint over. Errors of the plugin arrive as translate() makes them.
std::unique_ptr<ResidentChannel> connect(const drover_endpoint& plugin);

}  // namespace drover::plugin_programs
