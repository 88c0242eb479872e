// One input as each of the answers that a container engine may give, and as its streams.
#include "drivers/docker/engine/answers.h"
#include "drivers/docker/engine/engine.h"
#include "drivers/docker/engine/frames.h"
#include "drivers/docker/images/credentials.h"
#include "drivers/docker/images/pull_progress.h"
#include "drivers/docker/task/container_handle.h"
#include "drivers/docker/task/log_line.h"

void fuzz_engine_answers(std::string_view text);

void fuzz_engine_answers(std::string_view text) {
  using namespace drover;
  using namespace drover::docker;
  EngineFacts facts;
  (void)read_container(text);
  (void)read_containers(text);
  (void)read_version(text, facts);
  (void)read_info(text, facts);
  (void)read_bridge(text, facts);
  (void)read_exec(text);
  (void)read_sample(text);
  (void)read_text(text, "Id", "anything");
  (void)error_of(500, text);
  (void)look_up(text, "quay.io");
  (void)read_helper_answer(text, "quay.io");
  (void)read_handle(text);

  PullProgress progress;
  (void)progress.feed(text, {});
  (void)progress.finish({});
  (void)progress.text(SteadyTime::max());

  // The same content, however the stream is cut.
  std::string whole, cut;
  FrameParser first, second;
  LogStamps stamps({.time = 1, .count = 1});
  (void)read_position(text);
  const Status status = first.feed(text, [&](Output, std::string_view bytes, bool is_first) {
    whole += bytes;
    (void)stamps.strip(bytes, is_first);
    return ok_status();
  });
  Status same;
  for (const char& byte : text) {
    if (!same.ok()) break;
    same = second.feed({&byte, 1}, [&](Output, std::string_view bytes, bool) {
      cut += bytes;
      return ok_status();
    });
  }
  DROVER_CHECK(status.code() == same.code() && whole == cut);
}
