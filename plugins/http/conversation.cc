#include "conversation.h"

#include <pthread.h>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/websocket.hpp>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "drover/mutex.h"
#include "guard/refused_token.h"
#include "headers.h"

namespace drover::api {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using Error = boost::system::error_code;

constexpr size_t kMaxFrame = 1 << 20;
constexpr size_t kMaxQueued = 64;   // frames that the client has not taken; then the handler waits
constexpr size_t kMaxReason = 123;  // of a close frame, in bytes
constexpr std::string_view kCut = "...";
constexpr int kServerError = 500;  // from this HTTP status on it is not the caller's fault

// The part of the message that has room in a close frame; not cut through the middle of a character.
std::string reason_of(const std::string& message) {
  if (message.size() <= kMaxReason) return message;
  size_t size = kMaxReason - kCut.size();
  while (size > 0 && (static_cast<unsigned char>(message[size]) & 0xc0) == 0x80) --size;
  return message.substr(0, size).append(kCut);
}

class Conversation final : public std::enable_shared_from_this<Conversation> {
 public:
  explicit Conversation(ConversationStart start)
      : connection_(std::move(start.connection)),
        shared_(start.shared),
        place_(std::move(start.place)),
        call_(std::move(start.call)),
        awaits_token_(start.awaits_token),
        socket_(start.stream),
        next_ping_(socket_.get_executor()) {}
  ~Conversation() {
    if (stream_) stream_->cancel();  // who waits to be heard waits no longer
  }

  void accept(const beast::http::request<beast::http::string_body>& request) {
    limit_silence(shared_.options.read_timeout);  // until it is known who speaks
    socket_.set_option(websocket::stream_base::decorator([this](websocket::response_type& response) {
      for (const auto& [name, value] : common_headers(0, shared_.options.headers)) response.set(name, value);
    }));
    socket_.read_message_max(kMaxFrame);
    socket_.text(true);
    request_ = request;
    socket_.async_accept(request_, [self = shared_from_this()](Error error) {
      if (error) return;
      self->awaits_token_ ? self->read_token() : self->open();
    });
  }

 private:
  void limit_silence(std::chrono::steady_clock::duration time) {
    websocket::stream_base::timeout limits = websocket::stream_base::timeout::suggested(beast::role_type::server);
    limits.idle_timeout = time;
    limits.keep_alive_pings = false;
    socket_.set_option(limits);
  }

  void read_token() {
    socket_.async_read(buffer_, [self = shared_from_this()](Error error, size_t) {
      if (error) return;
      const auto greeting = nlohmann::json::parse(self->take_frame(), nullptr, false);
      if (!greeting.is_object() || greeting.value("version", nlohmann::json()) != 1)
        return self->close_with(invalid_argument("the first frame must be {\"version\": 1, \"auth_token\": \"…\"}"));
      const auto token = greeting.find("auth_token");
      if (token != greeting.end() && token->is_string() && self->call_.context.query.token.empty())
        self->call_.context.query.token = token->get<std::string>();
      if (self->may_try()) self->open();
    });
  }

  // False when the address must wait, and has been told.
  bool may_try() {
    const bool has_token = !call_.context.query.token.empty();
    if (!shared_.attempts.refusal(place_, "", has_token, std::chrono::steady_clock::now())) return true;
    shared_.metrics.add("nomad.http.attempts_exceeded");
    close_with(too_many_attempts());
    return false;
  }

  std::string take_frame() {
    std::string frame = beast::buffers_to_string(buffer_.data());
    buffer_.consume(buffer_.size());
    return frame;
  }

  void open() {
    limit_silence(websocket::stream_base::none());  // a command may be silent for days
    call_.context.stop = cancel_.get_token();
    StreamReceiver receiver;
    receiver.message = [self = shared_from_this()](std::string message) { return self->take(message); };
    receiver.closed = [self = shared_from_this()](Status status) {
      const MutexLock lock(self->mutex_);
      self->closed_ = std::move(status);
      self->wake_locked();
    };
    auto opened = shared_.caller.open(call_.context, call_.request, std::move(receiver));
    if (!opened) return close_with(opened.status());
    stream_ = *std::move(opened);
    sender_ = std::jthread([this, stream = stream_](const std::stop_token& stop) {
      ::pthread_setname_np(::pthread_self(), "http-say");
      send_on(*stream, stop);
    });
    read();
    ping_later();
  }

  // ---- from the client

  void read() {
    socket_.async_read(buffer_, [self = shared_from_this()](Error error, size_t) {
      if (error) return self->gone();
      auto message = frame_message(self->call_, self->take_frame());
      if (!message) return self->end_with(message.status());
      const MutexLock lock(self->mutex_);
      self->to_send_ = *std::move(message);
      self->said_.notify_all();
    });
  }

  // [http-say] The handler sets the pace. One that takes no more has ended the call: `closed` follows.
  void send_on(StreamCall& stream, const std::stop_token& stop) {
    while (true) {
      std::string message;
      {
        MutexLock lock(mutex_);
        if (!said_.wait(lock, stop, [this]() DROVER_REQUIRES(mutex_) { return to_send_.has_value(); })) return;
        message = *std::exchange(to_send_, std::nullopt);
      }
      if (!stream.send(std::move(message))) return;
      asio::post(socket_.get_executor(), [weak = weak_from_this()] {
        if (const auto self = weak.lock()) self->read();
      });
    }
  }

  void gone() {
    cancel_.request_stop();
    const MutexLock lock(mutex_);
    room_.notify_all();
  }

  // Beast holds a ping back while another write is out, and drops it once the WebSocket is closed.
  void ping_later() {
    next_ping_.expires_after(shared_.options.ping_interval);
    next_ping_.async_wait([weak = weak_from_this()](Error error) {
      const auto self = weak.lock();
      if (error || !self || self->is_closing_) return;
      self->socket_.async_ping({}, [self](Error failed) {
        if (failed) return self->gone();
        if (!self->is_closing_) self->ping_later();
      });
    });
  }

  // A client that says what cannot be understood.
  void end_with(Status why) {
    {
      const MutexLock lock(mutex_);
      if (!ending_) ending_ = std::move(why);
    }
    cancel_.request_stop();
  }

  // ---- to the client

  bool take(const std::string& message) {
    std::string frame;
    if (!append_frame(call_, message, frame)) return false;
    MutexLock lock(mutex_);
    room_.wait(lock, cancel_.get_token(), [this]() DROVER_REQUIRES(mutex_) { return frames_.size() < kMaxQueued; });
    if (cancel_.stop_requested()) return false;
    frames_.push_back(std::move(frame));
    wake_locked();
    return true;
  }

  void wake_locked() DROVER_REQUIRES(mutex_) {
    if (std::exchange(is_writing_, true)) return;
    asio::post(socket_.get_executor(), [self = shared_from_this()] { self->write_next(); });
  }

  void write_next() {
    std::optional<Status> end;
    {
      const MutexLock lock(mutex_);
      if (!frames_.empty()) {
        writing_ = std::move(frames_.front());
        frames_.pop_front();
        room_.notify_all();
      } else if (closed_) {
        end = ending_ ? ending_ : closed_;
      } else {
        is_writing_ = false;
        return;
      }
    }
    if (end) return close_with(*end);
    socket_.async_write(asio::buffer(writing_), [self = shared_from_this()](Error error, size_t) {
      if (error) self->gone();
      self->write_next();
    });
  }

  void close_with(const Status& status) {
    is_closing_ = true;
    next_ping_.cancel();
    websocket::close_reason reason(websocket::close_code::normal);
    if (!status.ok()) {
      const std::string text = reason_of(status.message());
      if (error_answer(status).status == 403)
        note_refusal(shared_, place_, call_.context.query.token, shared_from_this());
      reason =
          websocket::close_reason(error_answer(status).status >= kServerError ? websocket::close_code::internal_error
                                                                              : websocket::close_code::policy_error,
                                  beast::string_view(text.data(), text.size()));
    }
    if (stream_) stream_->cancel();
    sender_ = {};
    stream_.reset();
    socket_.async_close(reason, [self = shared_from_this()](Error) {});
  }

  const std::shared_ptr<void> connection_;
  const SessionShared& shared_;
  const std::string place_;
  Outgoing call_;
  const bool awaits_token_;
  websocket::stream<Stream&> socket_;
  beast::http::request<beast::http::string_body> request_;
  beast::flat_buffer buffer_;
  asio::steady_timer next_ping_;
  bool is_closing_ = false;  // [the strand]
  std::stop_source cancel_;
  std::shared_ptr<StreamCall> stream_;
  std::string writing_;

  Mutex mutex_;
  CondVarAny room_;
  std::deque<std::string> frames_ DROVER_GUARDED_BY(mutex_);
  bool is_writing_ DROVER_GUARDED_BY(mutex_) = false;
  std::optional<Status> closed_ DROVER_GUARDED_BY(mutex_);  // the call's end
  std::optional<Status> ending_ DROVER_GUARDED_BY(mutex_);  // ours, which the client is told instead
  CondVarAny said_;
  // The client's; the next is read when it is on its way.
  std::optional<std::string> to_send_ DROVER_GUARDED_BY(mutex_);

  std::jthread sender_;  // last: it uses the rest
};

}  // namespace

bool is_upgrade(const beast::http::request<beast::http::string_body>& request) {
  return websocket::is_upgrade(request);
}

void start_conversation(ConversationStart start, const beast::http::request<beast::http::string_body>& request) {
  std::make_shared<Conversation>(std::move(start))->accept(request);
}

}  // namespace drover::api
