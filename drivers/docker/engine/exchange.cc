#include "engine/exchange.h"

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <cstring>
#include <limits>

namespace drover::docker {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

constexpr uint32_t kHeadLimit = 64 * 1024;

// What Beast reads from: the stream, with the patience of the call under way.
class Source {
 public:
  explicit Source(UnixStream& stream) : stream_(stream) {}

  template <typename Buffers>
  size_t read_some(const Buffers& buffers) {
    error_code error;
    return read_some(buffers, error);
  }
  template <typename Buffers>
  size_t read_some(const Buffers& buffers, error_code& error) {
    error = {};
    const boost::asio::mutable_buffer first = *boost::asio::buffer_sequence_begin(buffers);
    const auto size = stream_.read_some({static_cast<char*>(first.data()), first.size()}, *patience_);
    if (size && *size > 0) return *size;
    if (size) {
      error = boost::asio::error::eof;
    } else {
      problem_ = size.status();
      error = boost::asio::error::operation_aborted;
    }
    return 0;
  }

  void begin(const Patience& patience) {
    patience_ = &patience;
    problem_ = ok_status();
  }
  // Requires: `error` is one.
  Status status_of(const error_code& error) const {
    if (!problem_.ok()) return problem_;
    if (error == http::error::end_of_stream || error == http::error::partial_message)
      return unavailable("the engine ended the connection before its answer was complete");
    return data_loss("the engine's answer is no HTTP: " + error.message());
  }

 private:
  UnixStream& stream_;
  const Patience* patience_ = nullptr;
  Status problem_;
};

bool is_text_of_head(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return false;
  }
  return true;
}

std::string head_of(const Request& request) {
  std::string head = request.method + " " + request.target + " HTTP/1.1\r\nHost: docker\r\nUser-Agent: drover\r\n";
  for (const auto& [name, value] : request.headers) head += name + ": " + value + "\r\n";
  head += request.wants_raw ? "Connection: Upgrade\r\nUpgrade: tcp\r\n" : "Connection: close\r\n";
  const uint64_t length = request.more_body ? request.length : request.body.size();
  if (length > 0) head += "Content-Type: " + request.content_type + "\r\n";
  if (length > 0 || request.method != "GET") head += "Content-Length: " + std::to_string(length) + "\r\n";
  return head + "\r\n";
}

Status send(UnixStream& stream, const Request& request, const Patience& patience) {
  DROVER_RETURN_IF_ERROR(stream.write_all(head_of(request) + request.body, patience));
  while (request.more_body) {
    DROVER_TRY(const std::string piece, request.more_body());
    if (piece.empty()) break;
    // The engine may answer, and stop reading, before it has had all of it: then the answer says why.
    if (const Status sent = stream.write_all(piece, patience); sent.code() == Code::unavailable)
      break;
    else
      DROVER_RETURN_IF_ERROR(sent);
  }
  return ok_status();
}

}  // namespace

struct Exchange::Parts {
  explicit Parts(std::unique_ptr<UnixStream> connection) : stream(std::move(connection)), source(*stream) {
    parser.header_limit(kHeadLimit);
    parser.body_limit(std::numeric_limits<uint64_t>::max());
  }
  const std::unique_ptr<UnixStream> stream;
  Source source;
  boost::beast::flat_buffer read_ahead{kHeadLimit};
  http::response_parser<http::buffer_body> parser;
};

Exchange::Exchange(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Exchange::~Exchange() = default;

Result<std::unique_ptr<Exchange>> Exchange::open(const std::string& socket, const Request& request,
                                                 const Patience& patience) {
  if (!is_text_of_head(request.target))
    return invalid_argument("a request's target has a character that it cannot have");
  DROVER_TRY(auto stream, UnixStream::connect(socket, patience));
  auto parts = std::make_unique<Parts>(std::move(stream));
  DROVER_RETURN_IF_ERROR(send(*parts->stream, request, patience));
  parts->source.begin(patience);
  error_code error;
  http::read_header(parts->source, parts->read_ahead, parts->parser, error);
  if (error) return parts->source.status_of(error);
  return std::unique_ptr<Exchange>(new Exchange(std::move(parts)));
}

int Exchange::status() const { return static_cast<int>(parts_->parser.get().result_int()); }

std::string Exchange::header(const std::string& name) const {
  const auto at = parts_->parser.get().find(name);
  return at == parts_->parser.get().end() ? std::string() : std::string(at->value());
}

Result<size_t> Exchange::read(std::span<char> buffer, const Patience& patience) {
  if (is_raw()) {
    auto& ahead = parts_->read_ahead;
    if (ahead.size() == 0) return parts_->stream->read_some(buffer, patience);
    const size_t size = std::min(ahead.size(), buffer.size());
    std::memcpy(buffer.data(), ahead.data().data(), size);
    ahead.consume(size);
    return size;
  }
  auto& body = parts_->parser.get().body();
  parts_->source.begin(patience);
  while (!parts_->parser.is_done()) {
    body.data = buffer.data();
    body.size = buffer.size();
    error_code error;
    http::read_some(parts_->source, parts_->read_ahead, parts_->parser, error);
    const size_t got = buffer.size() - body.size;
    if (error && error != http::error::need_buffer && got == 0) return parts_->source.status_of(error);
    if (got > 0) return got;
  }
  return size_t{0};
}

Result<std::string> Exchange::read_all(size_t limit, const Patience& patience) {
  std::string all;
  std::array<char, 16 * 1024> piece;
  while (true) {
    DROVER_TRY(const size_t size, read(piece, patience));
    if (size == 0) return all;
    all.append(piece.data(), size);
    if (all.size() > limit)
      return resource_exhausted("the engine's answer is longer than " + std::to_string(limit) + " bytes");
  }
}

Status Exchange::write(std::string_view bytes, const Patience& patience) {
  return parts_->stream->write_all(bytes, patience);
}

void Exchange::close_write() { parts_->stream->close_write(); }

}  // namespace drover::docker
