// Clients of a cluster that write down what they did and saw, for `simulate --history` to judge.
//
//   history_client OUT PREFIX CLIENTS ADDRESS…     until SIGTERM; of jobs called PREFIX0, PREFIX1 …
//
// A register is a job without allocations: its value lies in the job's metadata. Each client does one thing after the
// other, at a server drawn anew each time. Every value is written once, so a register of equal value was not written
// between: to compare the job's index (EnforceIndex) is to compare the value.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "plugins/cli/client/client.h"

namespace drover {
namespace {

using Json = nlohmann::json;
using namespace std::chrono_literals;

constexpr int kKeys = 5;

// One event a line, in the order of one clock.
class History {
 public:
  explicit History(const std::string& path) : out_(path) {}
  void write(int client, const std::string& event) {
    const std::lock_guard lock(mutex_);
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    out_ << std::chrono::duration_cast<std::chrono::microseconds>(now).count() << ' ' << client << ' ' << event << '\n'
         << std::flush;
  }

 private:
  std::mutex mutex_;
  std::ofstream out_;
};

struct Register {
  std::string value;
  uint64_t index = 0;  // of the job
};

class HistoryClient {
 public:
  HistoryClient(int number, std::string prefix, History& history, const std::vector<std::string>& addresses)
      : number_(number),
        prefix_(std::move(prefix)),
        history_(history),
        addresses_(addresses),
        random_(static_cast<uint64_t>(number) + 1) {}

  void run(const std::atomic<bool>& is_over) {
    for (int key = 0; key < kKeys; ++key) put(prefix_ + std::to_string(key));
    while (!is_over) {
      const std::string key = prefix_ + std::to_string(draw(kKeys));
      const int kind = draw(10);
      if (kind < 4) {
        put(key);
      } else if (kind < 6) {
        compare_and_set(key);
      } else {
        (void)read(key);
      }
    }
  }

 private:
  int draw(size_t below) { return static_cast<int>(random_() % below); }
  cli::Client client() { return cli::Client({.address = addresses_[static_cast<size_t>(draw(addresses_.size()))]}); }
  void tell(const std::string& event) { history_.write(number_, event); }

  static std::string body(const std::string& key, const std::string& value, const uint64_t* index) {
    Json group{{"Name", "g"}, {"Count", 0}};
    group["Tasks"] = Json::array({{{"Name", "t"}, {"Driver", "raw_exec"}, {"Config", {{"command", "/bin/true"}}}}});
    Json request{{"Job",
                  {{"ID", key},
                   {"Name", key},
                   {"Type", "service"},
                   {"Datacenters", {"dc1"}},
                   {"Meta", {{"value", value}}},
                   {"TaskGroups", Json::array({group})}}}};
    if (index) {
      request["EnforceIndex"] = true;
      request["JobModifyIndex"] = *index;
    }
    return request.dump();
  }

  // Tells how a write failed: it never began, or nobody knows.
  void tell_failure(const Status& status) {
    bool has_begun = true;
    for (const char* refusal : {"cannot reach the agent", "No cluster leader", "not the leader"}) {
      if (status.message().find(refusal) != std::string::npos) has_begun = false;
    }
    tell(has_begun ? "unknown" : "fail");
    std::this_thread::sleep_for(10ms);  // or the history is of refusals
  }

  void put(const std::string& key) {
    const std::string value = next_value();
    tell("invoke put " + key + " " + value);
    auto answer = client().send({.verb = "PUT", .path = "/v1/jobs", .body = body(key, value, nullptr)});
    if (!answer.ok()) return tell_failure(answer.status());
    tell("ok " + std::to_string(answer->value("JobModifyIndex", uint64_t{0})));
  }

  void compare_and_set(const std::string& key) {
    const std::optional<Register> now = read(key);
    if (!now) return;
    const std::string value = next_value();
    tell("invoke cas " + key + " " + now->value + " " + value);
    auto answer = client().send({.verb = "PUT", .path = "/v1/jobs", .body = body(key, value, &now->index)});
    if (answer.ok()) return tell("ok " + std::to_string(answer->value("JobModifyIndex", uint64_t{0})) + " true");
    const bool is_conflict = answer.status().message().find("Enforcing job modify index") != std::string::npos;
    if (!is_conflict) return tell_failure(answer.status());
    tell("fail");  // it changed nothing, and at which index is not known
  }

  std::optional<Register> read(const std::string& key) {
    tell("invoke read " + key);
    auto answer = client().send({.verb = "GET", .path = "/v1/job/" + key});
    if (!answer) {
      tell("fail");
      std::this_thread::sleep_for(10ms);
      return {};
    }
    Register found{(*answer)["Meta"].value("value", std::string()), answer->value("JobModifyIndex", uint64_t{0})};
    tell("ok 0 " + found.value);  // the job's index is older than the read's
    return found;
  }

  std::string next_value() { return "c" + std::to_string(number_) + "." + std::to_string(++writes_); }

  const int number_;
  const std::string prefix_;
  History& history_;
  const std::vector<std::string>& addresses_;
  std::mt19937_64 random_;
  uint64_t writes_ = 0;
};

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() < 4) {
    std::cerr << "usage: history_client OUT PREFIX CLIENTS ADDRESS…\n";
    return 2;
  }
  History history(arguments[0]);
  const int clients = std::stoi(arguments[2]);
  const std::vector<std::string> addresses(arguments.begin() + 3, arguments.end());
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);  // in every thread from here on
  std::atomic<bool> is_over{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < clients; ++i) {
    threads.emplace_back([&, i] { HistoryClient(i, arguments[1], history, addresses).run(is_over); });
  }
  int signal = 0;
  sigwait(&ends, &signal);
  is_over = true;
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) { return drover::run({argv + 1, argv + argc}); }
