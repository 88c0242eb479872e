#include "stream.h"

#include <absl/synchronization/mutex.h>
#include <grpc/support/log.h>

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

template <typename Call>
bool StreamBase<Call>::send(std::string message) {
  MutexLock lock(mutex_);
  // Ends with the stream: cancelling it, its deadline or the keep-alive breaks it.
  room_.wait(lock, [this]() DROVER_REQUIRES(mutex_) {
    return outgoing_.size() < kQueueLimit || broken_ || closing_ || over_;
  });
  return push_locked(std::move(message));
}

template <typename Call>
bool StreamBase<Call>::post(std::string message) {
  MutexLock lock(mutex_);
  return push_locked(std::move(message));
}

template <typename Call>
bool StreamBase<Call>::push_locked(std::string message) {
  if (broken_ || closing_ || over_ || message.size() > kMaxMessage) return false;
  outgoing_.push_back(to_buffer(std::move(message)));
  if (!writing_) write_locked();
  return true;
}

template <typename Call>
void StreamBase<Call>::write_locked() {
  writing_ = true;
  this->start_write(outgoing_.front());
}

template <typename Call>
void StreamBase<Call>::break_locked() {
  broken_ = true;
  while (outgoing_.size() > (writing_ ? 1u : 0u)) outgoing_.pop_back();
  room_.notify_all();
}

template <typename Call>
void StreamBase<Call>::read_next() {
  MutexLock lock(mutex_);
  if (reading_ || over_) return;
  reading_ = true;
  this->start_read(incoming_);
}

template <typename Call>
bool StreamBase<Call>::is_stuck() {
  MutexLock lock(mutex_);
  return std::exchange(was_writing_, writing_) && writing_;
}

template <typename Call>
void StreamBase<Call>::write_done(bool ok) {
  MutexLock lock(mutex_);
  writing_ = was_writing_ = false;
  if (!std::exchange(is_greeting_, false)) outgoing_.pop_front();
  if (!ok) break_locked();
  room_.notify_all();
  if (over_) return;
  if (outgoing_.empty()) {
    idle_locked();
  } else {
    write_locked();
  }
}

template class StreamBase<IncomingCall>;
template class StreamBase<OutgoingCall>;

// ------------------------------------------------------------------------------------------------------ the server's

void ServerStream::expect(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue,
                          Expectation expectation) {
  auto stream = std::shared_ptr<ServerStream>(new ServerStream(std::move(expectation)));
  stream->self_ = stream;
  stream->IncomingCall::expect(service, queue);
}

void ServerStream::arrived() { std::exchange(expectation_.arrived, {})(self_); }

void ServerStream::abandoned() { done(); }

void ServerStream::start(Events events) {
  events_ = std::move(events);
  read_next();
}

void ServerStream::finish(const Status& status, std::string reply_meta) {
  MutexLock lock(mutex_);
  if (final_) return;
  closing_ = true;
  room_.notify_all();
  if (!reply_meta.empty()) context().AddTrailingMetadata(kReplyKey, reply_meta);
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
      if (!reply_meta.empty()) context().AddTrailingMetadata(kReplyKey, reply_meta);
      start_write_and_finish(outgoing_.front());
      return;
    }
  }
  post(std::move(message));
  finish(ok_status(), std::move(reply_meta));
}

void ServerStream::idle_locked() {
  if (!final_ || over_) return;
  over_ = true;
  start_finish(*final_);
}

std::string ServerStream::metadata(const char* key) const {
  const auto& all = context().client_metadata();
  auto at = all.find(key);
  return at == all.end() ? std::string() : std::string(at->second.data(), at->second.size());
}

void ServerStream::read_done(bool ok) {
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

void ServerStream::cancelled() {
  {
    MutexLock lock(mutex_);
    break_locked();
  }
  events_.cancelled();
}

void ServerStream::done() {
  const std::shared_ptr<ServerStream> self = std::move(self_);  // somebody else may hold it, too
  events_ = {};
  kept_.reset();
  std::exchange(expectation_, {}).over();
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
  if (!call.context.empty()) s.context()->AddMetadata(kContextKey, call.context);
  if (call.deadline != SteadyTime::max()) {
    s.context()->set_deadline(std::chrono::system_clock::now() + std::chrono::duration_cast<std::chrono::microseconds>(
                                                                     call.deadline - std::chrono::steady_clock::now()));
  }
  MutexLock lock(s.mutex_);
  s.reading_ = s.started_ = true;
  s.writing_ = s.is_greeting_ = call.is_greeted;
  s.OutgoingCall::start(s.channel_, call.method, group.queue(), call.is_greeted, s.incoming_);
  return true;
}

void ClientStream::post_only(std::string message) {
  MutexLock lock(mutex_);
  if (broken_ || over_) return;
  closing_ = said_done_ = writing_ = true;
  outgoing_.push_back(to_buffer(std::move(message)));
  start_last_write(outgoing_.front());
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
  start_writes_done();
}

void ClientStream::cancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  if (context()) context()->TryCancel();
  break_locked();
  if (!started_ || over_ || reading_) return;
  reading_ = true;  // nobody may ask for the message that would tell of the end
  start_read(incoming_);
}

void ClientStream::read_done(bool ok) {
  std::string message;
  {
    MutexLock lock(mutex_);
    reading_ = false;
    if (!ok) {
      over_ = true;
      break_locked();
    } else if (cancelled_) {
      reading_ = true;
      start_read(incoming_);
      return;
    } else {
      message = to_bytes(incoming_);
      incoming_.Clear();
    }
  }
  if (ok) {
    events_.message(std::move(message));
  } else {
    release_hold();
  }
}

void ClientStream::done(const grpc::Status& status) {
  const std::shared_ptr<ClientStream> self = std::move(self_);
  std::string meta;
  const auto& trailing = context()->GetServerTrailingMetadata();
  if (auto at = trailing.find(kReplyKey); at != trailing.end()) meta.assign(at->second.data(), at->second.size());
  Events events = std::exchange(events_, {});
  events.ended(from_wire(status.error_code(), status.error_message(), status.error_details()), std::move(meta));
  events = {};
  {
    MutexLock lock(mutex_);
    drop();
    channel_.reset();
  }
  group_->remove(this);
}

}  // namespace drover::wire
