#include "gzip.h"

#include <zlib.h>

#include "drover/result.h"

namespace drover::api {

std::string gzip(std::string_view body) {
  constexpr int kGzipFormat = 15 + 16;  // the largest window, and gzip's header instead of zlib's
  z_stream stream{};
  DROVER_CHECK(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipFormat, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(deflateBound(&stream, body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  DROVER_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace drover::api
