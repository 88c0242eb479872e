// SHA-256 of bytes that come piece by piece. One thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

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

// Lower case, two digits a byte.
std::string to_hex(std::string_view bytes);

}  // namespace drover
