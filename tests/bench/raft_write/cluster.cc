#include "cluster.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <thread>

#include "forms.pb.h"

namespace drover::bench {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr size_t kServers = 3;

std::string loopback(int port) { return "127.0.0.1:" + std::to_string(port); }

int free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ::bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  ::close(fd);
  return ntohs(address.sin_port);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The program's path, from the environment or PATH; empty when it is not here.
std::string find_program(const char* variable, const std::string& name) {
  if (const char* set = std::getenv(variable); set && *set) return fs::exists(set) ? set : "";
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');) {
    if (::access((folder + "/" + name).c_str(), X_OK) == 0) return folder + "/" + name;
  }
  return {};
}

template <typename Message>
std::optional<Message> ask(const std::string& address, const std::string& method) {
  const Channels channel = connect(address, 1);
  const std::optional<std::string> answer = call(*channel[0], method, "", 500ms);
  Message message;
  if (!answer || !message.ParseFromString(*answer)) return std::nullopt;
  return message;
}

std::optional<size_t> index_of(const std::vector<std::string>& addresses, const std::string& address) {
  for (size_t i = 0; i < addresses.size(); ++i) {
    if (addresses[i] == address) return i;
  }
  return std::nullopt;
}

}  // namespace

Cluster::Cluster(Form form) : form_(std::move(form)) {}

Cluster::~Cluster() {
  for (size_t i = 0; i < form_.servers.size(); ++i) kill(i);
}

void Cluster::spawn(Server& server) {
  std::vector<char*> arguments;
  for (std::string& argument : server.command) arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  const int log = ::open(server.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t parent = ::getpid();
  server.pid = ::fork();
  if (server.pid != 0) {
    ::close(log);
    return;
  }
  // Between fork and exec: nothing that may allocate or lock.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

std::optional<std::string> Cluster::start() {
  for (Server& server : form_.servers) spawn(server);
  const size_t leader = await_leader();
  const Channels channel = connect(form_.servers[leader].address, 1);
  Write write;
  write.set_name("first");
  for (const auto until = Steady::now() + 30s; Steady::now() < until;) {
    if (call(*channel[0], form_.write_method, write.SerializeAsString(), 1s)) return std::nullopt;
  }
  return form_.name + " takes no write; it printed:\n" + read_file(form_.servers[leader].log);
}

size_t Cluster::await_leader() {
  for (const auto until = Steady::now() + 30s; Steady::now() < until; std::this_thread::sleep_for(20ms)) {
    std::optional<size_t> agreed = form_.leader(0);
    for (size_t i = 1; agreed && i < form_.servers.size(); ++i) {
      if (form_.leader(i) != agreed) agreed.reset();
    }
    if (agreed) return *agreed;
  }
  std::fprintf(stderr, "%s: the servers agree on no leader; the first one printed:\n%s\n", form_.name.c_str(),
               read_file(form_.servers[0].log).c_str());
  std::exit(1);
}

void Cluster::await_rest() const {
  constexpr double kRest = 1 << 20;  // bytes a second
  double before = -1;
  for (const auto until = Steady::now() + 60s; Steady::now() < until; std::this_thread::sleep_for(1s)) {
    const double written = usage().written_bytes;
    if (before >= 0 && written - before < kRest) return;
    before = written;
  }
}

void Cluster::kill(size_t server) {
  Server& one = form_.servers[server];
  if (one.pid <= 0) return;
  ::kill(one.pid, SIGKILL);
  ::waitpid(one.pid, nullptr, 0);
  one.pid = 0;
}

void Cluster::restart(size_t server) { spawn(form_.servers[server]); }

Usage Cluster::usage() const {
  Usage usage;
  for (const Server& server : form_.servers) {
    const std::string folder = "/proc/" + std::to_string(server.pid);
    const std::string stat = read_file(folder + "/stat");
    std::istringstream fields(stat.substr(stat.rfind(')') + 2));
    std::string field;
    for (int i = 0; i < 11; ++i) fields >> field;  // up to utime
    double user = 0, system = 0;
    fields >> user >> system;
    usage.cpu_seconds += (user + system) / static_cast<double>(::sysconf(_SC_CLK_TCK));
    std::istringstream io(read_file(folder + "/io"));
    for (std::string name; io >> name;) {
      double value = 0;
      io >> value;
      if (name == "write_bytes:") usage.written_bytes += value;
    }
  }
  return usage;
}

std::unique_ptr<Cluster> make_drover(const std::string& folder, std::string& missing) {
  const std::string program = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "bin/drover";
  const std::string plugins = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "tests/notes";
  if (!fs::exists(program)) {
    missing = program + " is not there: build the target programs";
    return nullptr;
  }
  Cluster::Form form{.name = "drover",
                     .write_method = "/drover.notes.Notes/Put",
                     .ping_method = "/drover.notes.Notes/Ping",
                     .burst_method = "/drover.notes.Bursts/Run"};
  std::string join;
  std::vector<int> serf;
  std::vector<std::string> addresses;
  for (size_t i = 0; i < kServers; ++i) {
    serf.push_back(free_port());
    join += (i ? ", \"" : "\"") + loopback(serf[i]) + "\"";
  }
  for (size_t i = 0; i < kServers; ++i) {
    const std::string name = folder + "/drover-" + std::to_string(i);
    const int rpc = free_port();
    std::ofstream(name + ".hcl") << "name = \"s" << i << "\"\ndata_dir = \"" << name
                                 << "\"\nbind_addr = \"127.0.0.1\"\n"
                                 << "log_level = \"WARN\"\nplugin_dir = \"" << plugins << "\"\n"
                                 << "ports {\n  http = " << free_port() << "\n  rpc = " << rpc
                                 << "\n  serf = " << serf[i] << "\n}\n"
                                 << "server {\n  enabled = true\n  bootstrap_expect = 3\n  server_join {\n"
                                 << "    retry_join = [" << join << "]\n    retry_interval = \"300ms\"\n  }\n}\n"
                                 << "autopilot {\n  cleanup_dead_servers = false\n}\n";
    addresses.push_back(loopback(rpc));
    form.servers.push_back(
        {.address = loopback(rpc), .command = {program, "agent", "-config", name + ".hcl"}, .log = name + ".log"});
  }
  form.leader = [addresses](size_t server) {
    const auto leader = ask<Leader>(addresses[server], "/drover.v1.ClusterStatus/Leader");
    return leader ? index_of(addresses, leader->address()) : std::nullopt;
  };
  return std::make_unique<Cluster>(std::move(form));
}

std::unique_ptr<Cluster> make_etcd(const std::string& folder, std::string& missing) {
  const std::string program = find_program("DROVER_ETCD", "etcd");
  if (program.empty()) {
    missing = "etcd is not here: `./dev bench` unpacks Debian's etcd-server, or name the program in DROVER_ETCD";
    return nullptr;
  }
  Cluster::Form form{.name = "etcd", .write_method = "/etcdserverpb.KV/Put"};
  std::vector<std::string> addresses, peers;
  std::string cluster;
  for (size_t i = 0; i < kServers; ++i) {
    addresses.push_back(loopback(free_port()));
    peers.push_back("http://" + loopback(free_port()));
    cluster += (i ? ",m" : "m") + std::to_string(i) + "=" + peers[i];
  }
  for (size_t i = 0; i < kServers; ++i) {
    const std::string name = folder + "/etcd-" + std::to_string(i);
    form.servers.push_back({.address = addresses[i],
                            .command = {program,
                                        "--name",
                                        "m" + std::to_string(i),
                                        "--data-dir",
                                        name,
                                        "--listen-client-urls",
                                        "http://" + addresses[i],
                                        "--advertise-client-urls",
                                        "http://" + addresses[i],
                                        "--listen-peer-urls",
                                        peers[i],
                                        "--initial-advertise-peer-urls",
                                        peers[i],
                                        "--initial-cluster",
                                        cluster,
                                        "--initial-cluster-state",
                                        "new",
                                        "--log-level",
                                        "warn",
                                        "--logger",
                                        "zap"},
                            .log = name + ".log"});
  }
  form.leader = [addresses](size_t server) -> std::optional<size_t> {
    const std::string method = "/etcdserverpb.Maintenance/Status";
    const auto asked = ask<EtcdStatus>(addresses[server], method);
    if (!asked || asked->leader() == 0) return std::nullopt;
    for (size_t i = 0; i < addresses.size(); ++i) {
      const auto status = ask<EtcdStatus>(addresses[i], method);
      if (status && status->header().member_id() == asked->leader()) return i;
    }
    return std::nullopt;
  };
  return std::make_unique<Cluster>(std::move(form));
}

std::unique_ptr<Cluster> make_hashicorp(const std::string& folder, std::string& missing) {
  const std::string program = find_program("DROVER_RAFTPEER", "raftpeer");
  if (program.empty()) {
    missing = "hashicorp/raft is not here: it needs Go (Debian's golang-go) and its modules; `./dev bench` builds it";
    return nullptr;
  }
  Cluster::Form form{.name = "hashicorp/raft", .write_method = "/raftpeer.Store/Put"};
  std::vector<std::string> addresses;
  std::string members;
  for (size_t i = 0; i < kServers; ++i) {
    addresses.push_back(loopback(free_port()));
    members += (i ? "," : "") + loopback(free_port()) + "=" + addresses[i];
  }
  for (size_t i = 0; i < kServers; ++i) {
    const std::string name = folder + "/hashicorp-" + std::to_string(i);
    form.servers.push_back({.address = addresses[i],
                            .command = {program, "-folder", name, "-members", members, "-self", std::to_string(i)},
                            .log = name + ".log"});
  }
  form.leader = [addresses](size_t server) {
    const auto leader = ask<Leader>(addresses[server], "/raftpeer.Store/Leader");
    return leader ? index_of(addresses, leader->address()) : std::nullopt;
  };
  return std::make_unique<Cluster>(std::move(form));
}

}  // namespace drover::bench
