#include "session.h"

#include <google/protobuf/descriptor.h>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <limits>
#include <optional>

#include "conversation.h"
#include "drover/duration.h"
#include "drover/log.h"
#include "guard/refused_token.h"
#include "guard/token_gate.h"
#include "gzip.h"
#include "headers.h"
#include "outflow.h"
#include "request.h"
#include "transport/first_byte.h"
#include "transport/patience.h"

namespace drover::api {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace bhttp = boost::beast::http;
using Error = boost::system::error_code;

constexpr auto kLinger = std::chrono::seconds(2);
constexpr size_t kMinGzip = 256;  // smaller answers grow
constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();
constexpr size_t kUploadPiece = 256 << 10;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
constexpr const char* kTooLate = "the request did not arrive in time";
constexpr size_t kReadAhead = 16 << 10;  // of what a client says while its call is out
constexpr char kTlsHandshake = 0x16;     // the first byte of a client that speaks TLS

std::string_view view(boost::beast::string_view text) { return {text.data(), text.size()}; }

class Session final : public std::enable_shared_from_this<Session> {
 public:
  Session(std::unique_ptr<Stream> stream, Arrival arrival, const SessionShared& shared, std::function<void()> ended)
      : connection_(std::move(stream)), arrival_(std::move(arrival)), shared_(shared), ended_(std::move(ended)) {}
  ~Session() {
    stream_.close();  // before anybody hears that it has ended
    ended_();
  }

  void start(std::stop_token stopping) {
    on_stop_.emplace(std::move(stopping), [this] { close_soon(); });  // needs weak_from_this()
    asio::dispatch(stream_.get_executor(),
                   [self = shared_from_this()] { self->stream_.wants_handshake() ? self->greet() : self->read(); });
  }

 private:
  // --- reading -------------------------------------------------------------------------------------------------------

  // A client that speaks HTTP where TLS is spoken is told so.
  void greet() {
    arm(shared_.options.handshake_timeout);
    async_first_byte(stream_.socket(), [self = shared_from_this()](std::optional<char> first) {
      if (!first) return self->close();
      if (first == kTlsHandshake) return self->shake_hands();
      self->disarm();
      self->fail(400, "Client sent an HTTP request to an HTTPS server.\n");
    });
  }

  void shake_hands() {
    stream_.async_handshake([self = shared_from_this()](Error error) {
      self->disarm();
      if (!error) return self->read();
      self->shared_.metrics.add("nomad.http.tls_handshake_failed");
      log::debug("http", "no TLS connection", {{"remote", self->arrival_.remote}, {"error", error.message()}});
      self->close();
    });
  }

  // An idle connection may wait long for its next request; a begun one must arrive in time.
  void read() {
    parser_.emplace();
    parser_->body_limit(kNoLimit);  // known once the header says what it is for
    parser_->header_limit(64 << 10);
    if (buffer_.size() > 0) return read_request();
    awaits_request_ = true;
    arm(shared_.options.idle_timeout);
    listen();
  }

  // Reads what comes next, one read at a time: a request where one is awaited. While a call is out the client says
  // nothing; the end of what it says therefore means that it went away. A request that comes early waits in the buffer.
  void listen() {
    if (is_listening_ || buffer_.size() > 0) return;
    is_listening_ = true;
    stream_.async_read_some(buffer_.prepare(kReadAhead), [self = shared_from_this()](Error error, size_t size) {
      self->is_listening_ = false;
      self->buffer_.commit(size);
      const bool is_awaited = std::exchange(self->awaits_request_, false);
      if (error) return is_awaited ? self->close() : self->gone();
      if (is_awaited) self->read_request();
    });
  }

  void read_request() {
    arm(shared_.options.read_timeout);
    bhttp::async_read_header(stream_, buffer_, *parser_, [self = shared_from_this()](Error error, size_t) {
      if (!error) return self->read_header();
      self->disarm();
      self->on_request(error);
    });
  }

  void read_header() { arrival_.wants_token ? ask_for_token() : read_body(); }

  // Before anything of the request is looked at but its header.
  void ask_for_token() {
    disarm();
    outgoing_ = {};
    const auto& header = parser_->get();
    auto shown = shown_token(view(header["X-Nomad-Token"]), view(header[bhttp::field::authorization]));
    if (auto* answer = std::get_if<Answer>(&shown)) return turn_away(std::move(*answer));
    Question question = whoami(std::get<std::string>(std::move(shown)));
    question.context.remote_address = arrival_.remote;
    if (!may_try("", true)) return;
    shared_.caller.call(std::move(question.context), std::move(question.request),
                        [self = shared_from_this()](Result<Reply> reply) {
                          if (is_guess(reply)) self->note_unknown_token();
                          asio::post(self->stream_.get_executor(), [self, refusal = judged(reply)]() mutable {
                            if (refusal) return self->turn_away(*std::move(refusal));
                            self->arm(self->shared_.options.read_timeout);
                            self->read_body();
                          });
                        });
  }

  // The rest of the request, which may still be on its way, is not read.
  void turn_away(Answer answer) {
    keep_alive_ = false;
    lingers_ = true;
    write(std::move(answer));
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

  void arm(std::chrono::nanoseconds time) { patience_.arm(time, weak_from_this()); }
  void disarm() { patience_.disarm(); }

  void on_request(Error error) {
    if (error == bhttp::error::body_limit) {
      return fail(413, "the request body is larger than " + std::to_string(shared_.options.max_body_bytes) + " bytes");
    }
    if (error == bhttp::error::header_limit)
      return fail(431, "the request's header fields are larger than 65536 bytes");
    if (error && patience_.is_over() && parser_->got_some()) return fail(408, kTooLate);
    if (error == bhttp::error::end_of_stream || error == bhttp::error::partial_message ||
        error == asio::error::connection_reset || error == asio::error::operation_aborted || error == asio::error::eof)
      return close();
    if (error) return fail(400, "malformed request: " + error.message());
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
        if (self->upload_->state == Upload::State::reading) self->patience_.interrupt(self);
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
      return patience_.is_over() ? fail(408, kTooLate) : close();
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
    if (is_last) listen();
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

  // Fills in `outgoing_`, or answers at once and returns false.
  bool prepare() {
    const std::string_view body = request_.body();
    auto prepared = to_call({.verb = view(request_.method_string()),
                             .target = view(request_.target()),
                             .body = body,
                             .token = view(request_["X-Nomad-Token"]),
                             .authorization = view(request_[bhttp::field::authorization]),
                             .header = [this](std::string_view name) { return view(request_[{name.data(), name.size()}]); }},
                            shared_.routes);
    if (auto* answer = std::get_if<Answer>(&prepared)) {
      if (upload_) end_unread();
      write(std::move(*answer));
      return false;
    }
    outgoing_ = std::get<Outgoing>(std::move(prepared));
    if (!may_try(asked_.second, !outgoing_.context.query.token.empty())) return false;
    outgoing_.context.remote_address = arrival_.remote;
    cancel_ = std::stop_source();
    outgoing_.context.stop = cancel_.get_token();
    return true;
  }

  // False when the address must wait, and has been told.
  bool may_try(std::string_view path, bool has_token) {
    const auto wait = shared_.attempts.refusal(arrival_.place, path, has_token, std::chrono::steady_clock::now());
    if (!wait) return true;
    if (upload_) end_unread();
    shared_.metrics.add("nomad.http.attempts_exceeded");
    Answer answer = error_answer(too_many_attempts());
    answer.headers.emplace_back("Retry-After", std::to_string(wait->count()));
    turn_away(std::move(answer));
    return false;
  }

  void note_unknown_token() { shared_.attempts.failed(arrival_.place, std::chrono::steady_clock::now()); }

  void begin() {
    shared_.metrics.add("nomad.http.request", 1);
    began_ = std::chrono::steady_clock::now();
    outgoing_ = {};
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
    if (asked_.second == "/" && request_.method() == bhttp::verb::get) {
      Answer redirect{.status = 307};
      redirect.headers.emplace_back("Location", "/ui" + std::string(view(request_.target())));  // with its query
      return write(std::move(redirect));
    }
    if (!prepare()) return;
    if (is_conversation()) return converse();
    listen();
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
    report();
    start_conversation({.stream = stream_,
                        .connection = shared_from_this(),
                        .shared = shared_,
                        .place = arrival_.place,
                        .call = outgoing_,
                        .awaits_token = outgoing_.ws_handshake},
                       request_);
  }

  void gone() {
    cancel_.request_stop();
    keep_alive_ = false;
  }

  // --- streaming -----------------------------------------------------------------------------------------------------

  // The stream holds the session until it is over; the session lets go of the stream when it closes.
  void open_stream() {
    outflow_ = std::make_shared<Outflow>();
    auto receiver = Outflow::receiver(outflow_, outgoing_, cancel_.get_token(), [self = shared_from_this()] {
      asio::post(self->stream_.get_executor(), [self] { self->drain(); });
    });
    auto opened = shared_.caller.open(outgoing_.context, std::move(outgoing_.request), std::move(receiver));
    if (!opened) return write(error_answer(opened.status()));
    stream_call_ = *std::move(opened);
  }

  // Writes what the stream has produced; the header goes with the first bytes, or an error takes its place.
  void drain() {
    auto piece = outflow_->take();
    if (!piece) return;
    const auto& closed = piece->closed;
    if (!header_sent_) {
      if (piece->bytes.empty() && closed && !closed->ok()) {
        stream_call_.reset();
        return write(error_answer(*closed));
      }
      return send_header(std::move(piece->bytes), piece->head);
    }
    if (piece->bytes.empty()) return closed->ok() || !is_download() ? finish_stream() : abandon_stream();
    send_chunk(std::move(piece->bytes));
  }

  // A download that broke off is not ended as if it were whole.
  bool is_download() const { return outgoing_.binding->form.content() == Http::BYTES; }

  void send_header(std::string first, const Outflow::Head& head) {
    header_sent_ = true;
    header_.emplace(bhttp::status::ok, 11);
    header_->set(bhttp::field::content_type, is_download()     ? head.content_type
                                             : outgoing_.plain ? "text/plain; charset=utf-8"
                                                               : "application/json");
    if (!head.digest.empty()) header_->set("Digest", head.digest);
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
      error ? self->close() : self->next();
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
    const bool may_be_kept = outgoing_.binding && message.result() == bhttp::status::ok;
    const unsigned max_age_s = may_be_kept ? outgoing_.binding->form.max_age_s() : 0;
    for (const auto& [name, value] : common_headers(max_age_s, shared_.options.headers)) message.set(name, value);
  }

  bool takes_gzip() const {
    return view(request_[bhttp::field::accept_encoding]).find("gzip") != std::string_view::npos;
  }

  void write(Answer answer) {
    cancel_.request_stop();  // nothing waits for this call any more
    if (answer.status == 403) note_refusal(shared_, arrival_.place, outgoing_.context.query.token, shared_from_this());
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
    arm(shared_.options.read_timeout);
    bhttp::async_write_some(stream_, *response_serializer_, [self = shared_from_this()](Error error, size_t) {
      if (!error && !self->response_serializer_->is_done()) return self->write_on();
      self->disarm();
      error ? self->close() : self->next();
    });
  }

  void next() {
    response_serializer_.reset();
    response_.reset();
    if (keep_alive_) return read();
    lingers_ || stream_.is_encrypted() ? linger() : close();
  }

  // Closing while the client still sends would take the answer from it; closing without a word would leave open
  // whether it got all of it.
  void linger() {
    arm(kLinger);
    stream_.async_farewell([self = shared_from_this()](Error) {
      self->stream_.shutdown_send();
      self->discard();
    });
  }

  void discard() {
    if (patience_.is_over()) return close();
    chunk_.resize(64 << 10);
    stream_.socket().async_read_some(asio::buffer(chunk_), [self = shared_from_this()](Error error, size_t) {
      error ? self->close() : self->discard();
    });
  }

  // An answer to a request that could not be read; the connection is of no further use.
  void fail(int status, std::string text) { turn_away(text_answer(status, std::move(text))); }

  void close() {
    cancel_.request_stop();
    disarm();
    stream_.close();
  }

  void close_soon() {
    asio::post(stream_.get_executor(), [weak = weak_from_this()] {
      if (auto self = weak.lock()) self->abandon_stream();
    });
  }

  const std::unique_ptr<Stream> connection_;
  Stream& stream_ = *connection_;
  const Arrival arrival_;
  const SessionShared& shared_;
  beast::flat_buffer buffer_;
  std::optional<bhttp::request_parser<bhttp::string_body>> parser_;
  bhttp::request<bhttp::string_body> request_;
  std::optional<bhttp::response<bhttp::string_body>> response_;
  std::optional<bhttp::response_serializer<bhttp::string_body>> response_serializer_;
  bool keep_alive_ = false;
  bool lingers_ = false;
  bool is_listening_ = false;    // a read of listen() is under way
  bool awaits_request_ = false;  // and what it brings begins a request
  Patience patience_{stream_};
  std::pair<std::string, std::string> asked_;  // verb and path of the request that is being answered
  std::chrono::steady_clock::time_point began_;
  Outgoing outgoing_;
  std::stop_source cancel_;
  std::shared_ptr<Outflow> outflow_;
  std::unique_ptr<StreamCall> stream_call_;
  std::optional<Upload> upload_;
  std::optional<bhttp::response<bhttp::empty_body>> header_;
  std::optional<bhttp::response_serializer<bhttp::empty_body>> serializer_;
  std::string chunk_;
  bool header_sent_ = false;
  std::function<void()> ended_;
  std::optional<std::stop_callback<std::function<void()>>> on_stop_;
};

}  // namespace

void start_session(std::unique_ptr<Stream> stream, Arrival arrival, const SessionShared& shared,
                   std::stop_token stopping, std::function<void()> ended) {
  std::make_shared<Session>(std::move(stream), std::move(arrival), shared, std::move(ended))
      ->start(std::move(stopping));
}

}  // namespace drover::api
