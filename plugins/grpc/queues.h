// gRPC's completion queues, and the operations of one call on them. A thread of its own runs each queue: it waits for
// the network and tells the ends of operations. All calls of a process, those that it answers and those that it makes,
// share these few threads. gRPC's callbacks have threads of their own for each end, and every event wakes the next of
// them, which on an idle server costs more than the call.
#pragma once

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace drover::wire {

// gRPC comes from the system without instrumentation, so the thread sanitizer does not see that writes before an object
// was given to gRPC are visible in gRPC's calls of it. These two say so; otherwise they are nothing.
void given_to_grpc(void* object);
void called_by_grpc(void* object);

// One operation's end, or an event of a call: gRPC's tag.
struct Event {
  using Then = void (*)(void* owner, bool ok);

  void* const owner;
  const Then then;
};

template <auto then, typename Owner>
Event event_of(Owner* owner) {
  return {owner, [](void* one, bool ok) { (static_cast<Owner*>(one)->*then)(ok); }};
}

class Queues {
 public:
  Queues();
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;
  ~Queues() { stop(); }
  // Requires: no operation is under way, and none begins any more.
  void stop();

  // For a call that begins here; the calls take turns. [any]
  grpc::CompletionQueue& next() { return *queues_[turn_++ % queues_.size()]; }
  const std::vector<std::unique_ptr<grpc::ServerCompletionQueue>>& all() const { return queues_; }
  // Makes a server on these queues. Once.
  grpc::ServerBuilder& builder() { return builder_; }

 private:
  grpc::ServerBuilder builder_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::vector<std::thread> threads_;
  std::atomic<size_t> turn_{0};
};

// A call that somebody makes to this process. At most one read, one write and one finish may be under way at a time; a
// finish comes last, and once. All events come on the queue's thread, one after the other.
class IncomingCall {
 public:
  IncomingCall() = default;
  IncomingCall(const IncomingCall&) = delete;
  IncomingCall& operator=(const IncomingCall&) = delete;
  virtual ~IncomingCall() = default;

  // Waits for a call. The next event is arrived().
  void expect(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue);

 protected:
  void start_read(grpc::ByteBuffer& message);
  void start_write(const grpc::ByteBuffer& message);
  void start_finish(const grpc::Status& status);
  void start_write_and_finish(const grpc::ByteBuffer& message);  // with a good end
  grpc::GenericServerContext& context() { return context_; }
  const grpc::GenericServerContext& context() const { return context_; }

 private:
  virtual void arrived() = 0;
  virtual void abandoned() = 0;  // instead of arrived(), and last: the server takes no more calls
  virtual void read_done(bool ok) = 0;
  virtual void write_done(bool ok) = 0;
  virtual void cancelled() = 0;  // the caller has gone, or its deadline has passed
  virtual void done() = 0;       // last

  void on_arrived(bool ok);
  void on_read(bool ok);
  void on_written(bool ok);
  void on_finished(bool ok);
  void on_over(bool ok);
  void release();  // an operation has ended; the last ends the call

  grpc::GenericServerContext context_;
  grpc::GenericServerAsyncReaderWriter rpc_{&context_};
  std::atomic<int> open_{2};  // the finish that must come, the call's own end, and each operation under way
  Event arrived_ = event_of<&IncomingCall::on_arrived>(this);
  Event read_ = event_of<&IncomingCall::on_read>(this);
  Event written_ = event_of<&IncomingCall::on_written>(this);
  Event finished_ = event_of<&IncomingCall::on_finished>(this);
  Event over_ = event_of<&IncomingCall::on_over>(this);
};

// A call that this process makes. At most one read and one write may be under way at a time.
class OutgoingCall {
 public:
  OutgoingCall() = default;
  OutgoingCall(const OutgoingCall&) = delete;
  OutgoingCall& operator=(const OutgoingCall&) = delete;
  virtual ~OutgoingCall() = default;

 protected:
  // Begins with a read into `first`. The call ends when that or a later read says that nothing more comes, and
  // release_hold() was called. Greeted: the call's metadata goes out at once, as a write whose end is write_done();
  // else with the first message.
  void start(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, grpc::CompletionQueue& queue,
             bool greeted, grpc::ByteBuffer& first);
  void start_read(grpc::ByteBuffer& message);
  void start_write(const grpc::ByteBuffer& message) { write(message, {}); }
  void start_last_write(const grpc::ByteBuffer& message) { write(message, grpc::WriteOptions().set_last_message()); }
  void start_writes_done();
  void release_hold() { release(); }  // no operation is started any more
  // Null after drop(), which is for done() alone.
  grpc::ClientContext* context() { return context_ ? &*context_ : nullptr; }
  void drop();

 private:
  virtual void read_done(bool ok) = 0;
  virtual void write_done(bool ok) = 0;
  virtual void done(const grpc::Status& status) = 0;  // last

  void write(const grpc::ByteBuffer& message, grpc::WriteOptions options);
  void on_read(bool ok);
  void on_written(bool ok);
  void on_writes_done(bool ok);
  void on_finished(bool ok);
  void release();

  std::optional<grpc::ClientContext> context_{std::in_place};
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> rpc_;  // lies in the call that the context holds
  grpc::Status status_;
  std::atomic<int> open_{2};  // the hold, the status, and each operation under way
  Event read_ = event_of<&OutgoingCall::on_read>(this);
  Event written_ = event_of<&OutgoingCall::on_written>(this);
  Event writes_done_ = event_of<&OutgoingCall::on_writes_done>(this);
  Event finished_ = event_of<&OutgoingCall::on_finished>(this);
};

}  // namespace drover::wire
