// SHA-256 of bytes that come piece by piece. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  // The 32 bytes of the sum. Once; nothing may be added afterwards.
  std::string take();

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

// The 32 bytes of the sum of a text.
std::string sha256(std::string_view text);

// The sum in hexadecimal of the whole file that the descriptor is open on, wherever it stands, which is one of `pinned`
// where there are any. Errors: failed_precondition with both sums; those of reading.
Result<std::string> check_digest(int fd, const std::vector<std::string>& pinned);

// Lower case, two digits a byte.
std::string to_hex(std::string_view bytes);

}  // namespace drover
