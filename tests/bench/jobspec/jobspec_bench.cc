// The cost of reading a job file: the syntax alone, and the whole way to the job in the API's JSON. Beside each stand
// other uses of the same bytes in the same run: copying them, nlohmann's parser on the resulting JSON, and the Go
// implementation of HCL where it is installed.
//
//   jobspec_bench            files of 10 kB and 10 MB
//
// The fastest of several rounds, because the machine is shared. Memory is the peak of a process that does nothing else.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "drover/hcl.h"
#include "plugins/jobspec/parse.h"

namespace {

namespace fs = std::filesystem;
using namespace drover;
using Seconds = std::chrono::duration<double>;

constexpr const char* kGoPackages = "/usr/share/gocode/src/github.com/hashicorp/hcl/v2";

// With some text of its own, as files of that size have it: mere small values would meet the limit of evaluation steps
// at about 8 MB.
std::string task(int number) {
  const std::string name = std::to_string(number);
  std::string text = "    task \"task-" + name + "\" {\n      driver = \"raw_exec\"\n\n      config {\n";
  text += "        command = \"/bin/sh\"\n        args    = [\"-c\", \"echo ${NOMAD_ALLOC_ID} " + name +
          "; sleep 600\"]\n      }\n\n";
  text += "      env {\n        NAME   = \"task-" + name +
          "\"\n        REGION = \"${attr.unique.hostname}\"\n        NOTES  = <<EOT\n";
  for (int line = 0; line < 8; ++line)
    text += "listen 127.0.0.1:" + std::to_string(20000 + number % 10000) + " # of task " + name + "\n";
  text += "EOT\n      }\n\n      resources {\n        cpu    = " + std::to_string(100 + number % 400) +
          "\n        memory = 64\n      }\n    }\n\n";
  return text;
}

// Groups of eight tasks until there are so many bytes.
std::string job_of(size_t bytes) {
  std::string text = "job \"bench\" {\n  datacenters = [\"dc1\", \"dc2\"]\n\n";
  for (int group = 0; text.size() < bytes; ++group) {
    text += "  group \"group-" + std::to_string(group) + "\" {\n    count = 3\n\n";
    for (int i = 0; i < 8 && text.size() < bytes; ++i) text += task(group * 8 + i);
    text += "  }\n\n";
  }
  return text + "}\n";
}

double fastest(int rounds, const std::function<bool()>& run) {
  double best = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto began = std::chrono::steady_clock::now();
    if (!run()) {
      std::fprintf(stderr, "a round failed\n");
      std::exit(1);
    }
    const double took = Seconds(std::chrono::steady_clock::now() - began).count();
    if (i == 0 || took < best) best = took;
  }
  return best;
}

bool parses(const std::string& text) {
  hcl::Diagnostics diagnostics;
  (void)hcl::parse("job.hcl", text, diagnostics);
  return !diagnostics.has_errors();
}

std::string to_json(const std::string& text) {
  auto parsed = jobspec::Parser().parse(text, {.file_name = "job.hcl"});
  if (parsed) return std::move(parsed->json);
  std::fprintf(stderr, "%s\n", std::string(parsed.status().message()).substr(0, 500).c_str());
  return {};
}

// The peak in kilobytes of a process that runs this and nothing else.
long peak_memory(const std::function<void()>& run) {
  const pid_t child = fork();
  if (child == 0) {
    run();
    _exit(0);
  }
  int status = 0;
  rusage usage{};
  wait4(child, &status, 0, &usage);
  return usage.ru_maxrss;
}

// The time of the Go implementation; 0 when it is not here.
double peer_seconds(const std::string& text, int rounds) {
  if (!fs::exists(kGoPackages)) return 0;
  const std::string folder = PEER_FOLDER, file = folder + "/job.hcl", answer = folder + "/answer";
  std::ofstream(file) << text;
  const std::string build = "cd '" + folder +
                            "' && GO111MODULE=off GOPATH=/usr/share/gocode GOFLAGS=-p=1 GOCACHE=\"$PWD/go-cache\" "
                            "go build -o peer '" PEER "' && ./peer job.hcl " +
                            std::to_string(rounds) + " > answer";
  if (std::system(build.c_str()) != 0) return 0;
  double nanoseconds = 0;
  std::ifstream(answer) >> nanoseconds;
  return nanoseconds * 1e-9;
}

void measure(const char* name, size_t bytes, int rounds) {
  const std::string text = job_of(bytes);
  const std::string job = to_json(text);
  if (job.empty()) std::exit(1);
  std::string copy(text.size(), '\0');
  const size_t copies = 1 + 10'000'000 / text.size();  // one of a small file is shorter than the clock can tell
  const double copying = fastest(rounds,
                                 [&] {
                                   for (size_t i = 0; i < copies; ++i) {
                                     std::memcpy(copy.data(), text.data(), text.size());
                                     asm volatile("" : : "r"(copy.data()) : "memory");
                                   }
                                   return copy == text;
                                 }) /
                         static_cast<double>(copies);
  const double syntax = fastest(rounds, [&] { return parses(text); });
  const double whole = fastest(rounds, [&] { return !to_json(text).empty(); });
  const double json = fastest(rounds, [&] { return !nlohmann::json::parse(job, nullptr, false).is_discarded(); });
  const double go = peer_seconds(text, rounds);
  const double megabytes = static_cast<double>(text.size()) / 1e6;
  std::printf("%s: %zu bytes, %zu as JSON\n", name, text.size(), job.size());
  std::printf("  %-24s %10.1f MB/s\n", "copying it", megabytes / copying);
  std::printf("  %-24s %10.1f MB/s\n", "syntax", megabytes / syntax);
  if (go > 0) {
    std::printf("  %-24s %10.1f MB/s   Go / here %.2f\n", "Go's parser, syntax", megabytes / go, go / syntax);
  } else {
    std::printf("  Go's parser is not here: install golang-go and golang-github-hashicorp-hcl-v2-dev\n");
  }
  std::printf("  %-24s %10.1f MB/s %10.1f jobs/s\n", "to a job in JSON", megabytes / whole, 1 / whole);
  std::printf("  %-24s %10.1f MB/s   to a job / this %.2f\n", "nlohmann on that JSON",
              static_cast<double>(job.size()) / 1e6 / json, whole / json);
  const long before = peak_memory([] {}), after = peak_memory([&] { (void)to_json(text); });
  std::printf("  %-24s %10.1f MB, %.1f bytes a byte of the file\n", "peak memory more",
              static_cast<double>(after - before) / 1e3,
              static_cast<double>(after - before) * 1e3 / static_cast<double>(text.size()));
}

}  // namespace

int main() {
  measure("10 kB", 10'000, 300);
  measure("10 MB", 10'000'000, 3);
  return 0;
}
