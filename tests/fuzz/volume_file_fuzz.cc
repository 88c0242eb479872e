// One input as a volume's file.
#include <string>
#include <string_view>

#include "drover/api/volumes.pb.h"
#include "plugins/cli/volumes/volume_file.h"

void fuzz_volume_file(std::string_view text);

void fuzz_volume_file(std::string_view text) {
  using namespace drover;
  const auto volume = cli::read_volume_file("f", std::string(text));
  if (!volume) return;
  // The path of the call has the identifier; sizes are numbers of bytes.
  DROVER_CHECK(volume->requested_capacity_min() >= 0 && volume->requested_capacity_max() >= 0);
}
