#include "network_hook.h"

#include <random>

#include "drover/log.h"
#include "drover/methods.h"
#include "drover/pause.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/job.pb.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::networks {
namespace {

constexpr std::string_view kAttachment = "attachment";  // StoredAttachment, while there is one
constexpr int kTries = 3;
constexpr auto kBetweenTries = std::chrono::milliseconds(1000);  // and up to as much again

// Empty: its tasks use the machine's network, or one without interfaces.
std::string mode_of(const AllocSpec& spec) {
  if (!spec.group || spec.group->networks_size() == 0) return {};
  const std::string& mode = spec.group->networks(0).mode();
  return mode == "bridge" || mode.starts_with("cni/") ? mode : std::string();
}

}  // namespace

class AttachedNetwork final : public AllocHook::Part {
 public:
  AttachedNetwork(const NetworkHook& hook, HookedAlloc& alloc, HookState& state)
      : hook_(hook), alloc_(alloc), state_(state) {}

  Status prerun(std::stop_token stop) override {
    const AllocSpecPtr spec = alloc_.spec();
    const std::string mode = mode_of(*spec);
    if (mode.empty()) return ok_status();
    const auto network = alloc_.shared_network();
    if (!network) return failed_precondition("nobody has made a network for the mode \"" + mode + "\"");
    const Wanted wanted = wanted_of(*spec, network->path());
    DROVER_TRY(const auto before, stored());
    if (before) {
      const Status found = before->is_attached() ? kind_of(*before).found(wanted, *before) : not_found("it was begun");
      if (!found.ok()) warn(found);
      if (found.code() != Code::not_found) return describe(*network, *before), ok_status();
      // The namespace is another: the machine or its container was started again, or the agent ended in the middle.
      const Wanted old = wanted_of(*spec, before->path());
      if (const Status status = kind_of(*before).detach(old, *before); !status.ok()) warn(status);
    }
    DROVER_TRY(const StoredAttachment made, attach(wanted, stop));
    return describe(*network, made), ok_status();
  }

  Status postrun() override {
    DROVER_TRY(const auto attachment, stored());
    if (!attachment) return ok_status();
    DROVER_RETURN_IF_ERROR(
        kind_of(*attachment).detach(wanted_of(*alloc_.spec(), attachment->path()), *attachment));
    return state_.put(kAttachment, "");
  }

 private:
  Wanted wanted_of(const AllocSpec& spec, const std::string& path) const {
    Wanted wanted{.allocation = alloc_.id().to_string(),
                  .mode = mode_of(spec),
                  .path = path,
                  .ports = mapped_ports(*spec.allocation, hook_.config_->binds_everywhere)};
    if (spec.group && spec.group->networks_size() > 0) {
      const auto& arguments = spec.group->networks(0).cni().args();
      wanted.arguments.insert(arguments.begin(), arguments.end());
    }
    return wanted;
  }

  NetworkKind& kind_of(const StoredAttachment& attachment) const {
    return attachment.kind() == "cni" ? hook_.kinds_->cni : hook_.kinds_->native;
  }

  // The first error is told: those of later tries may speak of what the first left behind.
  Result<StoredAttachment> attach(const Wanted& wanted, const std::stop_token& stop) {
    NetworkKind& kind = wanted.mode == "bridge" ? hook_.kinds_->bridge : hook_.kinds_->cni;
    StoredAttachment attachment;
    const std::string what = "failed to configure networking for alloc: failed to configure network";
    if (const Status status = kind.begin(wanted, attachment); !status.ok()) return status.with_context(what);
    attachment.set_path(wanted.path);
    *attachment.mutable_ports() = {wanted.ports.begin(), wanted.ports.end()};
    DROVER_RETURN_IF_ERROR(state_.put(kAttachment, serialize(attachment)));
    Status first;
    for (int i = 0; i < kTries; ++i) {
      const Status status = kind.attach(wanted, attachment);
      if (status.ok()) {
        attachment.set_is_attached(true);
        DROVER_RETURN_IF_ERROR(state_.put(kAttachment, serialize(attachment)));
        return attachment;
      }
      if (first.ok()) first = status;
      if (i + 1 == kTries) break;
      std::uniform_int_distribution<int64_t> more(0, kBetweenTries.count());
      if (!pause_for(kBetweenTries + std::chrono::milliseconds(more(random_)), stop)) break;
    }
    return first.with_context(what);
  }

  // The tasks find their own name and address.
  void describe(hashicorp::nomad::plugins::drivers::proto::NetworkIsolationSpec network,
                const StoredAttachment& attachment) {
    auto& hosts = *network.mutable_hostsconfig();
    if (hosts.hostname().empty()) hosts.set_hostname(alloc_.id().short_string());
    hosts.set_address(attachment.status().address());
    alloc_.share_network(network);
    alloc_.describe_network(attachment.status());
  }

  Result<std::optional<StoredAttachment>> stored() const {
    const auto bytes = state_.get(kAttachment);
    if (!bytes) return std::optional<StoredAttachment>();
    DROVER_TRY(StoredAttachment attachment, parse_message<StoredAttachment>(*bytes));
    return std::optional(std::move(attachment));
  }

  void warn(const Status& status) const {
    log::warn("networks", "a network is not as it should be",
              {{"alloc", alloc_.id().to_string()}, {"error", status.message()}});
  }

  const NetworkHook& hook_;
  HookedAlloc& alloc_;
  HookState& state_;
  std::minstd_rand random_{std::random_device{}()};
};

void NetworkHook::start(const Config& config, Kinds kinds) {
  config_ = &config;
  kinds_.emplace(kinds);
}

HookInfo NetworkHook::info() const {
  return {.name = "networks", .after = {"network"}, .supports = {"network.bridge", "network.cni"}};
}

std::unique_ptr<AllocHook::Part> NetworkHook::attach(HookedAlloc& alloc, HookState& state) {
  return std::make_unique<AttachedNetwork>(*this, alloc, state);
}

}  // namespace drover::networks
