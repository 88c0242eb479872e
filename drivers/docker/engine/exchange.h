// One request to the engine and its answer, on a connection of its own: an answer of some kind, a stream that goes on,
// or, after the engine has given up HTTP for it ("hijacked"), bytes in both directions.
//
//   sent ──head read──▶ answering ──read() gives 0──▶ over
//                           └─ is_raw(): write() and close_write() too
//
// One thread reads; another one may write to a raw one meanwhile.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "engine/unix_stream.h"

namespace drover::docker {

struct Request {
  std::string method = "GET";
  std::string target;  // "/containers/json?all=1", without a version
  std::string body{};
  std::string content_type = "application/json";
  std::map<std::string, std::string> headers{};
  bool wants_raw = false;  // asks the engine to give up HTTP
  // Gives the body instead, `length` bytes, piece by piece; an empty piece is its end.
  std::function<Result<std::string>()> more_body{};
  uint64_t length = 0;
};

class Exchange {
 public:
  // Sends the request and reads the head of the answer. Errors: those of UnixStream; data_loss when the answer is no
  // HTTP.
  static Result<std::unique_ptr<Exchange>> open(const std::string& socket, const Request& request,
                                                const Patience& patience);
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  int status() const;
  // Empty: there is none of that name.
  std::string header(const std::string& name) const;
  bool is_raw() const { return status() == 101; }

  // Up to buffer.size() bytes of the answer's body; 0 at its end. Errors: as open(); unavailable when the connection
  // ends before the answer does.
  Result<size_t> read(std::span<char> buffer, const Patience& patience);
  // All that is left. Errors: as read(); resource_exhausted beyond `limit` bytes.
  Result<std::string> read_all(size_t limit, const Patience& patience);

  // Requires: is_raw().
  Status write(std::string_view bytes, const Patience& patience);
  void close_write();

 private:
  struct Parts;
  explicit Exchange(std::unique_ptr<Parts> parts);
  const std::unique_ptr<Parts> parts_;
};

}  // namespace drover::docker
