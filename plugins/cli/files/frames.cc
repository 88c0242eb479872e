#include "files/frames.h"

#include "drover/api/client.pb.h"
#include "drover/json.h"

namespace drover::cli {
namespace {

constexpr size_t kMostWords = 4096;
constexpr size_t kLargestFrame = 1 << 20;  // a frame has 64 KiB of data

}  // namespace

bool FrameReader::take(std::string_view bytes) {
  for (const char c : bytes) {
    if (depth_ == 0 && (c != '{' || !last_words_.empty())) {  // behind one of them
      const bool is_word = c != '\n' || !last_words_.empty();
      if (is_word && last_words_.size() < kMostWords) last_words_ += c;
      continue;
    }
    object_ += c;
    if (object_.size() > kLargestFrame) {
      status_ = data_loss("the agent sent a frame that does not end");
      return false;
    }
    if (in_text_) {
      in_text_ = is_escaped_ || c != '"';
      is_escaped_ = !is_escaped_ && c == '\\';
      continue;
    }
    if (c == '"') in_text_ = true;
    if (c == '{') ++depth_;
    if (c == '}' && --depth_ == 0 && !end_object()) return false;
  }
  return true;
}

bool FrameReader::end_object() {
  v1::FileFrame frame;
  status_ = json_to_message(std::exchange(object_, {}), frame, UnknownWords::left_out);
  if (status_.ok()) return receive_(frame);
  status_ = data_loss("the agent sent what is no frame: " + status_.message());
  return false;
}

}  // namespace drover::cli
