#include "queues.h"

#include <pthread.h>
#ifdef DROVER_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

#include <algorithm>

namespace drover::wire {
namespace {

// One thread takes some 20,000 calls a second; a second one costs every event of an idle process a change of threads.
size_t count_of_queues() { return std::clamp<size_t>(std::thread::hardware_concurrency() / 2, 1, 8); }

void* tag(Event& event) {
  given_to_grpc(&event);
  return &event;
}

void run(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) {
    called_by_grpc(tag);
    const Event& event = *static_cast<Event*>(tag);
    event.then(event.owner, ok);
  }
}

}  // namespace

#ifdef DROVER_THREAD_SANITIZER
void given_to_grpc(void* object) { __tsan_release(object); }
void called_by_grpc(void* object) { __tsan_acquire(object); }
#else
void given_to_grpc(void*) {}
void called_by_grpc(void*) {}
#endif

Queues::Queues() {
  for (size_t i = 0; i < count_of_queues(); ++i) queues_.push_back(builder_.AddCompletionQueue());
  for (const auto& queue : queues_) {
    threads_.emplace_back([&one = *queue] { run(one); });
    pthread_setname_np(threads_.back().native_handle(), "grpc");
  }
}

void Queues::stop() {
  if (threads_.empty()) return;
  for (const auto& queue : queues_) queue->Shutdown();
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

// ------------------------------------------------------------------------------------------------------ the server's

void IncomingCall::expect(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue) {
  context_.AsyncNotifyWhenDone(tag(over_));
  service.RequestCall(&context_, &rpc_, &queue, &queue, tag(arrived_));
}

void IncomingCall::start_read(grpc::ByteBuffer& message) {
  ++open_;
  rpc_.Read(&message, tag(read_));
}

void IncomingCall::start_write(const grpc::ByteBuffer& message) {
  ++open_;
  rpc_.Write(message, tag(written_));
}

void IncomingCall::start_finish(const grpc::Status& status) { rpc_.Finish(status, tag(finished_)); }

void IncomingCall::start_write_and_finish(const grpc::ByteBuffer& message) {
  rpc_.WriteAndFinish(message, grpc::WriteOptions(), grpc::Status(), tag(finished_));
}

void IncomingCall::on_arrived(bool ok) {
  if (ok) {
    arrived();
  } else {
    abandoned();
  }
}

void IncomingCall::on_read(bool ok) {
  read_done(ok);
  release();
}

void IncomingCall::on_written(bool ok) {
  write_done(ok);
  release();
}

void IncomingCall::on_finished(bool) { release(); }

void IncomingCall::on_over(bool) {
  if (context_.IsCancelled()) cancelled();
  release();
}

void IncomingCall::release() {
  if (--open_ == 0) done();
}

// ------------------------------------------------------------------------------------------------------ the client's

void OutgoingCall::start(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                         grpc::CompletionQueue& queue, bool greeted, grpc::ByteBuffer& first) {
  context_->set_initial_metadata_corked(!greeted);
  rpc_ = grpc::GenericStub(channel).PrepareCall(&*context_, method, &queue);
  if (greeted) ++open_;
  rpc_->StartCall(greeted ? tag(written_) : nullptr);
  start_read(first);
  rpc_->Finish(&status_, tag(finished_));
}

void OutgoingCall::start_read(grpc::ByteBuffer& message) {
  ++open_;
  rpc_->Read(&message, tag(read_));
}

void OutgoingCall::write(const grpc::ByteBuffer& message, grpc::WriteOptions options) {
  ++open_;
  rpc_->Write(message, options, tag(written_));
}

void OutgoingCall::start_writes_done() {
  ++open_;
  rpc_->WritesDone(tag(writes_done_));
}

void OutgoingCall::drop() {
  rpc_.reset();
  context_.reset();
}

void OutgoingCall::on_read(bool ok) {
  read_done(ok);
  release();
}

void OutgoingCall::on_written(bool ok) {
  write_done(ok);
  release();
}

void OutgoingCall::on_writes_done(bool) { release(); }
void OutgoingCall::on_finished(bool) { release(); }

void OutgoingCall::release() {
  if (--open_ == 0) done(status_);
}

}  // namespace drover::wire
