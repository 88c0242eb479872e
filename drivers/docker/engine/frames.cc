#include "engine/frames.h"

#include <algorithm>

#include "drover/printable.h"

namespace drover::docker {
namespace {

constexpr uint32_t kLongestMessage = 16 * 1024;

}  // namespace

Status FrameParser::begin_frame() {
  const auto byte = [this](size_t at) { return static_cast<unsigned char>(header_[at]); };
  if (byte(0) > 3 || byte(1) != 0 || byte(2) != 0 || byte(3) != 0)
    return data_loss("the engine's stream has something else where a frame should begin");
  left_ = uint32_t{byte(4)} << 24 | uint32_t{byte(5)} << 16 | uint32_t{byte(6)} << 8 | byte(7);
  output_ = byte(0) == 2 ? Output::error : Output::out;
  is_message_ = byte(0) == 3;
  if (is_message_ && left_ > kLongestMessage) return data_loss("the engine's message about a stream is too long");
  is_first_ = true;
  return ok_status();
}

Status FrameParser::feed(std::string_view bytes, const Tell& tell) {
  while (broken_.ok() && !bytes.empty()) {
    if (left_ == 0) {
      const size_t size = std::min(kHeader - have_, bytes.size());
      std::copy_n(bytes.data(), size, header_.data() + have_);
      bytes.remove_prefix(size);
      have_ += size;
      if (have_ < kHeader) break;
      have_ = 0;
      broken_ = begin_frame();
      continue;
    }
    const std::string_view content = bytes.substr(0, left_);
    bytes.remove_prefix(content.size());
    left_ -= static_cast<uint32_t>(content.size());
    if (is_message_) {
      message_ += content;
      if (left_ == 0) broken_ = unavailable("the engine: " + printable(message_));
    } else {
      DROVER_RETURN_IF_ERROR(tell(output_, content, is_first_));
    }
    is_first_ = false;
  }
  return broken_;
}

}  // namespace drover::docker
