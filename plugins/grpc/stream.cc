#include "stream.h"

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>
#include <grpcpp/generic/generic_stub.h>
#ifdef DROVER_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

#include <utility>
#include <vector>

#include "call_codec.h"
#include "drover/log.h"

namespace drover::wire {
namespace {

constexpr size_t kQueueLimit = 16;
constexpr auto kStopTime = std::chrono::seconds(10);

}  // namespace

void prepare_process() {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  gpr_set_log_function([](gpr_log_func_args* line) { log::debug("grpc", "says", {{"line", line->message}}); });
}

#ifdef DROVER_THREAD_SANITIZER
void given_to_grpc(void* object) { __tsan_release(object); }
void called_by_grpc(void* object) { __tsan_acquire(object); }
#else
void given_to_grpc(void*) {}
void called_by_grpc(void*) {}
#endif

Status too_large(size_t size) {
  return resource_exhausted("a message of " + std::to_string(size) + " bytes is larger than the limit of " +
                            std::to_string(kMaxMessage));
}

grpc::ByteBuffer to_buffer(std::string message) {
  const grpc::Slice slice(message);
  return {&slice, 1};
}

std::string to_bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  bytes.reserve(buffer.Length());
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

template <typename Reactor>
bool StreamBase<Reactor>::send(std::string message) {
  MutexLock lock(mutex_);
  // Ends with the stream: cancelling it, its deadline or the keep-alive breaks it.
  room_.wait(lock, [this]() DROVER_REQUIRES(mutex_) {
    return outgoing_.size() < kQueueLimit || broken_ || closing_ || over_;
  });
  return push_locked(std::move(message));
}

template <typename Reactor>
bool StreamBase<Reactor>::post(std::string message) {
  MutexLock lock(mutex_);
  return push_locked(std::move(message));
}

template <typename Reactor>
bool StreamBase<Reactor>::push_locked(std::string message) {
  if (broken_ || closing_ || over_ || message.size() > kMaxMessage) return false;
  outgoing_.push_back(to_buffer(std::move(message)));
  if (!writing_) write_locked();
  return true;
}

template <typename Reactor>
void StreamBase<Reactor>::write_locked() {
  writing_ = true;
  this->StartWrite(&outgoing_.front());
}

template <typename Reactor>
void StreamBase<Reactor>::break_locked() {
  broken_ = true;
  while (outgoing_.size() > (writing_ ? 1u : 0u)) outgoing_.pop_back();
  room_.notify_all();
}

template <typename Reactor>
void StreamBase<Reactor>::read_next() {
  MutexLock lock(mutex_);
  if (reading_ || over_) return;
  reading_ = true;
  this->StartRead(&incoming_);
}

template <typename Reactor>
bool StreamBase<Reactor>::is_stuck() {
  MutexLock lock(mutex_);
  return std::exchange(was_writing_, writing_) && writing_;
}

template <typename Reactor>
void StreamBase<Reactor>::OnWriteDone(bool ok) {
  MutexLock lock(mutex_);
  writing_ = was_writing_ = false;
  outgoing_.pop_front();
  if (!ok) break_locked();
  room_.notify_all();
  if (over_) return;
  if (outgoing_.empty()) {
    idle_locked();
  } else {
    write_locked();
  }
}

template class StreamBase<grpc::ServerGenericBidiReactor>;
template class StreamBase<grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>>;

// ------------------------------------------------------------------------------------------------------ the server's

std::shared_ptr<ServerStream> ServerStream::make(grpc::GenericCallbackServerContext* context) {
  auto stream = std::shared_ptr<ServerStream>(new ServerStream(context));
  stream->self_ = stream;
  given_to_grpc(stream.get());
  return stream;
}

void ServerStream::start(Events events) {
  events_ = std::move(events);
  read_next();
}

void ServerStream::finish(const Status& status, std::string reply_meta) {
  MutexLock lock(mutex_);
  if (final_) return;
  closing_ = true;
  room_.notify_all();
  if (!reply_meta.empty()) context_->AddTrailingMetadata(kReplyKey, reply_meta);
  WireStatus wire = to_wire(status);
  final_ = grpc::Status(static_cast<grpc::StatusCode>(wire.code), wire.text, wire.details);
  if (!writing_ && outgoing_.empty()) idle_locked();
}

void ServerStream::answer(std::string message, std::string reply_meta) {
  {
    MutexLock lock(mutex_);
    if (!final_ && !writing_ && !broken_ && !over_ && outgoing_.empty() && message.size() <= kMaxMessage) {
      closing_ = over_ = writing_ = true;
      final_ = grpc::Status();
      outgoing_.push_back(to_buffer(std::move(message)));
      if (!reply_meta.empty()) context_->AddTrailingMetadata(kReplyKey, reply_meta);
      StartWriteAndFinish(&outgoing_.front(), grpc::WriteOptions(), *final_);
      return;
    }
  }
  post(std::move(message));
  finish(ok_status(), std::move(reply_meta));
}

void ServerStream::idle_locked() {
  if (!final_ || over_) return;
  over_ = true;
  Finish(*final_);
}

std::string ServerStream::metadata(const char* key) const {
  const auto& all = context_->client_metadata();
  auto at = all.find(key);
  return at == all.end() ? std::string() : std::string(at->second.data(), at->second.size());
}

void ServerStream::OnReadDone(bool ok) {
  std::string message;
  {
    MutexLock lock(mutex_);
    reading_ = false;
    if (ok) message = to_bytes(incoming_);
    incoming_.Clear();
  }
  if (ok) {
    events_.message(std::move(message));
  } else {
    events_.half_closed();
  }
}

void ServerStream::OnCancel() {
  called_by_grpc(this);  // on a thread that has done nothing else with it
  {
    MutexLock lock(mutex_);
    break_locked();
  }
  events_.cancelled();
}

void ServerStream::OnDone() {
  events_ = {};
  kept_.reset();
  self_.reset();  // the last touch, unless somebody else holds it
}

// ------------------------------------------------------------------------------------------------------ the client's

bool StreamGroup::add(const std::shared_ptr<ClientStream>& stream) {
  MutexLock lock(mutex_);
  if (stopping_) return false;
  streams_.emplace(stream.get(), stream);
  return true;
}

void StreamGroup::remove(ClientStream* stream) {
  MutexLock lock(mutex_);
  streams_.erase(stream);
  if (streams_.empty()) empty_.notify_all();
}

void StreamGroup::stop() {
  MutexLock lock(mutex_);
  stopping_ = true;
  std::vector<std::shared_ptr<ClientStream>> open;
  for (const auto& [key, weak] : streams_) {
    if (auto stream = weak.lock()) open.push_back(std::move(stream));
  }
  lock.unlock();
  for (const auto& stream : open) stream->cancel();
  open.clear();
  lock.lock();
  empty_.wait_for(lock, kStopTime, [this]() DROVER_REQUIRES(mutex_) { return streams_.empty(); });
}

bool ClientStream::start(const std::shared_ptr<ClientStream>& stream, StreamGroup& group, const Call& call,
                         Events events) {
  ClientStream& s = *stream;
  if (!group.add(stream)) return false;
  s.self_ = stream;
  s.group_ = &group;
  s.events_ = std::move(events);
  if (!call.context.empty()) s.context_->AddMetadata(kContextKey, call.context);
  if (call.deadline != SteadyTime::max()) {
    s.context_->set_deadline(std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(
                                                                    call.deadline - std::chrono::steady_clock::now()));
  }
  grpc::TemplatedGenericStub<grpc::ByteBuffer, grpc::ByteBuffer> stub(s.channel_);
  stub.PrepareBidiStreamingCall(&*s.context_, call.method, grpc::StubOptions(), &s);
  MutexLock lock(s.mutex_);
  s.AddHold();  // operations are started from outside of reactions, until a read says that it is over
  s.reading_ = true;
  s.StartRead(&s.incoming_);
  s.started_ = true;
  s.StartCall();
  return true;
}

void ClientStream::close_sending() {
  MutexLock lock(mutex_);
  closing_ = true;
  room_.notify_all();
  if (started_ && !over_ && !writing_ && outgoing_.empty()) idle_locked();
}

void ClientStream::idle_locked() {
  if (!closing_ || said_done_) return;
  said_done_ = true;
  StartWritesDone();
}

void ClientStream::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  if (context_) context_->TryCancel();
  break_locked();
  if (!started_ || over_ || reading_) return;
  reading_ = true;  // nobody may ask for the message that would tell of the end
  StartRead(&incoming_);
}

void ClientStream::OnReadDone(bool ok) {
  std::string message;
  {
    MutexLock lock(mutex_);
    reading_ = false;
    if (!ok) {
      over_ = true;
      break_locked();
    } else if (cancelled_) {
      reading_ = true;
      StartRead(&incoming_);
      return;
    } else {
      message = to_bytes(incoming_);
      incoming_.Clear();
    }
  }
  if (ok) {
    events_.message(std::move(message));
  } else {
    RemoveHold();
  }
}

void ClientStream::OnDone(const grpc::Status& status) {
  const std::shared_ptr<ClientStream> self = std::move(self_);
  std::string meta;
  const auto& trailing = context_->GetServerTrailingMetadata();
  if (auto at = trailing.find(kReplyKey); at != trailing.end()) meta.assign(at->second.data(), at->second.size());
  Events events = std::exchange(events_, {});
  events.ended(from_wire(status.error_code(), status.error_message(), status.error_details()), std::move(meta));
  events = {};
  {
    MutexLock lock(mutex_);
    context_.reset();
    channel_.reset();
  }
  group_->remove(this);
}

}  // namespace drover::wire
