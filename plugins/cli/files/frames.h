// Reads the frames of a file's or a log's stream: JSON objects, one behind the other, and a text where the agent says
// what ended it. Single-owner.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::v1 {
class FileFrame;
}

namespace drover::cli {

class FrameReader {
 public:
  using Receiver = std::function<bool(const v1::FileFrame&)>;  // false: no more, please
  explicit FrameReader(Receiver receive) : receive_(std::move(receive)) {}

  // Takes the next bytes. False when no more are wanted: the receiver's word, or an error.
  bool take(std::string_view bytes);
  // Errors: data_loss for what is no frame; aborted with what the agent says at the end.
  Status status() const { return status_.ok() && !last_words_.empty() ? aborted(last_words_) : status_; }

 private:
  bool end_object();

  Receiver receive_;
  Status status_;
  std::string object_;      // begun
  std::string last_words_;  // behind the frames
  int depth_ = 0;
  bool in_text_ = false, is_escaped_ = false;
};

}  // namespace drover::cli
