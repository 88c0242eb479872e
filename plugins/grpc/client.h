// Calls to other servers by address, and the agent's side of the connection that lets servers call this node. [any]
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "credentials.h"
#include "drover/mutex.h"
#include "drover/wire.h"
#include "node_link.h"
#include "stream.h"
#include "wire.h"

namespace drover::wire {

class GrpcClient {
 public:
  // Everything outlives the client.
  GrpcClient(const Wire::Setup& setup, const WireLimits& limits, Channels& channels, StreamGroup& streams)
      : setup_(setup), limits_(limits), channels_(channels), streams_(streams) {}
  // Ends the node's connection. The calls end with the group of streams.
  void stop();

  // As Wire.
  void call_server(const std::string& address, CallContext context, std::string request,
                   std::function<void(Result<Reply>)> done);
  Result<std::unique_ptr<StreamCall>> open_server(const std::string& address, CallContext context, std::string request,
                                                  StreamReceiver receiver);
  void attach(Wire::Attachment attachment);

 private:
  ClientStream::Call start_of(const CallContext& context) const;

  const Wire::Setup& setup_;
  const WireLimits& limits_;
  Channels& channels_;
  StreamGroup& streams_;
  Mutex mutex_;
  std::unique_ptr<NodeLink> link_ DROVER_GUARDED_BY(mutex_);
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::wire
