// The engine's way to send two outputs over one stream: frames with a header of eight bytes, {stream, 0, 0, 0, size in
// big-endian}. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::docker {

enum class Output : uint8_t { out, error };

class FrameParser {
 public:
  // Gets a piece of a frame's content, in order; `is_first` for the first piece of each frame with any content.
  using Tell = std::function<Status(Output output, std::string_view bytes, bool is_first)>;

  // Any piece of the stream, in order. Errors: data_loss for what is no frame, and from then on; the engine's own
  // message about a failed stream as unavailable; what `tell` returned.
  Status feed(std::string_view bytes, const Tell& tell);
  // True between two frames, where a stream may end.
  bool is_between() const { return have_ == 0 && left_ == 0; }

 private:
  static constexpr size_t kHeader = 8;
  Status begin_frame();

  std::array<char, kHeader> header_{};
  size_t have_ = 0;    // bytes of the header
  uint32_t left_ = 0;  // bytes of the content
  bool is_first_ = false;
  Output output_ = Output::out;
  bool is_message_ = false;  // the engine speaks of itself
  std::string message_;
  Status broken_;
};

}  // namespace drover::docker
