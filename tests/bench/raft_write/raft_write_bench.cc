// A write's cost in a cluster of three processes on loopback, each of which waits for its disk: drover beside etcd,
// hashicorp/raft and the disk itself, in turn in one run. Then the pause in writes when the leader is killed with -9.
//
//   raft_write_bench [-folder PATH] [-seconds S] [-rounds N] [-kills N] [-writers N,N…] [-only NAME]
#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "cluster.h"
#include "drover/result.h"
#include "forms.pb.h"
#include "load.h"
#include "tests/bench/disk.h"

namespace drover::bench {
namespace {

using namespace std::chrono_literals;

constexpr size_t kTextBytes = 256;
constexpr size_t kConnections = 8;
constexpr const char* kInside = "  in the leader";
constexpr const char* kCall = "  a call alone";
constexpr auto kElectionTimeout = 1s;  // the shortest of all three, by their defaults

struct Options {
  std::string folder = ".";
  std::chrono::milliseconds time = 3s;
  int rounds = 3;
  int kills = 5;
  std::vector<size_t> writers = {1, 64, 256, 1024};
  std::string only;
};

// The work of one cluster with one number of writers, over all rounds.
struct Figure {
  Answers answers;
  Usage usage;

  void add(const Figure& other) {
    answers.add(other.answers);
    usage.cpu_seconds += other.usage.cpu_seconds;
    usage.written_bytes += other.usage.written_bytes;
  }
};

// The disk alone, and three files at once, as three servers on one machine write them: then the second that is through,
// since two of three make a write durable.
struct DiskFigures {
  std::vector<double> alone;
  std::vector<double> two_of_three;
};

class DiskProbe {
 public:
  explicit DiskProbe(const std::string& folder) {
    for (int i = 0; i < 3; ++i) disks_.push_back(std::make_unique<Disk>(folder + "/disk-" + std::to_string(i), false));
  }
  void run(int writes, DiskFigures& out) {
    disks_[0]->run(writes, out.alone);
    std::vector<std::vector<double>> times(3, std::vector<double>(static_cast<size_t>(writes)));
    std::barrier together(3);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        for (double& time : times[i]) {
          together.arrive_and_wait();
          time = disks_[i]->write();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (size_t write = 0; write < static_cast<size_t>(writes); ++write) {
      std::array<double, 3> all{times[0][write], times[1][write], times[2][write]};
      std::ranges::sort(all);
      out.two_of_three.push_back(all[1]);
    }
  }

 private:
  std::vector<std::unique_ptr<Disk>> disks_;
};

Figure measure(Cluster& cluster, const std::string& method, size_t writers, std::chrono::milliseconds time) {
  const Channels channels =
      connect(cluster.form().servers[cluster.await_leader()].address, std::min(writers, kConnections));
  run_load(channels, method, writers, kTextBytes, time / 10);  // connections and caches
  const Usage before = cluster.usage();
  Figure figure{.answers = run_load(channels, method, writers, kTextBytes, time)};
  const Usage after = cluster.usage();
  figure.usage = {.cpu_seconds = after.cpu_seconds - before.cpu_seconds,
                  .written_bytes = after.written_bytes - before.written_bytes};
  return figure;
}

// The same writes, of writers inside the leader.
Figure measure_inside(Cluster& cluster, size_t writers, std::chrono::milliseconds time) {
  const Channels channel = connect(cluster.form().servers[cluster.await_leader()].address, 1);
  BurstRequest request;
  request.set_writers(static_cast<uint32_t>(writers));
  request.set_text_bytes(kTextBytes);
  request.set_milliseconds(static_cast<uint32_t>(time.count()));
  const Usage before = cluster.usage();
  const auto begun = Steady::now();
  const auto answer = call(*channel[0], cluster.form().burst_method, request.SerializeAsString(), time + 30s);
  Figure figure;
  figure.answers.seconds = microseconds(Steady::now() - begun) / 1e6;
  const Usage after = cluster.usage();
  figure.usage = {.cpu_seconds = after.cpu_seconds - before.cpu_seconds,
                  .written_bytes = after.written_bytes - before.written_bytes};
  BurstResponse response;
  if (!answer || !response.ParseFromString(*answer) || response.microseconds().empty()) {
    std::fprintf(stderr, "the leader did not take writes of its own\n");
    std::exit(1);
  }
  figure.answers.microseconds.assign(response.microseconds().begin(), response.microseconds().end());
  figure.answers.failed = response.failed();
  return figure;
}

void print(const std::string& name, size_t writers, const Figure& figure) {
  const double done = static_cast<double>(figure.answers.microseconds.size());
  std::printf("%-15s %5zu writers  %9.0f/s  p50 %8.0f us  p99 %8.0f us  cpu %6.1f us  written %5.2f per byte",
              name.c_str(), writers, figure.answers.rate(), percentile(figure.answers.microseconds, 0.5),
              percentile(figure.answers.microseconds, 0.99), figure.usage.cpu_seconds * 1e6 / done,
              figure.usage.written_bytes / 3 / (done * static_cast<double>(kTextBytes)));
  if (figure.answers.failed != 0) {
    std::printf("  %zu FAILED, the last with: %s", figure.answers.failed, figure.answers.error.c_str());
  }
  std::printf("\n");
}

// From the kill of the leader to the first write that began after it and was acknowledged, asked for at every server
// all the time.
double write_gap(Cluster& cluster) {
  const size_t leader = cluster.await_leader();
  std::atomic<bool> is_over = false;
  std::atomic<int64_t> killed = 0;
  std::atomic<size_t> before = 0;
  std::mutex mutex;
  std::optional<Steady::time_point> first;
  Write write;
  write.set_name("gap");
  write.set_text(std::string(kTextBytes, 'g'));
  std::vector<std::thread> threads;
  for (const Cluster::Server& server : cluster.form().servers) {
    threads.emplace_back([&, address = server.address] {
      const Channels channel = connect(address, 1);
      while (!is_over) {
        const bool is_after = killed != 0;
        if (!call(*channel[0], cluster.form().write_method, write.SerializeAsString(), 200ms)) {
          std::this_thread::sleep_for(2ms);  // refused: not in a busy loop
          continue;
        }
        ++before;
        const std::lock_guard lock(mutex);
        if (is_after && !first) first = Steady::now();
        if (is_after) is_over = true;
      }
    });
  }
  while (before < 20) std::this_thread::sleep_for(1ms);
  const Steady::time_point at = Steady::now();
  cluster.kill(leader);
  killed = 1;
  for (std::thread& thread : threads) thread.join();
  cluster.restart(leader);
  cluster.await_leader();
  return microseconds(*first - at) / microseconds(kElectionTimeout);
}

bool read_options(int count, char** arguments, Options& options) {
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i], value = arguments[i + 1];
    if (name == "-folder") {
      options.folder = value;
    } else if (name == "-seconds") {
      options.time = std::chrono::milliseconds(static_cast<int64_t>(std::strtod(value.c_str(), nullptr) * 1000));
    } else if (name == "-rounds") {
      options.rounds = std::atoi(value.c_str());
    } else if (name == "-kills") {
      options.kills = std::atoi(value.c_str());
    } else if (name == "-only") {
      options.only = value;
    } else if (name == "-writers") {
      options.writers.clear();
      std::istringstream list(value);
      for (std::string one; std::getline(list, one, ',');)
        options.writers.push_back(std::strtoul(one.c_str(), nullptr, 10));
    } else {
      return false;
    }
  }
  const bool all_positive = std::ranges::all_of(options.writers, [](size_t writers) { return writers > 0; });
  return count % 2 == 1 && options.time > 0ms && options.rounds > 0 && all_positive;
}

std::vector<std::unique_ptr<Cluster>> start_clusters(const std::string& folder, const std::string& only) {
  std::vector<std::unique_ptr<Cluster>> clusters;
  for (const auto make : {make_drover, make_etcd, make_hashicorp}) {
    std::string missing;
    std::unique_ptr<Cluster> cluster = make(folder, missing);
    if (!cluster) {
      std::printf("left out: %s\n", missing.c_str());
      continue;
    }
    if (!only.empty() && cluster->form().name != only) continue;
    if (const auto problem = cluster->start()) {
      std::fprintf(stderr, "%s\n", problem->c_str());
      std::exit(1);
    }
    cluster->await_rest();
    clusters.push_back(std::move(cluster));
  }
  return clusters;
}

void run(const Options& options, const std::string& folder) {
  const auto clusters = start_clusters(folder, options.only);
  DiskProbe probe(folder);
  DiskFigures disk;
  std::map<std::pair<size_t, std::string>, Figure> figures;
  for (const size_t writers : options.writers) {
    for (int round = 0; round < options.rounds; ++round) {
      for (const auto& cluster : clusters) {
        probe.run(50, disk);
        const Cluster::Form& form = cluster->form();
        figures[{writers, form.name}].add(measure(*cluster, form.write_method, writers, options.time));
        if (!form.burst_method.empty())
          figures[{writers, kInside}].add(measure_inside(*cluster, writers, options.time));
        if (!form.ping_method.empty())
          figures[{writers, kCall}].add(measure(*cluster, form.ping_method, writers, options.time / 3));
      }
    }
    for (const auto& cluster : clusters) {
      const Figure& figure = figures[{writers, cluster->form().name}];
      print(cluster->form().name, writers, figure);
      if (!cluster->form().burst_method.empty()) print(kInside, writers, figures[{writers, kInside}]);
      if (!cluster->form().ping_method.empty()) print(kCall, writers, figures[{writers, kCall}]);
      if (cluster == clusters.front()) continue;
      const Figure& first = figures[{writers, clusters.front()->form().name}];
      std::printf("    %s / %s: throughput %.2f, p99 %.2f\n", clusters.front()->form().name.c_str(),
                  cluster->form().name.c_str(), first.answers.rate() / figure.answers.rate(),
                  percentile(first.answers.microseconds, 0.99) / percentile(figure.answers.microseconds, 0.99));
    }
    std::fflush(stdout);
  }
  const double alone = percentile(disk.alone, 0.5), quorum = percentile(disk.two_of_three, 0.5);
  std::printf("disk: 4 KiB + fdatasync p50 %.0f us p99 %.0f us; the second of three at once p50 %.0f us p99 %.0f us\n",
              alone, percentile(disk.alone, 0.99), quorum, percentile(disk.two_of_three, 0.99));
  if (const auto pings = figures.find({1, kCall}); pings != figures.end()) {
    const double ping = percentile(pings->second.answers.microseconds, 0.5);
    const Answers& one = figures[{1, clusters.front()->form().name}].answers;
    std::printf(
        "a call without a write: p50 %.0f us. One writer / (a sync + a call): %.2f; with the second of three: %.2f\n",
        ping, percentile(one.microseconds, 0.5) / (alone + ping), percentile(one.microseconds, 0.5) / (quorum + ping));
  }
  for (const auto& cluster : clusters) {
    std::vector<double> gaps;
    for (int kill = 0; kill < options.kills; ++kill) gaps.push_back(write_gap(*cluster));
    if (gaps.empty()) continue;
    std::ranges::sort(gaps);
    std::printf("%-15s no writes after kill -9 of the leader, in election timeouts: median %.2f, %.2f to %.2f (%zu)\n",
                cluster->form().name.c_str(), percentile(gaps, 0.5), gaps.front(), gaps.back(), gaps.size());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace drover::bench

int main(int argc, char** argv) {
  drover::bench::Options options;
  if (!drover::bench::read_options(argc, argv, options)) {
    std::cerr
        << "usage: raft_write_bench [-folder PATH] [-seconds S] [-rounds N] [-kills N] [-writers N,N…] [-only NAME]\n";
    return 2;
  }
  std::string folder = std::filesystem::absolute(options.folder) / "raft-write-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    std::perror(folder.c_str());
    return 1;
  }
  drover::bench::run(options, folder);
  std::filesystem::remove_all(folder);
  return 0;
}
