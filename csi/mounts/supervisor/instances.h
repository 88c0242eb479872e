// The storage plugins that run on this node: which instance of a plugin is asked, and what the servers hear of it.
//
// A plugin may have several instances at a time, while its job is updated. The newest healthy one is asked; when it
// goes, the former is again. [any]
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "drover/mutex.h"
#include "drover/node_fingerprint.h"
#include "drover/uuid.h"

namespace drover::v1 {
class CsiInfo;
}
namespace drover::csi {
class Client;
}

namespace drover::mounts {

// A task that is a storage plugin, in one of its starts, or a program that the agent itself runs as one. Constant.
struct Instance {
  std::string plugin_id;
  std::string type;       // "node", "controller" or "monolith"
  Uuid alloc{};           // zero: the agent runs it itself
  std::string base;       // folder of this machine, below which it stages and publishes
  std::string base_seen;  // the same folder as the plugin sees it
  std::shared_ptr<csi::Client> client;

  bool has_node() const { return type != "controller"; }
  bool has_controller() const { return type != "node"; }
  std::string seen(const std::string& path_below) const { return base_seen + "/" + path_below; }
};

// Sides of a plugin. An instance may have both.
enum class Side : uint8_t { controller, node };

// The words of an instance about itself, for each side that it has; null: it has none.
struct Described {
  std::shared_ptr<const v1::CsiInfo> controller, node;
};

// The same words of one that is not well.
Described unhealthy(const Described& described, const std::string& why, int64_t now);

class Instances final : public NodeFingerprint {
 public:
  struct Found {
    std::shared_ptr<const Instance> instance;
    std::shared_ptr<const v1::CsiInfo> info;  // of that side
  };

  // It is asked from now on, if it is healthy. Returns a number that names it.
  uint64_t add(std::shared_ptr<const Instance> instance, const Described& described);
  void describe(uint64_t number, const Described& described);
  // It has ended and will come again: it stays known, unhealthy for this reason, until it is removed or another one of
  // the same plugin and type is added. Does nothing for one that is gone.
  void fade(uint64_t number, const std::string& why, int64_t now);
  void remove(uint64_t number);  // does nothing for one that is gone

  // Errors: unavailable, `no healthy controller plugin "X" on this node`.
  Result<Found> find(Side side, const std::string& plugin_id) const;
  // Called when a plugin has come, gone, or changed its mind; before anything is added. It must not wait.
  void when_changed(std::function<void()> told) { told_ = std::move(told); }

  Status describe(v1::Node& node) override { return refresh(node), ok_status(); }
  bool refresh(v1::Node& node) override;
  void watch(std::function<void()> changed) override;

 private:
  struct Entry {
    std::shared_ptr<const Instance> instance;
    Described described;
    bool has_faded = false;
  };
  static std::shared_ptr<const v1::CsiInfo> side_of(const Entry& entry, Side side);
  std::map<std::string, Found> chosen(Side side) const DROVER_REQUIRES(mutex_);
  void tell();

  std::function<void()> told_;  // constant once anything is added
  mutable Mutex mutex_;
  uint64_t last_ DROVER_GUARDED_BY(mutex_) = 0;
  std::map<uint64_t, Entry> entries_ DROVER_GUARDED_BY(mutex_);  // in the order in which they came
  std::function<void()> changed_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::mounts
