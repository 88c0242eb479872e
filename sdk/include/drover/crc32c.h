// CRC-32C (Castagnoli), the checksum of drover's files: log records, snapshots. [any]
#pragma once

#include <cstdint>
#include <string_view>

namespace drover {

// The checksum of `bytes`. `seed` is the checksum of the bytes before them, so a stream can be summed in pieces:
// crc32c(b, crc32c(a)) == crc32c(ab). Uses the processor's instruction where it has one.
uint32_t crc32c(std::string_view bytes, uint32_t seed = 0);

// The same without the instruction: for processors that lack it, and for the test that compares the two.
uint32_t crc32c_portable(std::string_view bytes, uint32_t seed = 0);

}  // namespace drover
