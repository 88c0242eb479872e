// A life of one allocation, as its seed draws it, and the page that its processes share.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace drover::crash {

struct StoryTask {
  bool is_isolated = false;  // by the driver exec; else raw_exec
  bool has_template = false, has_artifact = false, has_volume = false, has_payload = false, has_identity = false;
};

struct Story {
  bool has_bridge = false;
  std::vector<StoryTask> tasks;
};

// The places and names of one lane: its lives follow each other there.
struct Lane {
  std::string folder;       // all of the agent's files lie below
  std::string group;        // parent of control groups
  std::string modules;      // folder of the plugins
  std::string task;         // the program that tasks run
  std::string artifact;     // a URL
  std::string data() const { return folder + "/data"; }
  std::string volume() const { return folder + "/volume"; }
};

enum Wanted : int { kRuns, kStopped, kRemoved };

// In place of the step that is not taken: it was reached, and the agent ends.
constexpr uint32_t kReached = UINT32_MAX;

// Shared by a lane and its agents; it survives them. Written by the side that is named.
struct Page {
  std::atomic<int> armed{0};         // the lane: process whose steps count, 0: none
  std::atomic<uint32_t> steps{0};    // the agent
  std::atomic<uint32_t> kill_at{0};  // the lane: the step that is not taken; 0: none. The agent: kReached
  std::atomic<int> wanted{kRuns};    // the lane
  std::atomic<uint32_t> ran{0};      // the agent: tasks that the servers were told to run, a bit each
  std::atomic<bool> all_run{false};  // the agent, as the following: by its last report
  std::atomic<bool> is_over{false};
  std::atomic<bool> has_failed{false};
  std::atomic<bool> is_gone{false};  // its rows are
  char told[8000] = {};
};

// Counts the calls that change something outside of this process, and ends it before the one that is to be missed.
void count_steps(Page* page);

// The agent: lives until it is killed or nothing of the allocation is left. Does not return.
[[noreturn]] void run_agent(const Lane& lane, const Story& story, const std::string& allocation, Page& page);
// Loads the plugins' code, once, before any agent.
void load_modules(const Lane& lane);

}  // namespace drover::crash
