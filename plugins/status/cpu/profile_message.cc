#include "cpu/profile_message.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>

#include "drover/clock.h"
#include "pprof.pb.h"

namespace drover::status {
namespace {

constexpr std::chrono::seconds kUsual{1}, kLongest{300};

class ProfileWriter {
 public:
  ProfileWriter(const std::vector<CodeMapping>& mappings, const NameFunction& name_of)
      : mappings_(mappings), name_of_(name_of) {
    text("");
    for (const CodeMapping& mapping : mappings) {
      pprof::Mapping& out = *profile_.add_mapping();
      out.set_id(static_cast<uint64_t>(profile_.mapping_size()));
      out.set_memory_start(mapping.begin);
      out.set_memory_limit(mapping.end);
      out.set_file_offset(mapping.file_offset);
      out.set_filename(text(mapping.file));
    }
  }

  void set_type(pprof::ValueType& type, std::string_view name, std::string_view unit) {
    type.set_type(text(name));
    type.set_unit(text(unit));
  }
  void add(const Stack& stack, int64_t count) {
    pprof::Sample& sample = *profile_.add_sample();
    for (const uint64_t address : stack) sample.add_location_id(location(address));
    sample.add_value(count);
    sample.add_value(count * std::chrono::nanoseconds(kSamplePeriod).count());
  }
  int64_t text(std::string_view text) {
    const auto [at, is_new] = texts_.emplace(text, profile_.string_table_size());
    if (is_new) profile_.add_string_table(std::string(text));
    return at->second;
  }
  pprof::Profile& profile() { return profile_; }

 private:
  uint64_t location(uint64_t address) {
    const auto [at, is_new] = locations_.emplace(address, locations_.size() + 1);
    if (!is_new) return at->second;
    pprof::Location& out = *profile_.add_location();
    out.set_id(at->second);
    out.set_address(address);
    const auto mapping =
        std::ranges::find_if(mappings_, [&](const CodeMapping& m) { return m.begin <= address && address < m.end; });
    if (mapping != mappings_.end()) out.set_mapping_id(static_cast<uint64_t>(mapping - mappings_.begin()) + 1);
    if (const auto name = name_of_(address)) out.add_line()->set_function_id(function(*name));
    return at->second;
  }
  uint64_t function(const FunctionName& name) {
    const auto [at, is_new] = functions_.emplace(name.system_name, functions_.size() + 1);
    if (!is_new) return at->second;
    pprof::Function& out = *profile_.add_function();
    out.set_id(at->second);
    out.set_name(text(name.name));
    out.set_system_name(text(name.system_name));
    return at->second;
  }

  const std::vector<CodeMapping>& mappings_;
  const NameFunction& name_of_;
  pprof::Profile profile_;
  std::map<std::string, int64_t, std::less<>> texts_;
  std::map<uint64_t, uint64_t> locations_;
  std::map<std::string, uint64_t> functions_;
};

std::string gzipped(const pprof::Profile& profile) {
  namespace io = google::protobuf::io;
  std::string out;
  io::StringOutputStream text(&out);
  io::GzipOutputStream gzip(&text);
  profile.SerializeToZeroCopyStream(&gzip);
  gzip.Close();
  return out;
}

// The word up to the next space, which is taken away together with the spaces behind it.
std::string_view next_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(line.find_first_not_of(' ', end), line.size()));
  return word;
}

bool read_hex(std::string_view text, uint64_t& into) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), into, 16);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

}  // namespace

std::vector<CodeMapping> code_mappings(std::string_view maps) {
  std::vector<CodeMapping> all;
  while (!maps.empty()) {
    std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    const std::string_view range = next_word(line), rights = next_word(line), offset = next_word(line);
    next_word(line);  // the device
    next_word(line);  // the inode
    CodeMapping mapping{.file = std::string(line)};
    const size_t dash = range.find('-');
    if (rights.find('x') == std::string_view::npos || dash == std::string_view::npos || line.empty()) continue;
    if (read_hex(range.substr(0, dash), mapping.begin) && read_hex(range.substr(dash + 1), mapping.end) &&
        read_hex(offset, mapping.file_offset))
      all.push_back(std::move(mapping));
  }
  return all;
}

std::optional<FunctionName> exported_function(uint64_t address) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(address), &info) == 0 || !info.dli_sname) return std::nullopt;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> name(abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, &status),
                                                    std::free);
  return FunctionName{.name = name ? name.get() : info.dli_sname, .system_name = info.dli_sname};
}

std::string profile_message(const CpuSamples& samples, const std::vector<CodeMapping>& mappings, int64_t began_ns,
                            const NameFunction& name_of) {
  ProfileWriter writer(mappings, name_of);
  pprof::Profile& profile = writer.profile();
  writer.set_type(*profile.add_sample_type(), "samples", "count");
  writer.set_type(*profile.add_sample_type(), "cpu", "nanoseconds");
  writer.set_type(*profile.mutable_period_type(), "cpu", "nanoseconds");
  profile.set_period(std::chrono::nanoseconds(kSamplePeriod).count());
  profile.set_time_nanos(began_ns);
  profile.set_duration_nanos(samples.duration.count());
  for (const auto& [stack, count] : samples.stacks) writer.add(stack, count);
  if (samples.lost > 0) profile.add_comment(writer.text(std::to_string(samples.lost) + " samples were lost"));
  return gzipped(profile);
}

Result<std::chrono::seconds> profile_time(int64_t seconds) {
  if (seconds < 0 || seconds > kLongest.count())
    return invalid_argument("seconds must be at most " + std::to_string(kLongest.count()) + ", not " +
                            std::to_string(seconds));
  return seconds == 0 ? kUsual : std::chrono::seconds(seconds);
}

Result<std::string> cpu_profile(std::chrono::seconds time, const std::stop_token& stop) {
  const int64_t began_ns = SystemClock().wall_ns();
  DROVER_TRY(const CpuSamples samples, sample_cpu(time, stop));
  std::ifstream maps("/proc/self/maps", std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return profile_message(samples, code_mappings(text), began_ns, exported_function);
}

}  // namespace drover::status
