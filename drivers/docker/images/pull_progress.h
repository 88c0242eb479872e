// What the engine tells while it pulls an image: JSON objects, one after the other. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "drover/clock.h"
#include "drover/result.h"

namespace drover::docker {

class PullProgress {
 public:
  // Any piece of the answer, in order, that came at `now`. Errors, for good: the engine's own, as unknown;
  // data_loss for what is no such stream.
  Status feed(std::string_view bytes, SteadyTime now);
  // At the end of the answer.
  Status finish(SteadyTime now);

  // When something last came that was new.
  SteadyTime last_progress() const { return last_progress_; }
  // "Pulled 3/7 (12.5MiB/80.1MiB) layers: 2 waiting/2 pulling - est 12.3s remaining"
  std::string text(SteadyTime now) const;
  // "12.5MiB of 80.1MiB"
  std::string amount() const;

 private:
  struct Layer {
    enum class State : uint8_t { waiting, pulling, done } state = State::waiting;
    int64_t current = 0, total = 0;
  };
  Status line(std::string_view text, SteadyTime now);

  std::string rest_;  // of a line that has not come to its end
  std::map<std::string, Layer> layers_;
  SteadyTime begun_{}, last_progress_{};
  bool has_begun_ = false;
  Status failure_;
};

}  // namespace drover::docker
