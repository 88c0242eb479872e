#include "session.h"

#include <sys/socket.h>

#include <google/protobuf/descriptor.h>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <optional>

#include "conversation.h"
#include "drover/duration.h"
#include "drover/log.h"
#include "drover/mutex.h"
#include "gzip.h"
#include "request.h"

namespace drover::api {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using Tcp = asio::ip::tcp;
using Error = boost::system::error_code;

constexpr auto kLinger = std::chrono::seconds(2);
constexpr size_t kMinGzip = 256;  // smaller answers grow
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr size_t kUploadPiece = 256 << 10;
constexpr size_t kMaxQueuedBytes = 1 << 20;  // of a stream that the client reads slowly

class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(Tcp::socket socket, const SessionShared& shared, std::stop_token stopping, std::function<void()> ended)
      : stream_(std::move(socket)),
        shared_(shared),
        ended_(std::move(ended)),
        on_stop_(std::move(stopping), [this] { close_soon(); }) {
    Error ignored;
    const auto remote = stream_.socket().remote_endpoint(ignored);
    if (!ignored) remote_ = remote.address().to_string();
  }
  ~Session() { ended_(); }

  void start() {
    asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->read(); });
  }

 private:
  // --- reading -------------------------------------------------------------------------------------------------------

  // An idle connection may wait long for its next request; a begun one must arrive in time.
  void read() {
    parser_.emplace();
    parser_->body_limit(kNoLimit);  // known once the header says what it is for
    parser_->header_limit(64 << 10);
    stream_.expires_never();
    if (buffer_.size() > 0) return read_request();
    arm(shared_.options.idle_timeout);
    stream_.socket().async_wait(Tcp::socket::wait_read, [self = shared_from_this()](Error error) {
      if (error || self->timed_out_) return self->close();
      self->read_request();
    });
  }

  void read_request() {
    arm(shared_.options.read_timeout);
    bhttp::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](Error error, size_t) {
      if (!error) return self->read_body();
      self->disarm();
      self->on_request(error);
    });
  }

  // A body that is no upload is read whole, up to the limit, before anything else happens.
  void read_body() {
    const auto& header = parser_->get();
    const std::string_view target = view(header.target());
    const Match match = shared_.routes.find(view(header.method_string()), target.substr(0, target.find('?')));
    const bool is_upload = match.binding && match.binding->form.upload();
    const auto length = parser_->content_length();
    if (!is_upload && length && *length > shared_.options.max_body_bytes) {
      disarm();
      return on_request(bhttp::error::body_limit);
    }
    if (view(header[bhttp::field::expect]) == "100-continue") return go_on(is_upload);
    read_rest(is_upload);
  }

  void go_on(bool is_upload) {
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(stream_, asio::buffer(kContinue.data(), kContinue.size()),
                      [self = shared_from_this(), is_upload](Error error, size_t) {
                        error ? self->close() : self->read_rest(is_upload);
                      });
  }

  void read_rest(bool is_upload) {
    if (is_upload) {
      disarm();
      return open_upload();
    }
    parser_->body_limit(shared_.options.max_body_bytes);
    bhttp::async_read(stream_, buffer_, *parser_, [self = shared_from_this()](Error error, size_t) {
      self->disarm();
      self->on_request(error);
    });
  }

  // Ends what is being read when the time is over, and leaves the connection open for an answer.
  void arm(std::chrono::nanoseconds time) {
    timed_out_ = false;
    timer_.expires_after(time);
    timer_.async_wait([weak = weak_from_this(), armed = ++armed_](Error error) {
      auto self = weak.lock();
      if (error || !self || self->armed_ != armed) return;
      self->timed_out_ = true;
      self->interrupt();
    });
  }

  // Ends the reading that is armed. It may stand between two of its steps, where nothing is there to be cancelled: so
  // again, until it has ended.
  void interrupt() {
    Error ignored;
    stream_.socket().cancel(ignored);
    asio::post(stream_.get_executor(), [weak = weak_from_this(), armed = armed_] {
      auto self = weak.lock();
      if (self && self->armed_ == armed) self->interrupt();
    });
  }

  void disarm() {
    ++armed_;
    timer_.cancel();
  }

  void on_request(Error error) {
    if (error == bhttp::error::body_limit) {
      return fail(413, "the request body is larger than " + std::to_string(shared_.options.max_body_bytes) + " bytes");
    }
    if (error == bhttp::error::header_limit)
      return fail(431, "the request's header fields are larger than 65536 bytes");
    if (error && timed_out_) return parser_->got_some() ? fail(408, "the request did not arrive in time") : close();
    if (error == bhttp::error::end_of_stream || error == asio::error::connection_reset ||
        error == asio::error::operation_aborted || error == asio::error::eof ||
        error == bhttp::error::partial_message) {
      return close();
    }
    if (error) return fail(400, "malformed request: " + error.message());
    stream_.expires_never();
    request_ = parser_->release();
    keep_alive_ = request_.keep_alive();
    begin();
    call();
  }

  // --- uploading -----------------------------------------------------------------------------------------------------
  //
  //   reading ──piece──▶ sending ──taken──▶ reading … ──end of the body──▶ said ──closed──▶ answered
  //
  // The handler may close the call in each of these states; what was under way ends first, then comes the answer.
  struct Upload {
    enum class State : uint8_t { reading, sending, said };
    explicit Upload(bhttp::request_parser<bhttp::string_body>&& header) : parser(std::move(header)) {}
    bhttp::request_parser<bhttp::buffer_body> parser;
    std::string piece;
    std::shared_ptr<StreamCall> call;
    State state = State::reading;
    std::optional<Status> closed;
  };

  void open_upload() {
    upload_.emplace(std::move(*parser_));
    upload_->piece.resize(kUploadPiece);
    request_ = {};
    request_.base() = upload_->parser.get().base();
    keep_alive_ = upload_->parser.get().keep_alive();
    begin();
    if (!prepare()) return;
    StreamReceiver receiver;
    receiver.message = [](std::string) { return true; };
    receiver.closed = [self = shared_from_this()](Status status) {
      asio::post(self->stream_.get_executor(), [self, status = std::move(status)]() mutable {
        if (!self->upload_) return;
        self->upload_->closed = std::move(status);
        if (self->upload_->state == Upload::State::said) return self->answer_upload();
        if (self->upload_->state == Upload::State::reading) self->interrupt();
      });
    };
    auto opened = shared_.caller.open(outgoing_.context, std::move(outgoing_.request), std::move(receiver));
    if (!opened) {
      upload_->closed = opened.status();
      return answer_upload();
    }
    upload_->call = *std::move(opened);
    read_piece();
  }

  void read_piece() {
    auto& body = upload_->parser.get().body();
    body.data = upload_->piece.data();
    body.size = upload_->piece.size();
    upload_->state = Upload::State::reading;
    arm(shared_.options.read_timeout);
    bhttp::async_read(stream_, buffer_, upload_->parser, [self = shared_from_this()](Error error, size_t) {
      self->disarm();
      self->on_piece(error == bhttp::error::need_buffer ? Error() : error);
    });
  }

  void on_piece(Error error) {
    if (!upload_) return close();
    if (upload_->closed) return answer_upload();
    if (error) {
      cancel_.request_stop();
      upload_.reset();
      return timed_out_ ? fail(408, "the request did not arrive in time") : close();
    }
    const size_t size = upload_->piece.size() - upload_->parser.get().body().size;
    upload_->state = Upload::State::sending;
    asio::post(shared_.uploads, [self = shared_from_this(), call = upload_->call,
                                 message = upload_message(outgoing_, std::string_view(upload_->piece).substr(0, size)),
                                 is_last = upload_->parser.is_done(), is_empty = size == 0]() mutable {
      const bool is_taken = is_empty || call->send(std::move(message));
      if (is_taken && is_last) call->close_sending();
      asio::post(self->stream_.get_executor(), [self, is_taken, is_last] { self->on_sent(is_taken, is_last); });
    });
  }

  // One that was not taken means that the call is over: `closed` follows.
  void on_sent(bool is_taken, bool is_last) {
    if (!upload_) return;
    if (upload_->closed) return answer_upload();
    if (is_taken && !is_last) return read_piece();
    upload_->state = Upload::State::said;
    if (is_last) watch_client();
  }

  // The client may still be sending; nobody reads it any more.
  void end_unread() {
    if (!upload_->parser.is_done()) {
      keep_alive_ = false;
      lingers_ = true;
    }
    upload_.reset();
  }

  void answer_upload() {
    const Status status = *upload_->closed;
    end_unread();
    write(status.ok() ? Answer{} : error_answer(status));
  }

  // --- calling -------------------------------------------------------------------------------------------------------

  static std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

  // Fills in `outgoing_`, or answers at once and returns false.
  bool prepare() {
    const std::string_view body = request_.body();
    auto prepared = to_call({.verb = view(request_.method_string()),
                             .target = view(request_.target()),
                             .body = body,
                             .token = view(request_["X-Nomad-Token"]),
                             .authorization = view(request_[bhttp::field::authorization])},
                            shared_.routes);
    if (auto* answer = std::get_if<Answer>(&prepared)) {
      if (upload_) end_unread();
      write(std::move(*answer));
      return false;
    }
    outgoing_ = std::get<Outgoing>(std::move(prepared));
    outgoing_.context.remote_address = remote_;
    cancel_ = std::stop_source();
    outgoing_.context.stop = cancel_.get_token();
    return true;
  }

  void begin() {
    shared_.metrics.add("nomad.http.request", 1);
    began_ = std::chrono::steady_clock::now();
    const std::string_view target = view(request_.target());
    asked_ = {std::string(view(request_.method_string())), std::string(target.substr(0, target.find('?')))};
  }

  // Without the query: it may hold secrets.
  void report() {
    if (asked_.first.empty()) return;
    log::debug("http", "request complete",
               {{"method", asked_.first},
                {"path", asked_.second},
                {"duration", format_duration(std::chrono::steady_clock::now() - began_)}});
    asked_ = {};
  }

  void call() {
    if (view(request_.target()) == "/" && request_.method() == bhttp::verb::get) {
      Answer redirect{.status = 307};
      redirect.headers.emplace_back("Location", "/ui/");
      return write(std::move(redirect));
    }
    if (!prepare()) return;
    if (is_conversation()) return converse();
    watch_client();
    const Http::Content content = outgoing_.binding->form.content();
    if (content == Http::FRAMES || content == Http::BYTES) return open_stream();
    shared_.caller.call(outgoing_.context, std::move(outgoing_.request),
                        [self = shared_from_this()](Result<Reply> reply) {
                          asio::post(self->stream_.get_executor(), [self, reply = std::move(reply)]() mutable {
                            self->write(to_answer(self->outgoing_, std::move(reply)));
                          });
                        });
  }

  bool is_conversation() const {
    const auto& binding = *outgoing_.binding;
    return binding.form.content() == Http::FRAMES && binding.method->client_streaming();
  }

  void converse() {
    if (!is_upgrade(request_)) return fail(400, "this is a conversation over a WebSocket: ask for an upgrade to it");
    if (!is_same_origin(view(request_[bhttp::field::origin]), view(request_[bhttp::field::host])))
      return fail(403, "a page of another origin may not begin a conversation");
    stream_.expires_never();
    report();
    start_conversation({.stream = stream_,
                        .connection = shared_from_this(),
                        .shared = shared_,
                        .call = outgoing_,
                        .awaits_token = outgoing_.ws_handshake},
                       request_);
  }

  // While a call is out the client sends nothing; readable therefore means that it went away, or sent its next request
  // early, which stays in the socket.
  void watch_client() {
    stream_.socket().async_wait(Tcp::socket::wait_read, [weak = weak_from_this()](Error error) {
      auto self = weak.lock();
      if (!self || error) return;
      char byte = 0;
      const ssize_t got = recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
      if (got == 0) self->gone();
    });
  }

  void gone() {
    cancel_.request_stop();
    keep_alive_ = false;
  }

  // --- streaming -----------------------------------------------------------------------------------------------------

  // Handed from the stream's thread to the strand.
  struct Pipe {
    Mutex mutex;
    CondVarAny room;
    std::string bytes DROVER_GUARDED_BY(mutex);
    std::string digest DROVER_GUARDED_BY(mutex);
    std::string content_type DROVER_GUARDED_BY(mutex) = "application/octet-stream";
    bool has_begun DROVER_GUARDED_BY(mutex) = false;
    std::optional<Status> closed DROVER_GUARDED_BY(mutex);
    bool is_draining DROVER_GUARDED_BY(mutex) = false;
  };

  void open_stream() {
    pipe_ = std::make_shared<Pipe>();
    StreamReceiver receiver;
    // The stream holds the session until it is over; the session lets go of the stream when it closes.
    receiver.message = [self = shared_from_this(), pipe = pipe_, stop = cancel_.get_token(),
                        form = outgoing_](std::string message) {
      MutexLock lock(pipe->mutex);
      pipe->room.wait(lock, stop, [&]() DROVER_REQUIRES(pipe->mutex) { return pipe->bytes.size() < kMaxQueuedBytes; });
      if (stop.stop_requested() || !append_frame(form, message, pipe->bytes)) return false;
      if (!std::exchange(pipe->has_begun, true)) {
        pipe->digest = digest_of(form, message);
        pipe->content_type = content_type_of(form, message);
      }
      if (!std::exchange(pipe->is_draining, true)) asio::post(self->stream_.get_executor(), [self] { self->drain(); });
      return true;
    };
    receiver.closed = [self = shared_from_this(), pipe = pipe_](Status status) {
      MutexLock lock(pipe->mutex);
      pipe->closed = std::move(status);
      if (!std::exchange(pipe->is_draining, true)) asio::post(self->stream_.get_executor(), [self] { self->drain(); });
    };
    auto opened = shared_.caller.open(outgoing_.context, std::move(outgoing_.request), std::move(receiver));
    if (!opened) return write(error_answer(opened.status()));
    stream_call_ = *std::move(opened);
  }

  // Writes what the stream has produced; the header goes with the first bytes, or an error takes its place.
  void drain() {
    std::string bytes, digest, content_type;
    std::optional<Status> closed;
    {
      MutexLock lock(pipe_->mutex);
      bytes.swap(pipe_->bytes);
      digest = pipe_->digest;
      content_type = pipe_->content_type;
      closed = pipe_->closed;
      pipe_->room.notify_all();
      if (bytes.empty() && !closed) {
        pipe_->is_draining = false;
        return;
      }
    }
    if (!header_sent_) {
      if (bytes.empty() && closed && !closed->ok()) {
        stream_call_.reset();
        return write(error_answer(*closed));
      }
      return send_header(std::move(bytes), digest, content_type);
    }
    if (bytes.empty()) return closed->ok() || !is_download() ? finish_stream() : abandon_stream();
    send_chunk(std::move(bytes));
  }

  // A download that broke off is not ended as if it were whole.
  bool is_download() const { return outgoing_.binding->form.content() == Http::BYTES; }

  void send_header(std::string first, const std::string& digest, const std::string& content_type) {
    header_sent_ = true;
    header_.emplace(bhttp::status::ok, 11);
    header_->set(bhttp::field::content_type, is_download()     ? content_type
                                             : outgoing_.plain ? "text/plain; charset=utf-8"
                                                               : "application/json");
    // A browser takes a file for what the header says, and for nothing else.
    if (is_download() || outgoing_.plain) header_->set("X-Content-Type-Options", "nosniff");
    if (!digest.empty()) header_->set("Digest", digest);
    header_->chunked(true);
    header_->keep_alive(keep_alive_);
    decorate(*header_);
    serializer_.emplace(*header_);
    bhttp::async_write_header(stream_, *serializer_,
                              [self = shared_from_this(), first = std::move(first)](Error error, size_t) mutable {
                                if (error) return self->abandon_stream();
                                first.empty() ? self->drain() : self->send_chunk(std::move(first));
                              });
  }

  void send_chunk(std::string bytes) {
    chunk_ = std::move(bytes);
    asio::async_write(stream_, bhttp::make_chunk(asio::buffer(chunk_)),
                      [self = shared_from_this()](Error error, size_t) {
                        if (error) return self->abandon_stream();
                        self->drain();
                      });
  }

  void finish_stream() {
    report();
    asio::async_write(stream_, bhttp::make_chunk_last(), [self = shared_from_this()](Error error, size_t) {
      self->stream_call_.reset();
      self->header_sent_ = false;
      if (error || !self->keep_alive_) return self->close();
      self->next();
    });
  }

  void abandon_stream() {
    report();
    cancel_.request_stop();
    stream_call_.reset();
    close();
  }

  // --- writing -------------------------------------------------------------------------------------------------------

  template <typename Message>
  void decorate(Message& message) {
    for (const auto& [name, value] : shared_.options.headers) message.set(name, value);
    message.set(bhttp::field::vary, "Accept-Encoding");
  }

  bool takes_gzip() const {
    return view(request_[bhttp::field::accept_encoding]).find("gzip") != std::string_view::npos;
  }

  void write(Answer answer) {
    cancel_.request_stop();  // nothing waits for this call any more; also ends watch_client's interest
    report();
    response_.emplace();
    auto& response = *response_;
    response.version(11);
    response.result(static_cast<unsigned>(answer.status));
    for (const auto& [name, value] : answer.headers) response.set(name, value);
    if (!answer.content_type.empty()) response.set(bhttp::field::content_type, answer.content_type);
    decorate(response);
    if (answer.body.size() >= kMinGzip && takes_gzip()) {
      answer.body = gzip(answer.body);
      response.set(bhttp::field::content_encoding, "gzip");
    }
    response.body() = std::move(answer.body);
    response.keep_alive(keep_alive_);
    response.prepare_payload();
    response_serializer_.emplace(response);
    write_on();
  }

  // However long it takes, as long as the client goes on reading.
  void write_on() {
    stream_.expires_after(shared_.options.read_timeout);
    bhttp::async_write_some(stream_, *response_serializer_, [self = shared_from_this()](Error error, size_t) {
      if (!error && !self->response_serializer_->is_done()) return self->write_on();
      if (!error && self->lingers_) return self->linger();
      if (error || !self->keep_alive_) return self->close();
      self->next();
    });
  }

  // Closing while the client still sends would take the answer from it.
  void linger() {
    Error ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    stream_.expires_never();
    arm(kLinger);
    discard();
  }

  void discard() {
    chunk_.resize(64 << 10);
    stream_.async_read_some(asio::buffer(chunk_), [self = shared_from_this()](Error error, size_t) {
      if (error || self->timed_out_) return self->close();
      self->discard();
    });
  }

  void next() {
    response_serializer_.reset();
    response_.reset();
    Error ignored;
    stream_.socket().cancel(ignored);  // watch_client
    read();
  }

  // An answer to a request that could not be read; the connection is of no further use.
  void fail(int status, std::string text) {
    keep_alive_ = false;
    lingers_ = true;
    write({.status = status, .body = std::move(text), .content_type = "text/plain; charset=utf-8"});
  }

  void close() {
    cancel_.request_stop();
    disarm();
    Error ignored;
    stream_.socket().shutdown(Tcp::socket::shutdown_send, ignored);
    stream_.socket().close(ignored);
  }

  void close_soon() {
    asio::post(stream_.get_executor(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->abandon_stream();
    });
  }

  beast::tcp_stream stream_;
  const SessionShared& shared_;
  std::string remote_;
  beast::flat_buffer buffer_;
  std::optional<bhttp::request_parser<bhttp::string_body>> parser_;
  bhttp::request<bhttp::string_body> request_;
  std::optional<bhttp::response<bhttp::string_body>> response_;
  std::optional<bhttp::response_serializer<bhttp::string_body>> response_serializer_;
  bool keep_alive_ = false;
  bool lingers_ = false;
  asio::steady_timer timer_{stream_.get_executor()};
  uint64_t armed_ = 0;  // which arming of the timer counts
  bool timed_out_ = false;
  std::pair<std::string, std::string> asked_;  // verb and path of the request that is being answered
  std::chrono::steady_clock::time_point began_;
  Outgoing outgoing_;
  std::stop_source cancel_;
  std::shared_ptr<Pipe> pipe_;
  std::unique_ptr<StreamCall> stream_call_;
  std::optional<Upload> upload_;
  std::optional<bhttp::response<bhttp::empty_body>> header_;
  std::optional<bhttp::response_serializer<bhttp::empty_body>> serializer_;
  std::string chunk_;
  bool header_sent_ = false;
  std::function<void()> ended_;
  std::stop_callback<std::function<void()>> on_stop_;
};

}  // namespace

void start_session(Tcp::socket socket, const SessionShared& shared, std::stop_token stopping,
                   std::function<void()> ended) {
  std::make_shared<Session>(std::move(socket), shared, std::move(stopping), std::move(ended))->start();
}

}  // namespace drover::api
