#include "tests/crash_steps/world.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

#include "drover/uuid.h"

namespace drover::crash {
namespace {

namespace fs = std::filesystem;
constexpr auto kPatience = std::chrono::seconds(30);

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

std::string found_by(const StoryTask& task) {
  std::string found = "found";
  if (task.has_template) found += " orange";
  if (task.has_artifact) found += " apple";
  if (task.has_volume && task.is_isolated) found += " pear";
  if (task.has_payload) found += " pay";
  if (task.has_identity) found += " signed";
  return found;
}

// Empty: the log has each line, in order from each start on, and all that were counted.
std::string wrong_in_log(const std::string& text, int counted, int starts, const std::string& found) {
  std::istringstream log(text);
  int last = 0, begun = 0;
  for (std::string line; std::getline(log, line);) {
    if (line.starts_with("found")) {
      if (line != found) return "it says: " + line + ", and not: " + found;
      last = 0;
      ++begun;
    } else if (line.starts_with("line ")) {
      const int number = std::atoi(line.c_str() + 5);
      if (number != last + 1) return "line " + std::to_string(number) + " after " + std::to_string(last);
      last = number;
    }
  }
  if (begun != starts) return std::to_string(starts) + " starts, and its log has " + std::to_string(begun);
  if (last < counted) return std::to_string(last) + " lines, and " + std::to_string(counted) + " were written";
  return {};
}

TaskRecord record_of(const fs::path& shared, const std::string& name, const StoryTask& drawn) {
  TaskRecord record;
  const std::string data = (shared / "data" / name).string();
  if (fs::exists(data + ".twice")) {
    record.problem = name + " ran twice at a time";
    return record;
  }
  const auto end = std::chrono::steady_clock::now() + kPatience;
  do {  // it runs for the servers as soon as its program is begun
    record.starts = static_cast<int>(text_of(data + ".starts").size());
    const int counted = std::atoi(text_of(data + ".lines").c_str());
    const std::string log = text_of(shared / "logs" / (name + ".stdout.0"));
    record.problem =
        record.starts == 0 ? "was never started" : wrong_in_log(log, counted, record.starts, found_by(drawn));
    if (record.problem.empty()) return record;
    record.tail = log.substr(log.size() - std::min<size_t>(log.size(), 60));
    record.problem = name + ": " + record.problem;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  } while (std::chrono::steady_clock::now() < end);
  return record;
}

std::string output_of(const char* command) {
  std::string text;
  if (FILE* pipe = ::popen(command, "r")) {
    char part[4096];
    for (size_t got; (got = std::fread(part, 1, sizeof part, pipe)) > 0;) text.append(part, got);
    ::pclose(pipe);
  }
  return text;
}

bool is_number(const std::string& name) {
  return std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

// The lane's one launcher counts for nothing: it waits some seconds for the next agent, and ends.
void add_processes(const std::vector<pid_t>& own, std::vector<std::string>& lines) {
  bool has_launcher = false;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string pid = entry.path().filename();
    if (!is_number(pid) || pid == "1" || std::ranges::find(own, std::atoi(pid.c_str())) != own.end()) continue;
    std::string words = text_of(entry.path() / "cmdline");
    std::ranges::replace(words, '\0', ' ');
    if (words.starts_with("drover-launcher ") && !std::exchange(has_launcher, true)) continue;
    lines.push_back("process " + words);
  }
}

void add_groups(const Lane& lane, std::vector<std::string>& lines) {
  std::error_code error;
  std::vector<fs::path> above = {"/sys/fs/cgroup"};
  for (const auto& entry : fs::directory_iterator("/sys/fs/cgroup", error)) {
    if (entry.is_directory(error)) above.push_back(entry.path());
  }
  for (const fs::path& path : above) {
    const fs::path group = path / lane.group;
    if (!fs::exists(group, error)) continue;
    lines.push_back("group " + group.string());
    auto at = fs::recursive_directory_iterator(group, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      if (at->is_directory(error)) lines.push_back("group " + at->path().string());
    }
  }
}

void add_files(const Lane& lane, std::vector<std::string>& lines) {
  std::error_code error;
  auto at = fs::recursive_directory_iterator(lane.folder, error);
  for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    const std::string path = at->path();
    if (path.starts_with(lane.data() + "/local/") || at->is_socket(error)) continue;
    lines.push_back("file " + path);
  }
}

}  // namespace

std::vector<TaskRecord> records(const Lane& lane, const std::string& allocation, const Story& story) {
  std::vector<TaskRecord> all;
  const fs::path shared = fs::path(lane.data()) / "alloc" / Uuid::from_bytes(allocation).to_string() / "alloc";
  for (size_t i = 0; i < story.tasks.size(); ++i)
    all.push_back(record_of(shared, "t" + std::to_string(i), story.tasks[i]));
  return all;
}

std::string world(const Lane& lane, const std::vector<pid_t>& own) {
  std::vector<std::string> lines;
  add_processes(own, lines);
  std::istringstream mounts(text_of("/proc/self/mounts"));
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(lane.folder) != std::string::npos || line.find(" /run") != std::string::npos)
      lines.push_back("mount " + line);
  }
  std::istringstream links(text_of("/proc/self/net/dev"));
  for (std::string line; std::getline(links, line);) lines.push_back("link " + line.substr(0, line.find(':')));
  std::istringstream rules(output_of("nft list ruleset 2>&1; ip -4 addr show | grep inet"));
  for (std::string line; std::getline(rules, line);) lines.push_back("rule " + line);
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/run/netns", error))
    lines.push_back("namespace " + entry.path().string());
  add_groups(lane, lines);
  add_files(lane, lines);
  std::ranges::sort(lines);
  std::string all;
  for (const std::string& line : lines) all += "  " + line + "\n";
  return all;
}

std::string difference(const std::string& before, const std::string& after) {
  const auto lines_of = [](const std::string& text) {
    std::multiset<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.insert(line);
    return lines;
  };
  const auto then = lines_of(before), now = lines_of(after);
  std::string told;
  const auto tell = [&](const char* how, const auto& these, const auto& others) {
    std::vector<std::string> only;
    std::ranges::set_difference(these, others, std::back_inserter(only));
    for (const std::string& line : only) told += how + line + "\n";
  };
  tell("  gone:", then, now);
  tell("  left:", now, then);
  return told;
}

void remove_groups(const Lane& lane) {
  std::vector<std::string> lines;
  add_groups(lane, lines);
  std::ranges::sort(lines, std::greater<>());
  for (const std::string& line : lines) ::rmdir(line.substr(6).c_str());
}

std::string describe(const Story& story) {
  std::string text = story.has_bridge ? "  a bridge" : "  no bridge";
  for (const StoryTask& task : story.tasks) {
    text += task.is_isolated ? "; exec" : "; raw_exec";
    text += ", " + found_by(task);
  }
  return text;
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

}  // namespace drover::crash
