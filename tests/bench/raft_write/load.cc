#include "load.h"

#include <grpcpp/generic/generic_stub.h>

#include <algorithm>
#include <deque>

#include "forms.pb.h"

namespace drover::bench {
namespace {

constexpr auto kCallTime = std::chrono::seconds(30);

grpc::ByteBuffer to_buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string to_bytes(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  std::string bytes;
  if (!buffer.Dump(&slices).ok()) return bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

// One call after the other over one connection.
class Writer {
 public:
  Writer(std::shared_ptr<grpc::Channel> channel, std::string method, const std::string& request)
      : stub_(std::move(channel)), method_(std::move(method)), request_(to_buffer(request)) {}

  void begin(grpc::CompletionQueue& queue) {
    context_.emplace();
    context_->set_deadline(std::chrono::system_clock::now() + kCallTime);
    answer_.Clear();
    begun_ = Steady::now();
    call_ = stub_.PrepareUnaryCall(&*context_, method_, request_, &queue);
    call_->StartCall();
    call_->Finish(&answer_, &status_, this);
  }
  Steady::time_point begun() const { return begun_; }
  const grpc::Status& status() const { return status_; }
  const grpc::ByteBuffer& answer() const { return answer_; }

 private:
  grpc::GenericStub stub_;
  const std::string method_;
  const grpc::ByteBuffer request_;
  std::optional<grpc::ClientContext> context_;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> call_;
  grpc::ByteBuffer answer_;
  grpc::Status status_;
  Steady::time_point begun_;
};

}  // namespace

double microseconds(Steady::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

double percentile(std::vector<double> values, double part) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

void Answers::add(const Answers& other) {
  microseconds.insert(microseconds.end(), other.microseconds.begin(), other.microseconds.end());
  failed += other.failed;
  if (!other.error.empty()) error = other.error;
  seconds += other.seconds;
}

Channels connect(const std::string& address, size_t connections) {
  Channels channels;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // else all share one connection
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  for (size_t i = 0; i < connections; ++i) {
    channels.push_back(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  return channels;
}

std::optional<std::string> call(grpc::Channel& channel, const std::string& method, const std::string& request,
                                std::chrono::milliseconds limit) {
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + limit);
  const std::shared_ptr<grpc::Channel> borrowed(&channel, [](grpc::Channel*) {});
  grpc::GenericStub stub(borrowed);
  const auto reader = stub.PrepareUnaryCall(&context, method, to_buffer(request), &queue);
  grpc::ByteBuffer answer;
  grpc::Status status;
  reader->StartCall();
  reader->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  if (!status.ok()) return std::nullopt;
  return to_bytes(answer);
}

Answers run_load(const Channels& channels, const std::string& method, size_t writers, size_t text_bytes,
                 Steady::duration time) {
  grpc::CompletionQueue queue;
  std::deque<Writer> all;
  const std::string text(text_bytes, 't');
  for (size_t i = 0; i < writers; ++i) {
    Write write;
    write.set_name("writer-" + std::to_string(i));
    write.set_text(text);
    all.emplace_back(channels[i % channels.size()], method, write.SerializeAsString());
  }
  Answers answers;
  const Steady::time_point begun = Steady::now();
  for (Writer& writer : all) writer.begin(queue);
  for (size_t open = writers; open > 0;) {
    void* tag = nullptr;
    bool ok = false;
    queue.Next(&tag, &ok);
    Writer& writer = *static_cast<Writer*>(tag);
    const Steady::time_point now = Steady::now();
    if (writer.status().ok()) {
      answers.microseconds.push_back(microseconds(now - writer.begun()));
    } else {
      ++answers.failed;
      answers.error = writer.status().error_message();
    }
    if (now - begun < time) {
      writer.begin(queue);
    } else {
      --open;
    }
  }
  answers.seconds = microseconds(Steady::now() - begun) / 1e6;
  return answers;
}

}  // namespace drover::bench
