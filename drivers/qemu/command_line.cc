#include "command_line.h"

#include <algorithm>

#include "drover/core_list.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::qemu {
namespace {

constexpr int64_t kLeastMegabytes = 128, kMostMegabytes = 4'000'000;
constexpr size_t kLongestSocketPath = 108;  // with the zero byte at its end
constexpr int64_t kLastPort = 65'535;

using Words = std::vector<std::string>;

// A value among others that commas separate.
std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) out.append(c == ',' ? 2 : 1, c);
  return out;
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<std::string> socket_path(const driver::TaskConfig& config, std::string_view name) {
  std::string path = task_folder(config) + "/" + std::string(name);
  if (path.size() < kLongestSocketPath) return path;
  return invalid_argument("socket path " + path + " is longer than the maximum length allowed (" +
                          std::to_string(kLongestSocketPath) +
                          "), try to reduce the task name or Nomad's data_dir if possible.");
}

struct Port {
  std::string address;  // empty: all
  int64_t number = 0;
};

// A port of the task's own network or of its group's. In a namespace of the group's own it is the one inside.
Result<Port> find_port(const driver::TaskConfig& config, const std::string& label) {
  for (const auto& network : config.resources().allocated_resources().networks()) {
    for (const auto* ports : {&network.reserved_ports(), &network.dynamic_ports()}) {
      const auto at = std::ranges::find(*ports, label, &driver::NetworkPort::label);
      if (at != ports->end()) return Port{.number = at->value()};
    }
  }
  const auto& ports = config.resources().ports();
  const auto at = std::ranges::find(ports, label, &driver::PortMapping::label);
  if (at == ports.end()) return invalid_argument("Unknown port label \"" + label + "\"");
  if (!config.network_isolation_spec().path().empty()) return Port{.number = at->to() > 0 ? at->to() : at->value()};
  const bool is_plain = at->host_ip().find(':') == std::string::npos;  // qemu forwards addresses of version 4 only
  return Port{.address = is_plain ? at->host_ip() : std::string(), .number = at->value()};
}

Result<std::string> forwards(const QemuTask& task, const driver::TaskConfig& config) {
  std::string all;
  for (const auto& [label, guest] : task.port_map) {
    DROVER_TRY(const Port port, find_port(config, label));
    if (guest < 1 || guest > kLastPort)
      return invalid_argument("port_map maps \"" + label + "\" to " + std::to_string(guest) + ", which is no port");
    for (const char* protocol : {"udp", "tcp"})
      all += std::string(",hostfwd=") + protocol + ":" + port.address + ":" + std::to_string(port.number) +
             "-:" + std::to_string(guest);
  }
  return all;
}

// qemu answers the guest's questions for names by one server at most.
std::string names(const driver::DNSConfig& dns) {
  std::string all;
  if (!dns.servers().empty()) all += ",dns=" + escaped(dns.servers(0));
  for (const std::string& search : dns.searches()) all += ",dnssearch=" + escaped(search);
  return all;
}

Status add_sockets(const QemuTask& task, const driver::TaskConfig& config, Words& words) {
  if (task.has_graceful_shutdown) {
    DROVER_TRY(const std::string path, socket_path(config, kMonitorSocket));
    words.insert(words.end(), {"-monitor", "unix:" + escaped(path) + ",server=on,wait=off"});
  }
  if (task.has_guest_agent) {
    DROVER_TRY(const std::string path, socket_path(config, kAgentSocket));
    words.insert(words.end(), {"-chardev", "socket,path=" + escaped(path) + ",server=on,wait=off,id=qga0", "-device",
                               "virtio-serial", "-device", "virtserialport,chardev=qga0,name=org.qemu.guest_agent.0"});
  }
  return ok_status();
}

Status add_network(const QemuTask& task, const driver::TaskConfig& config, Words& words) {
  DROVER_TRY(const std::string ports, forwards(task, config));
  const std::string all = names(config.dns()) + ports;
  if (!all.empty())
    words.insert(words.end(), {"-netdev", "user,id=user.0" + all, "-device", "virtio-net,netdev=user.0"});
  return ok_status();
}

}  // namespace

Result<std::vector<std::string>> arguments_of(const QemuTask& task, const driver::TaskConfig& config,
                                              const std::string& image) {
  const int64_t memory = config.resources().allocated_resources().memory().memory_mb();
  if (memory < kLeastMegabytes || memory > kMostMegabytes)
    return invalid_argument("Qemu memory assignment out of bounds");
  Words words = {"-machine",  "type=pc,accel=" + escaped(task.accelerator),
                 "-name",     escaped(name_of(task.image_path)),
                 "-m",        std::to_string(memory) + "M",
                 "-drive",    "file=" + escaped(image) + ",if=" + task.drive_interface,
                 "-nographic"};
  DROVER_RETURN_IF_ERROR(add_sockets(task, config, words));
  words.insert(words.end(), task.arguments.begin(), task.arguments.end());
  DROVER_RETURN_IF_ERROR(add_network(task, config, words));
  if (task.accelerator == "kvm") {
    words.insert(words.end(), {"-enable-kvm", "-cpu", "host"});
    DROVER_TRY(const CoreList cores, parse_core_list(config.resources().linux_resources().cpuset_cpus()));
    if (!cores.empty()) words.insert(words.end(), {"-smp", std::to_string(cores.size())});
  }
  return words;
}

std::optional<std::string> parse_version(std::string_view text) {
  constexpr std::string_view kWord = "version ", kDigits = "0123456789", kParts = "0123456789.+";
  for (size_t at = text.find(kWord); at != std::string_view::npos; at = text.find(kWord, at + 1)) {
    const std::string_view rest = text.substr(at + kWord.size());
    const std::string_view version = rest.substr(0, std::min(rest.find_first_not_of(kParts), rest.size()));
    if (version.size() > 1 && kDigits.find(version.front()) != std::string_view::npos) return std::string(version);
  }
  return std::nullopt;
}

}  // namespace drover::qemu
