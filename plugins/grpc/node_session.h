// The server's end of a node's connection. [any]
#pragma once

#include <map>
#include <memory>
#include <string>

#include "call.pb.h"
#include "delivery.h"
#include "drover/executor.h"
#include "drover/mutex.h"
#include "drover/uuid.h"
#include "stream.h"

namespace drover::wire {

class NodeSession : public std::enable_shared_from_this<NodeSession> {
 public:
  NodeSession(const Uuid& node, std::string secret, std::shared_ptr<ServerStream> stream, Executor& executor,
              Clock& clock)
      : node_(node), secret_(std::move(secret)), stream_(std::move(stream)), executor_(executor), clock_(clock) {}

  void call(CallContext context, std::string request, std::function<void(Result<Reply>)> done);
  Result<std::unique_ptr<StreamCall>> open(CallContext context, std::string request, StreamReceiver receiver);

  void receive(v1::Frame frame);
  // Fails what is open; later calls are refused.
  void end(const Status& why);
  void close(const Status& why) { stream_->finish(why); }

  // The stream that carries call N. Errors: permission_denied, not_found.
  class Carried;
  Result<std::shared_ptr<Carried>> carry(uint64_t call, const std::string& secret);
  const Uuid& node() const { return node_; }

 private:
  struct Waiting;
  class Handle;
  bool open_frame(uint64_t number, const CallContext& context, std::string request, bool streaming);
  void give_up(uint64_t number, const Status& why);  // tells the node, answers the caller
  void forget(uint64_t number);
  uint64_t limit(uint64_t number, const CallContext& context);

  const Uuid node_;
  const std::string secret_;
  const std::shared_ptr<ServerStream> stream_;
  Executor& executor_;
  Clock& clock_;
  Mutex mutex_;
  uint64_t next_ DROVER_GUARDED_BY(mutex_) = 1;
  std::optional<Status> ended_ DROVER_GUARDED_BY(mutex_);
  std::map<uint64_t, std::shared_ptr<Waiting>> waiting_ DROVER_GUARDED_BY(mutex_);
  std::map<uint64_t, std::shared_ptr<Carried>> carried_ DROVER_GUARDED_BY(mutex_);
};

// A streaming call to a node. The stream that carries it arrives later than the first messages may be sent.
class NodeSession::Carried : public std::enable_shared_from_this<NodeSession::Carried> {
 public:
  Carried(std::weak_ptr<NodeSession> session, uint64_t number) : session_(std::move(session)), number_(number) {}

  Status start(Executor& executor, StreamReceiver receiver);
  // The agent's stream is here. False when the call is over.
  bool link(std::shared_ptr<ServerStream> stream);
  void receive(const v1::Frame& frame);
  void lost();  // the stream ended without a close frame

  bool send(std::string message);
  void close_sending();
  void end(const Status& why);

  std::optional<std::stop_callback<std::function<void()>>> on_stop;
  uint64_t timer = 0;

 private:
  v1::Frame frame() const;

  const std::weak_ptr<NodeSession> session_;
  const uint64_t number_;
  const std::shared_ptr<Delivery> delivery_ = std::make_shared<Delivery>();
  Mutex mutex_;
  std::shared_ptr<ServerStream> stream_ DROVER_GUARDED_BY(mutex_);
  std::deque<std::string> early_ DROVER_GUARDED_BY(mutex_);
  bool over_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::wire
