// Three processes of one program on loopback: drover, etcd, or hashicorp/raft in the program of tests/bench/peers.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "load.h"

namespace drover::bench {

struct Usage {
  double cpu_seconds = 0;
  double written_bytes = 0;  // to storage
};

class Cluster {
 public:
  struct Server {
    std::string address;  // for gRPC
    std::vector<std::string> command;
    std::string log;  // a file for what it prints
    pid_t pid = 0;
  };
  struct Form {
    std::string name;
    std::string write_method;
    std::string ping_method{};   // an answer without a write; empty: there is none
    std::string burst_method{};  // writes inside the leader; empty: there is none
    std::vector<Server> servers{};
    // The leader, as this server says. Nothing: it knows none.
    std::function<std::optional<size_t>(size_t server)> leader{};
  };
  explicit Cluster(Form form);
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;
  ~Cluster();  // kills

  const Form& form() const { return form_; }
  // Starts all and waits until one takes a write. The error in words, with what it printed.
  std::optional<std::string> start();
  // Waits for a leader, at most half a minute; ends the process with a message if there is none.
  size_t await_leader();
  // Waits until what was begun at the start (spare files of a log) is written, at most a minute.
  void await_rest() const;
  void kill(size_t server);  // with -9
  void restart(size_t server);
  // The use of all its processes until now, without those that were killed.
  Usage usage() const;

 private:
  void spawn(Server& server);

  Form form_;
};

// Nothing when the program is not here; `missing` then says what to install.
std::unique_ptr<Cluster> make_drover(const std::string& folder, std::string& missing);
std::unique_ptr<Cluster> make_etcd(const std::string& folder, std::string& missing);
std::unique_ptr<Cluster> make_hashicorp(const std::string& folder, std::string& missing);

}  // namespace drover::bench
