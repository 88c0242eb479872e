// One gRPC stream of byte messages, from either end.
//
// Reads go one by one: after each message the owner asks for the next, so a slow owner slows the sender down. Writes
// wait in a short queue. Events run on a queue's thread and must not block. [any]
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "drover/methods.h"
#include "drover/mutex.h"
#include "queues.h"

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

Status too_large(size_t size);
grpc::ByteBuffer to_buffer(std::string message);
std::string to_bytes(const grpc::ByteBuffer& buffer);

// The part that both ends share: the queue of messages to write and the state of the one read.
template <typename Call>
class StreamBase : public Call {
 public:
  // Waits while the other side reads slowly. False when the stream is over.
  bool send(std::string message);
  // Queues without waiting.
  bool post(std::string message);
  // Asks for the next message; does nothing while one is asked for.
  void read_next();
  // True when the message that was being written at the last call still is: the other side takes nothing.
  bool is_stuck();

 protected:
  void write_done(bool ok) override;
  bool push_locked(std::string message) DROVER_REQUIRES(mutex_);
  void write_locked() DROVER_REQUIRES(mutex_);
  void break_locked() DROVER_REQUIRES(mutex_);           // what is queued will not be written
  virtual void idle_locked() DROVER_REQUIRES(mutex_) {}  // nothing is queued and nothing is being written

  Mutex mutex_;
  CondVar room_;
  std::deque<grpc::ByteBuffer> outgoing_ DROVER_GUARDED_BY(mutex_);  // the first is being written
  grpc::ByteBuffer incoming_ DROVER_GUARDED_BY(mutex_);
  bool writing_ DROVER_GUARDED_BY(mutex_) = false;
  bool is_greeting_ DROVER_GUARDED_BY(mutex_) = false;  // that is the call's metadata, and no message
  bool was_writing_ DROVER_GUARDED_BY(mutex_) = false;  // at the last is_stuck(), the same message
  bool reading_ DROVER_GUARDED_BY(mutex_) = false;
  bool broken_ DROVER_GUARDED_BY(mutex_) = false;   // sending makes no sense any more
  bool closing_ DROVER_GUARDED_BY(mutex_) = false;  // no further messages may be queued
  bool over_ DROVER_GUARDED_BY(mutex_) = false;     // no operation may be started
};

class ServerStream final : public StreamBase<IncomingCall> {
 public:
  struct Events {
    std::function<void(std::string message)> message;
    std::function<void()> half_closed;  // the caller sends no more, or has gone
    std::function<void()> cancelled;    // the caller has gone, or its deadline has passed
  };
  struct Expectation {
    std::function<void(std::shared_ptr<ServerStream> stream)> arrived;  // start() and finish() it
    std::function<void()> over;  // last, exactly once: the call has ended, or none will come
  };
  // Waits for a call. The stream owns itself until finish() has run its course.
  static void expect(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue, Expectation expectation);
  void start(Events events);
  // Keeps that as long as the call goes on. Before start().
  void keep(std::shared_ptr<void> kept) { kept_ = std::move(kept); }
  // Ends the call after what is queued. The first one counts.
  void finish(const Status& status, std::string reply_meta = {});
  // The one message of an answer and its good end, in one step.
  void answer(std::string message, std::string reply_meta);

  const std::string& method() const { return context().method(); }
  std::string metadata(const char* key) const;
  std::string peer() const { return context().peer(); }
  std::shared_ptr<const grpc::AuthContext> caller() const { return context().auth_context(); }

 private:
  explicit ServerStream(Expectation expectation) : expectation_(std::move(expectation)) {}
  void arrived() override;
  void abandoned() override;
  void read_done(bool ok) override;
  void cancelled() override;
  void done() override;
  void idle_locked() override DROVER_REQUIRES(mutex_);

  Expectation expectation_;
  std::shared_ptr<ServerStream> self_;
  std::shared_ptr<void> kept_;
  Events events_;
  std::optional<grpc::Status> final_ DROVER_GUARDED_BY(mutex_);
};

class ClientStream;

// The streams that one owner has open: stopping ends and awaits them all.
class StreamGroup {
 public:
  explicit StreamGroup(Queues& queues) : queues_(queues) {}
  grpc::CompletionQueue& queue() { return queues_.next(); }
  bool add(const std::shared_ptr<ClientStream>& stream);  // false once stopping
  void remove(ClientStream* stream);
  void stop();

 private:
  Queues& queues_;
  Mutex mutex_;
  CondVar empty_;
  std::map<ClientStream*, std::weak_ptr<ClientStream>> streams_ DROVER_GUARDED_BY(mutex_);
  bool stopping_ DROVER_GUARDED_BY(mutex_) = false;
};

class ClientStream final : public StreamBase<OutgoingCall> {
 public:
  struct Events {
    std::function<void(std::string message)> message;
    std::function<void(Status status, std::string reply_meta)> ended;  // the last
  };
  struct Call {
    std::string method;
    std::string context;  // serialized; empty: none
    SteadyTime deadline = SteadyTime::max();
    bool is_greeted = false;  // the other side speaks first
  };
  explicit ClientStream(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}
  // False when the group is stopping: then no event happens.
  static bool start(const std::shared_ptr<ClientStream>& stream, StreamGroup& group, const Call& call, Events events);
  // The only message, and the end of sending, in one step.
  void post_only(std::string message);
  void close_sending();
  void cancel();

 private:
  void read_done(bool ok) override;
  void done(const grpc::Status& status) override;
  void idle_locked() override DROVER_REQUIRES(mutex_);

  // It and the call's context are dropped before the group hears of the end: a channel's last reference must not fall
  // on a thread of gRPC, which would wait for itself.
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<ClientStream> self_;
  StreamGroup* group_ = nullptr;
  Events events_;
  bool started_ DROVER_GUARDED_BY(mutex_) = false;
  bool cancelled_ DROVER_GUARDED_BY(mutex_) = false;
  bool said_done_ DROVER_GUARDED_BY(mutex_) = false;
};

}  // namespace drover::wire
