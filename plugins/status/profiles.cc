#include "profiles.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>

namespace drover::status {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<ThreadState> threads() {
  std::vector<ThreadState> all;
  std::error_code error;
  for (std::filesystem::directory_iterator at("/proc/self/task", error), end; !error && at != end;
       at.increment(error)) {
    std::string name = read_file(at->path() / "comm"), waits = read_file(at->path() / "wchan");
    if (name.empty()) continue;  // it has ended meanwhile
    if (name.back() == '\n') name.pop_back();
    all.push_back({.name = std::move(name),
                   .state = state_in(read_file(at->path() / "stat")),
                   .waits = waits == "0" ? "" : std::move(waits)});
  }
  return all;
}

// The allocator's own account, in XML.
Result<std::string> allocator_text() {
  char* text = nullptr;
  size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  if (!stream) return errno_status(errno, "make room for the allocator's account");
  const int failed = ::malloc_info(0, stream);
  std::fclose(stream);
  std::string out(text, size);
  std::free(text);
  if (failed) return internal_error("the allocator gives no account of itself");
  return out;
}

Status refused(const std::string& why, const std::string& instead) {
  return unimplemented(why + ": use " + instead + " -p " + std::to_string(::getpid()) + " on its machine");
}

}  // namespace

char state_in(std::string_view stat) {
  const size_t behind_name = stat.rfind(')');  // the name may have brackets itself
  return behind_name == std::string_view::npos || behind_name + 2 >= stat.size() ? '?' : stat[behind_name + 2];
}

std::string threads_text(const std::vector<ThreadState>& threads) {
  std::map<std::string, size_t> kinds;
  for (const ThreadState& thread : threads)
    ++kinds[thread.name + " " + thread.state + (thread.waits.empty() ? "" : " in " + thread.waits)];
  std::vector<std::pair<std::string, size_t>> sorted(kinds.begin(), kinds.end());
  std::ranges::stable_sort(sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::string text = "threads: total " + std::to_string(threads.size()) + "\n";
  for (const auto& [kind, count] : sorted) text += std::to_string(count) + " " + kind + "\n";
  return text;
}

bool may_debug(const std::string& configuration) {
  const nlohmann::json config = nlohmann::json::parse(configuration, nullptr, false);
  return config.is_object() && config.value("EnableDebug", false);
}

Result<std::string> take_profile(const std::string& name, int64_t debug) {
  if (name == "cmdline") {
    std::string words = read_file("/proc/self/cmdline");
    if (!words.empty()) words.pop_back();  // a zero byte stands between them
    return words;
  }
  const bool is_text = name == "goroutine" || name == "heap";
  if (is_text && debug <= 0)
    return unimplemented("the binary form of a profile is made for Go programs: ask for the text, debug=1");
  if (name == "goroutine") return threads_text(threads());
  if (name == "heap") return allocator_text();
  if (name == "trace") return refused("the agent does not trace itself", "perf trace");
  if (name == "allocs" || name == "block" || name == "mutex" || name == "threadcreate")
    return refused("a C++ program has no profile \"" + name + "\"", "perf record -g");
  return not_found("Unknown profile: " + name);
}

}  // namespace drover::status
