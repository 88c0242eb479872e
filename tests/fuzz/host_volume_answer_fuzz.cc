// One input as the answer of a host volume plugin.
#include <string>
#include <string_view>

#include "drover/result.h"
#include "plugins/host_volumes/node/program.h"

void fuzz_host_volume_answer(std::string_view text);

void fuzz_host_volume_answer(std::string_view text) {
  using namespace drover;
  if (const auto made = host_volumes::read_made(text)) {
    DROVER_CHECK(made->path.starts_with('/') && made->bytes >= 0);
    DROVER_CHECK(made->path.find('\0') == std::string::npos);
  }
  if (const auto version = host_volumes::read_version(text)) DROVER_CHECK(!version->empty() && version->size() <= 64);
  DROVER_CHECK(host_volumes::read_reason(text).find('\n') == std::string::npos);
}
