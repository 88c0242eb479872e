// One gRPC stream of byte messages, from either end.
//
// Reads go one by one: after each message the owner asks for the next, so a slow owner slows the sender down. Writes
// wait in a short queue. Events run on gRPC's threads and must not block. [any]
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/support/client_callback.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "drover/methods.h"
#include "drover/mutex.h"

namespace drover::wire {

constexpr int kMaxMessage = 16 * 1024 * 1024;
constexpr auto kPatience = std::chrono::seconds(15);  // with another agent that is silent on a connection that is alive
constexpr const char* kAttachMethod = "/drover.rpc/Attach";
constexpr const char* kPeerMethod = "/drover.rpc/Peer";
constexpr const char* kContextKey = "drover-context-bin";
constexpr const char* kReplyKey = "drover-reply-bin";

// Sets what gRPC shares by process: sends its own lines to our log, as details for anybody who looks into a failed
// call, and turns off the search for deadlocks in each of its locks, which Debian's build has and which took a
// twentieth of a busy server's time. Further calls do nothing.
void prepare_process();

// gRPC comes from the system without instrumentation, so the thread sanitizer does not see that writes before an object
// was given to gRPC are visible in gRPC's calls of it. These two say so; otherwise they are nothing.
void given_to_grpc(void* object);
void called_by_grpc(void* object);

Status too_large(size_t size);
grpc::ByteBuffer to_buffer(std::string message);
std::string to_bytes(const grpc::ByteBuffer& buffer);

// The part that both ends share: the queue of messages to write and the state of the one read.
template <typename Reactor>
class StreamBase : public Reactor {
 public:
  // Waits while the other side reads slowly. False when the stream is over.
  bool send(std::string message);
  // Queues without waiting.
  bool post(std::string message);
  // Asks for the next message; does nothing while one is asked for.
  void read_next();
  // True when the message that was being written at the last call still is: the other side takes nothing.
  bool is_stuck();

  void OnWriteDone(bool ok) override;

 protected:
  bool push_locked(std::string message) DROVER_REQUIRES(mutex_);
  void write_locked() DROVER_REQUIRES(mutex_);
  void break_locked() DROVER_REQUIRES(mutex_);           // what is queued will not be written
  virtual void idle_locked() DROVER_REQUIRES(mutex_) {}  // nothing is queued and nothing is being written

  Mutex mutex_;
  CondVar room_;
  std::deque<grpc::ByteBuffer> outgoing_ DROVER_GUARDED_BY(mutex_);  // the first is being written
  grpc::ByteBuffer incoming_ DROVER_GUARDED_BY(mutex_);
  bool writing_ DROVER_GUARDED_BY(mutex_) = false;
  bool was_writing_ DROVER_GUARDED_BY(mutex_) = false;  // at the last is_stuck(), the same message
  bool reading_ DROVER_GUARDED_BY(mutex_) = false;
  bool broken_ DROVER_GUARDED_BY(mutex_) = false;   // sending makes no sense any more
  bool closing_ DROVER_GUARDED_BY(mutex_) = false;  // no further messages may be queued
  bool over_ DROVER_GUARDED_BY(mutex_) = false;     // no operation may be started
};

class ServerStream final : public StreamBase<grpc::ServerGenericBidiReactor> {
 public:
  struct Events {
    std::function<void(std::string message)> message;
    std::function<void()> half_closed;  // the caller sends no more, or has gone
    std::function<void()> cancelled;    // the caller has gone, or its deadline has passed
  };
  // The stream owns itself until finish() has run its course.
  static std::shared_ptr<ServerStream> make(grpc::GenericCallbackServerContext* context);
  void start(Events events);
  // Keeps that as long as the call goes on. Before start().
  void keep(std::shared_ptr<void> kept) { kept_ = std::move(kept); }
  // Ends the call after what is queued. The first one counts.
  void finish(const Status& status, std::string reply_meta = {});
  // The one message of an answer and its good end, in one step.
  void answer(std::string message, std::string reply_meta);

  std::string metadata(const char* key) const;
  std::string peer() const { return context_->peer(); }

  void OnReadDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  explicit ServerStream(grpc::GenericCallbackServerContext* context) : context_(context) {}
  void idle_locked() override DROVER_REQUIRES(mutex_);

  grpc::GenericCallbackServerContext* const context_;
  std::shared_ptr<ServerStream> self_;
  std::shared_ptr<void> kept_;
  Events events_;
  std::optional<grpc::Status> final_ DROVER_GUARDED_BY(mutex_);
};

class ClientStream;

// The streams that one owner has open: stopping ends and awaits them all.
class StreamGroup {
 public:
  bool add(const std::shared_ptr<ClientStream>& stream);  // false once stopping
  void remove(ClientStream* stream);
  void stop();

 private:
  Mutex mutex_;
  CondVar empty_;
  std::map<ClientStream*, std::weak_ptr<ClientStream>> streams_ DROVER_GUARDED_BY(mutex_);
  bool stopping_ DROVER_GUARDED_BY(mutex_) = false;
};

class ClientStream final : public StreamBase<grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>> {
 public:
  struct Events {
    std::function<void(std::string message)> message;
    std::function<void(Status status, std::string reply_meta)> ended;  // the last
  };
  struct Call {
    std::string method;
    std::string context;  // serialized; empty: none
    SteadyTime deadline = SteadyTime::max();
  };
  explicit ClientStream(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}
  // False when the group is stopping: then no event happens.
  static bool start(const std::shared_ptr<ClientStream>& stream, StreamGroup& group, const Call& call, Events events);
  void close_sending();
  void cancel();

  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  void idle_locked() override DROVER_REQUIRES(mutex_);

  // Both are dropped before the group hears of the end: a channel's last reference must not fall on a thread of gRPC,
  // which would wait for itself.
  std::shared_ptr<grpc::Channel> channel_;
  // Dropped under the lock, by the last callback, which itself reads it without.
  std::optional<grpc::ClientContext> context_{std::in_place};
  std::shared_ptr<ClientStream> self_;
  StreamGroup* group_ = nullptr;
  Events events_;
  bool started_ DROVER_GUARDED_BY(mutex_) = false;
  bool cancelled_ DROVER_GUARDED_BY(mutex_) = false;
  bool said_done_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::wire
