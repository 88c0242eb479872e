#include <charconv>

#include "isolation_set.h"
#include "nomad/plugins/driver.pb.h"

namespace drover {
namespace {

class InNetworkNamespace final : public TaskIsolation {
 public:
  explicit InNetworkNamespace(std::string path) : path_(std::move(path)) {}
  void apply(Launcher::Start& start) const override { start.network_namespace = path_; }

 private:
  const std::string path_;
};

class NetworkNamespace final : public IsolationPart {
 public:
  std::string_view name() const override { return "network"; }
  void describe(driver::DriverCapabilities& capabilities) const override {
    capabilities.add_network_isolation_modes(driver::NetworkIsolationSpec::GROUP);
  }
  Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig& task, const IsolationNeeds&) override {
    const std::string& path = task.network_isolation_spec().path();
    if (path.empty()) return std::unique_ptr<TaskIsolation>();
    return std::unique_ptr<TaskIsolation>(std::make_unique<InNetworkNamespace>(path));
  }
  Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig& task, std::string_view) override {
    return set_up(task, {});
  }
};

class InOwnNamespaces final : public TaskIsolation {
 public:
  InOwnNamespaces(uint32_t own, std::string host_name) : own_(own), host_name_(std::move(host_name)) {}
  std::string state() const override { return std::to_string(own_); }
  void apply(Launcher::Start& start) const override {
    Confinement& confinement = confinement_of(start);
    confinement.own |= own_;
    confinement.host_name = host_name_;
  }

 private:
  const uint32_t own_;
  const std::string host_name_;
};

class OwnNamespaces final : public IsolationPart {
 public:
  std::string_view name() const override { return "namespaces"; }
  Result<std::unique_ptr<TaskIsolation>> set_up(const driver::TaskConfig& task, const IsolationNeeds& needs) override {
    const uint32_t own = needs.own_namespaces;
    const bool has_name = (own & Confinement::hostname) != 0;
    return made(own, has_name ? task.network_isolation_spec().hostsconfig().hostname() : std::string());
  }
  Result<std::unique_ptr<TaskIsolation>> recover(const driver::TaskConfig&, std::string_view state) override {
    uint32_t own = 0;
    const auto [end, error] = std::from_chars(state.data(), state.data() + state.size(), own);
    if (error != std::errc() || end != state.data() + state.size())
      return invalid_argument("its namespaces cannot be read");
    return made(own, {});
  }

 private:
  static std::unique_ptr<TaskIsolation> made(uint32_t own, std::string host_name) {
    return std::make_unique<InOwnNamespaces>(own, std::move(host_name));
  }
};

}  // namespace

std::unique_ptr<IsolationPart> network_namespace() { return std::make_unique<NetworkNamespace>(); }
std::unique_ptr<IsolationPart> own_namespaces() { return std::make_unique<OwnNamespaces>(); }

}  // namespace drover
