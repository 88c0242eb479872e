#include "fingerprint.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <thread>

#include "cni/cni_networks.h"
#include "cni/network_list.h"
#include "drover/log.h"
#include "drover/program.h"
#include "drover/v1/node.pb.h"
#include "native/links.h"
#include "native/packet_filter.h"

namespace drover::networks {
namespace {

constexpr auto kVersionTime = std::chrono::seconds(3);

bool is_version(std::string_view word) {
  if (word.starts_with('v')) word.remove_prefix(1);
  return word.find('.') != std::string_view::npos && word.front() >= '0' && word.front() <= '9' &&
         std::ranges::all_of(word, [](char c) { return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+'; });
}

bool has_iptables() {
  const auto end = run_program({.program = "iptables", .arguments = {"-w", "-S", "FORWARD"}, .time = kVersionTime});
  return end.ok() && end->code == 0;
}

// The programs of all folders, those of earlier ones first.
std::map<std::string, std::string> programs_in(const std::vector<std::string>& folders) {
  std::map<std::string, std::string> programs;
  for (const std::string& folder : folders) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      if (::access(entry.path().c_str(), X_OK) == 0 && entry.is_regular_file(error))
        programs.emplace(name, entry.path());
    }
  }
  return programs;
}

void describe_plugins(const Config& config, v1::Node& node) {
  for (const auto& [name, path] : programs_in(config.cni_folders)) {
    const auto end = run_program({.program = path, .environment = std::vector<std::string>{}, .time = kVersionTime});
    if (!end.ok()) continue;
    const std::string version = plugin_version(end->output + "\n" + end->errors);
    if (!version.empty()) (*node.mutable_attributes())["plugins.cni.version." + name] = version;
  }
}

void add_network(const std::string& mode, const std::string& device, v1::Node& node) {
  v1::NetworkResource& network = *node.mutable_node_resources()->add_networks();
  network.set_mode(mode);
  network.set_device(device);
}

}  // namespace

std::string plugin_version(std::string_view printed) {
  std::string last;
  std::string word;
  const auto take = [&] {
    while (!word.empty() && (word.back() == ',' || word.back() == ')')) word.pop_back();
    if (!word.empty() && is_version(word)) last = word;
    word.clear();
  };
  for (const char c : printed) {
    if (c == ' ' || c == '\n' || c == '\t') {
      take();
    } else {
      word += c;
    }
  }
  take();
  return last;
}

bool can_make_bridges() {
  bool can = false;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) return;
    auto links = Links::open();
    can = links.ok() && links->make_bridge("probe").ok() &&
          PacketFilter().run("add table inet probe\ndelete table inet probe\n").ok();
  }).join();
  return can;
}

BridgeBy find_bridge(const Config& config) {
  if (::geteuid() != 0 || !can_make_bridges()) return BridgeBy::nobody;
  const bool has_all = std::ranges::all_of(std::initializer_list<const char*>{"loopback", "bridge", "host-local", "firewall", "portmap"},
                                           [&](const char* type) {
                                             return !cni::find_plugin(config.cni_folders, type).empty();
                                           });
  return has_all && has_iptables() ? BridgeBy::cni : BridgeBy::native;
}

void NetworkFingerprint::start(const Config& config, BridgeBy bridge) {
  config_ = &config;
  bridge_ = bridge;
}

Status NetworkFingerprint::describe(v1::Node& node) {
  if (bridge_ != BridgeBy::nobody) {
    add_network("bridge", config_->bridge, node);
    (*node.mutable_attributes())["nomad.bridge.hairpin_mode"] = config_->is_hairpin ? "true" : "false";
    (*node.mutable_attributes())["drover.bridge"] = bridge_ == BridgeBy::cni ? "cni" : "native";
  }
  describe_plugins(*config_, node);
  const auto lists = cni::find_lists(config_->cni_config_folder);
  if (!lists.ok()) return ok_status();
  std::set<std::string> names;
  for (const cni::FoundList& found : *lists) {
    if (!found.list.ok()) {
      log::warn("networks", "a CNI network config cannot be used", {{"error", found.list.status().message()}});
    } else if (names.insert(found.list->name).second) {
      add_network("cni/" + found.list->name, "", node);
    }
  }
  return ok_status();
}

}  // namespace drover::networks
