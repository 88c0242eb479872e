// One input as an archive, as the tar file inside one, and as a state snapshot.
// Built into sdk_test, which feeds it mutations of a good archive; links against libFuzzer as it stands.
#include <cstddef>
#include <cstdint>

#include "storage/snapshot_archive.h"
#include "storage/state_snapshot.h"
#include "tests/support/gzip_text.h"
#include "tests/support/string_stream.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace drover;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto read = [](std::string_view archive) {
    drover::StringSource in(archive);
    drover::StringSink state;
    const auto meta = read_archive(in, state, 1 << 20);
    // An accepted archive is written the same way, and is then accepted again.
    if (!meta) return;
    DROVER_CHECK(meta->size == state.bytes.size());
    drover::StringSource again(state.bytes);
    drover::StringSink out;
    DROVER_CHECK(write_archive(*meta, again, out).ok());
  };
  read(bytes);
  read(gzipped(bytes));
  drover::StringSource state(bytes);
  (void)inspect_state_snapshot(state);
  return 0;
}
