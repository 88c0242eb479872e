// A profile of the processor in the form that pprof reads.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cpu/sampler.h"
#include "drover/result.h"

namespace drover::status {

struct CodeMapping {
  uint64_t begin = 0, end = 0;
  uint64_t file_offset = 0;
  std::string file;
  bool operator==(const CodeMapping&) const = default;
};
// The parts of /proc/…/maps that hold code of files. Pure.
std::vector<CodeMapping> code_mappings(std::string_view maps);

struct FunctionName {
  std::string name;         // for people
  std::string system_name;  // the linker's
};
using NameFunction = std::function<std::optional<FunctionName>(uint64_t address)>;
// The name of the function with that address, where its library shows it to others. pprof finds more of them in the
// files themselves, where it has them.
std::optional<FunctionName> exported_function(uint64_t address);

// The profile as a gzipped message. `began_ns`: nanoseconds since 1970. Pure.
std::string profile_message(const CpuSamples& samples, const std::vector<CodeMapping>& mappings, int64_t began_ns,
                            const NameFunction& name_of);

// How long a profile shall take: `seconds`, where 0 is what is usual, one second.
// Errors: invalid_argument. Pure.
Result<std::chrono::seconds> profile_time(int64_t seconds);

// Samples this program for the time and returns the message. Blocks. Errors: of sample_cpu.
Result<std::string> cpu_profile(std::chrono::seconds time, const std::stop_token& stop);

}  // namespace drover::status
