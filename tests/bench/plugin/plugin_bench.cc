// The cost of a plugin for its host: a call, a start, and memory, in each of the forms that a plugin may have.
//
// A call is one message there and the same one back. Beside it, in the same run and in turn: the same message between
// two threads and between two processes without any protocol; and a host on hashicorp/go-plugin that calls the same
// program (DROVER_PLUGINHOST; left out, and said, when it is not set).
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "../../../sdk/serve/endpoint.h"
#include "drover/conformance.h"
#include "drover/plugin.h"
#include "drover/plugin_programs/resident.h"
#include "drover/stable_plugin.h"
#include "echo.h"
#include "sdk/testing/memory_rows.h"
#include "transport_limits.h"

namespace drover::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kCallers = 8;
constexpr size_t kRounds = 5;
constexpr size_t kInstances = 20;
constexpr size_t kInside = 8;  // of each: the room for variables of threads that is kept for what is loaded is small

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "%s\n", what.c_str());
  std::exit(1);
}

double seconds_since(Clock::time_point began) { return std::chrono::duration<double>(Clock::now() - began).count(); }

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

// ---- calls ----

struct Calls {
  double p50_ns = 0, p99_ns = 0, rate = 0, rate_of_many = 0;  // 0: not measured
};

Calls measure(size_t calls, bool by_many, const std::function<void()>& call) {
  for (size_t i = 0; i < calls / 10; ++i) call();
  std::vector<double> times(calls);
  const auto began = Clock::now();
  for (double& time : times) {
    const auto start = Clock::now();
    call();
    time = seconds_since(start) * 1e9;
  }
  Calls result{.rate = static_cast<double>(calls) / seconds_since(began)};
  std::ranges::sort(times);
  result.p50_ns = times[calls / 2];
  result.p99_ns = times[calls * 99 / 100];
  if (!by_many) return result;
  const auto together = Clock::now();
  {
    std::vector<std::jthread> callers;
    for (size_t i = 0; i < kCallers; ++i) {
      callers.emplace_back([&] {
        for (size_t done = 0; done < calls / kCallers; ++done) call();
      });
    }
  }
  result.rate_of_many = static_cast<double>(calls) / seconds_since(together);
  return result;
}

Calls through(plugin_programs::Channel& channel, const std::string& method, size_t bytes, size_t calls) {
  const std::string message(bytes, 'x');
  return measure(calls, true, [&] {
    const Result<std::string> answer = channel.call(method, message, {});
    if (!answer.ok()) fail("a call failed: " + answer.status().message());
  });
}

// Reads the output of the peer's own program: the sizes 0 and 1024, a line each.
std::vector<Calls> through_go(const char* host, size_t calls) {
  const std::string command = std::string(host) + " " + ECHO_PLUGIN + " " + std::to_string(calls);
  FILE* const pipe = ::popen(command.c_str(), "r");
  if (!pipe) fail("cannot start " + command);
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  if (::pclose(pipe) != 0) fail("the host on go-plugin failed: " + command);
  std::istringstream lines(text);
  std::vector<Calls> result;
  size_t bytes = 0;
  for (Calls one; lines >> bytes >> one.p50_ns >> one.p99_ns >> one.rate >> one.rate_of_many;) result.push_back(one);
  if (result.size() != 2) fail("the host on go-plugin said: " + text);
  return result;
}

struct Way {
  const char* name;
  std::function<Calls(size_t bytes)> run;
  std::vector<Calls> rounds[2]{};  // by size of message
};

void print_calls(std::vector<Way>& ways, size_t size, size_t bytes, double limit) {
  std::printf("\n%zu bytes %32s %10s %10s %10s %12s %10s\n", bytes, "", "p50 us", "p99 us", "calls/s", "by 8 at once",
              "p50 ratio");
  for (Way& way : ways) {
    const auto of = [&](double Calls::*field) {
      std::vector<double> values;
      for (const Calls& one : way.rounds[size]) values.push_back(one.*field);
      return median(std::move(values));
    };
    std::printf("%-42s %10.1f %10.1f %10.0f ", way.name, of(&Calls::p50_ns) / 1e3, of(&Calls::p99_ns) / 1e3,
                of(&Calls::rate));
    const double many = of(&Calls::rate_of_many);
    many > 0 ? std::printf("%12.0f", many) : std::printf("%12s", "-");
    std::printf(" %10.2f\n", of(&Calls::p50_ns) / limit);
  }
}

void compare_calls(size_t calls) {
  const auto threads = two_threads();
  const auto processes = two_processes();
  const auto inside = plugin_programs::connect(serve::make_endpoint(echo_methods()));
  const auto launched = conformance::program_subject({.file = ECHO_PLUGIN})();
  if (!launched) fail("cannot start the plugin: " + launched.status().message());
  const char* const go = std::getenv("DROVER_PLUGINHOST");
  std::vector<Calls> of_go;
  std::vector<Way> ways = {
      {"limit: two threads", [&](size_t bytes) { return measure(calls, false, [&] { threads->run(bytes); }); }},
      {"inside the agent, over the stable ABI", [&](size_t bytes) { return through(*inside, kEcho, bytes, calls); }},
      {"limit: two processes", [&](size_t bytes) { return measure(calls, false, [&] { processes->run(bytes); }); }},
      {"a program, over its Unix socket",
       [&](size_t bytes) { return through((*launched)->channel(), kEcho, bytes, calls); }},
  };
  if (go && std::filesystem::exists(go)) {
    ways.push_back({"the same program, host on Go's go-plugin", [&](size_t bytes) {
                      if (bytes == 0) of_go = through_go(go, calls);
                      return of_go[bytes == 0 ? 0 : 1];
                    }});
  } else {
    std::printf("DROVER_PLUGINHOST names no host on go-plugin: left out (./dev bench plugin builds it where Go is)\n");
  }
  const size_t sizes[] = {0, 1024};
  for (size_t round = 0; round < kRounds; ++round) {
    for (size_t size = 0; size < 2; ++size) {
      for (Way& way : ways) way.rounds[size].push_back(way.run(sizes[size]));
    }
  }
  for (size_t size = 0; size < 2; ++size) {
    std::vector<double> limits;
    for (const Calls& one : ways.front().rounds[size]) limits.push_back(one.p50_ns);
    print_calls(ways, size, sizes[size], median(limits));
  }
}

// ---- start and memory ----

// Bytes that are this process's share, and its own alone.
struct Memory {
  double pss = 0, own = 0;
};
Memory memory_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/smaps_rollup");
  Memory memory;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    double kib = 0;
    words >> name >> kib;
    if (name == "Pss:") memory.pss = kib * 1024;
    if (name == "Private_Clean:" || name == "Private_Dirty:") memory.own += kib * 1024;
  }
  return memory;
}

void call_once(plugin_programs::Channel& channel, const char* method) {
  const Result<std::string> answer = channel.call(method, "", {});
  if (!answer.ok()) fail("the first call failed: " + answer.status().message());
}

void print_cost(const char* name, double start, double limit, const Memory& memory) {
  std::printf("%-42s %10.2f ms %8.1f %10.0f KiB %10.0f KiB\n", name, start * 1e3, start / limit, memory.pss / 1024,
              memory.own / 1024);
}

constexpr char kPluginInfo[] = "/hashicorp.nomad.plugins.base.proto.BasePlugin/PluginInfo";

void compare_programs(const char* name, const char* file, const char* method, double nothing) {
  std::vector<double> times;
  std::vector<std::unique_ptr<conformance::Subject>> programs;
  for (size_t i = 0; i < kInstances; ++i) {
    const auto began = Clock::now();
    auto program = conformance::program_subject({.file = file})();
    if (!program) fail("cannot start the plugin: " + program.status().message());
    call_once((*program)->channel(), method);
    times.push_back(seconds_since(began));
    programs.push_back(*std::move(program));
  }
  Memory of_program;
  for (const auto& one : programs) {
    const Memory memory = memory_of(std::to_string(static_cast<conformance::ProgramSubject&>(*one).pid()));
    of_program.pss += memory.pss / kInstances;
    of_program.own += memory.own / kInstances;
  }
  print_cost(name, median(times), nothing, of_program);
}

// Keeps a plugin that has answered once.
using Kept = std::shared_ptr<void>;

Kept open_stable(void* library) {
  const auto entry = reinterpret_cast<StablePlugin::Entry*>(::dlsym(library, "drover_plugin_open"));
  static const drover_endpoint host = serve::make_endpoint({});
  drover_endpoint plugin{.size = sizeof plugin};
  if (!entry || entry(&host, &plugin) != 0) fail("the plugin does not open");
  std::shared_ptr<plugin_programs::ResidentChannel> channel = plugin_programs::connect(plugin);
  call_once(*channel, kPluginInfo);
  return channel;
}

// Its first answer is what it declares.
Kept open_exact(void* library) {
  const auto entry = reinterpret_cast<Plugin* (*)()>(::dlsym(library, "drover_module_open"));
  if (!entry) fail("the plugin does not open");
  std::shared_ptr<Plugin> plugin(entry());
  testing::MemoryRows rows;
  if (const Status declared = plugin->declare(rows); !declared.ok()) fail(declared.message());
  return plugin;
}

void compare_inside(const char* name, const char* file, double nothing, Kept (*open)(void* library)) {
  // Copies of the file: code is never unloaded, and the same file would be loaded once.
  char folder[] = "/tmp/drover-bench-XXXXXX";
  if (!::mkdtemp(folder)) fail("cannot make a folder");
  std::vector<Kept> kept;
  std::vector<double> times;
  const Memory before = memory_of("self");
  for (size_t i = 0; i < kInside; ++i) {
    const std::string copy = std::string(folder) + "/" + std::to_string(i) + ".so";
    std::filesystem::copy_file(file, copy);
    const auto began = Clock::now();
    void* const library = ::dlopen(copy.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(::dlerror());
    kept.push_back(open(library));
    times.push_back(seconds_since(began));
  }
  const Memory after = memory_of("self");
  kept.clear();
  std::filesystem::remove_all(folder);
  print_cost(name, median(times), nothing,
             {.pss = (after.pss - before.pss) / kInside, .own = (after.own - before.own) / kInside});
}

void compare_starts() {
  const double nothing = start_of_nothing();
  std::printf("\n%-42s %13s %8s %14s %14s\n", "start until the first answer; idle memory", "start", "ratio", "share",
              "its own alone");
  std::printf("%-42s %10.2f ms %8.1f\n", "limit: a program that does nothing", nothing * 1e3, 1.0);

  compare_programs("a program: echo", ECHO_PLUGIN, kEcho, nothing);
  compare_programs("a program: nap", NAP_PROGRAM, kPluginInfo, nothing);
  compare_inside("inside, stable tier, in C: hello_c", HELLO_C, nothing, open_stable);
  compare_inside("inside, stable tier, in C++: nap", NAP_STABLE, nothing, open_stable);
  compare_inside("inside, exact tier, in C++: nap", NAP_EXACT, nothing, open_exact);
}

}  // namespace
}  // namespace drover::bench

int main(int argc, char** argv) {
  const size_t calls = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 8000;
  drover::bench::compare_calls(std::max<size_t>(calls, 100));
  drover::bench::compare_starts();
  return 0;
}
