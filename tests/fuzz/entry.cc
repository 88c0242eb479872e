// The function that libFuzzer calls: hands its input to the function that FUZZ_TARGET names. The suite's own tests call
// the same functions with mutations of a small corpus.
#include <cstddef>
#include <cstdint>
#include <string_view>

void FUZZ_TARGET(std::string_view text);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  FUZZ_TARGET({reinterpret_cast<const char*>(data), size});
  return 0;
}
