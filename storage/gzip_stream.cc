#include "storage/gzip_stream.h"

#include <zlib.h>

#include <algorithm>

namespace drover {
namespace {

constexpr size_t kStep = 64 << 10;
constexpr int kWindow = 15;
constexpr int kGzip = 16;  // added to the window's size: gzip, neither zlib's own form nor none

auto* bytes_of(char* text) { return reinterpret_cast<Bytef*>(text); }

}  // namespace

struct GzipSink::State {
  z_stream stream{};
  std::string out = std::string(kStep, '\0');
  ~State() { deflateEnd(&stream); }
};

GzipSink::GzipSink(ByteSink& out) : out_(out), state_(std::make_unique<State>()) {
  // The fastest level: most of it is text, and the disk waits for the processor already.
  DROVER_CHECK(deflateInit2(&state_->stream, Z_BEST_SPEED, Z_DEFLATED, kWindow + kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK);
}
GzipSink::~GzipSink() = default;

Status GzipSink::write(std::string_view bytes) {
  for (; !bytes.empty(); bytes.remove_prefix(std::min(bytes.size(), kStep))) {
    DROVER_RETURN_IF_ERROR(run(bytes.substr(0, kStep), false));
  }
  return ok_status();
}

Status GzipSink::finish() { return run({}, true); }

Status GzipSink::run(std::string_view bytes, bool is_last) {
  z_stream& z = state_->stream;
  z.next_in = bytes_of(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  do {
    z.next_out = bytes_of(state_->out.data());
    z.avail_out = static_cast<uInt>(kStep);
    DROVER_CHECK(deflate(&z, is_last ? Z_FINISH : Z_NO_FLUSH) != Z_STREAM_ERROR);
    DROVER_RETURN_IF_ERROR(out_.write(std::string_view(state_->out).substr(0, kStep - z.avail_out)));
  } while (z.avail_out == 0);
  return ok_status();
}

struct GunzipSource::State {
  z_stream stream{};
  std::string in = std::string(kStep, '\0');
  bool is_over = false;
  ~State() { inflateEnd(&stream); }
};

GunzipSource::GunzipSource(ByteSource& in) : in_(in), state_(std::make_unique<State>()) {
  DROVER_CHECK(inflateInit2(&state_->stream, kWindow + kGzip) == Z_OK);
}
GunzipSource::~GunzipSource() = default;

Status GunzipSource::fill() {
  DROVER_TRY(const size_t n, in_.read(state_->in));
  state_->stream.next_in = bytes_of(state_->in.data());
  state_->stream.avail_in = static_cast<uInt>(n);
  return ok_status();
}

Result<size_t> GunzipSource::read(std::span<char> buffer) {
  z_stream& z = state_->stream;
  const size_t wanted = std::min(buffer.size(), kStep);
  z.next_out = bytes_of(buffer.data());
  z.avail_out = static_cast<uInt>(wanted);
  while (!state_->is_over && z.avail_out == wanted) {
    if (z.avail_in == 0) DROVER_RETURN_IF_ERROR(fill());
    if (z.avail_in == 0) return data_loss("its compressed data ends too early");
    const int answer = inflate(&z, Z_NO_FLUSH);
    if (answer == Z_STREAM_END) {
      state_->is_over = true;
      if (z.avail_in == 0) DROVER_RETURN_IF_ERROR(fill());
      if (z.avail_in > 0) return data_loss("bytes follow the end of its compressed data");
    } else if (answer != Z_OK && answer != Z_BUF_ERROR) {
      return data_loss(z.total_out == 0 ? "it is not compressed with gzip" : "its compressed data is damaged");
    }
  }
  return wanted - z.avail_out;
}

}  // namespace drover
