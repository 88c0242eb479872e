// One input as an archive, as the tar file inside one, and as a state snapshot.
// Built into sdk_test, which feeds it mutations of a good archive; links against libFuzzer as it stands.
#include <cstddef>
#include <cstdint>

#include "../../sdk/src/gzip_stream.h"
#include "../../sdk/src/string_stream.h"
#include "drover/snapshot_archive.h"
#include "drover/state_snapshot.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace drover;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = [](std::string_view archive) {
    drover::testing::StringSource in(archive);
    drover::testing::StringSink state;
    const auto meta = read_archive(in, state, 1 << 20);
    // What was accepted is written the same way, and is then accepted again.
    if (!meta) return;
    DROVER_CHECK(meta->size == state.bytes.size());
    drover::testing::StringSource again(state.bytes);
    drover::testing::StringSink out;
    DROVER_CHECK(write_archive(*meta, again, out).ok());
  };
  read(bytes);
  drover::testing::StringSink packed;
  GzipSink gzip(packed);
  DROVER_CHECK(gzip.write(bytes).ok() && gzip.finish().ok());
  read(packed.bytes);
  drover::testing::StringSource state(bytes);
  (void)inspect_state_snapshot(state);
  return 0;
}
