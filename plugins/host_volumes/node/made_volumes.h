// The volumes that this node makes and keeps for the cluster.
//
//   order of a server ─▶ record ─▶ plugin ─▶ record ─▶ offered in the node's description and to its tasks
//   start: every record that stands for a volume ─▶ plugin again ─▶ offered; one that fails is tried again
//
// Calls from any thread; those about one volume wait for each other. The thread "host_volumes" restores, and looks for
// plugins.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "drover/host_volume_source.h"
#include "drover/leader_terms.h"
#include "drover/mutex.h"
#include "drover/node_fingerprint.h"
#include "drover/plugin.h"
#include "drover/turns.h"
#include "node/program.h"
#include "node/records.h"

namespace drover::host_volumes {

class MadeVolumes final : public NodeFingerprint, public HostVolumeSource {
 public:
  struct Setup {
    Host* host = nullptr;
    Programs::Folders folders;
    std::set<std::string> taken = {};  // names that the agent's configuration uses
    Programs::Times times = {};
  };
  ~MadeVolumes() override { stop(); }
  // Errors: those of Records::open().
  Status start(Setup setup);
  void stop();  // idempotent

  // `order`: as the servers describe it. Errors: aborted: it comes too late; already_exists: another volume has its
  // name; invalid_argument and failed_precondition of its plugin, and nothing has come of it; else nobody knows.
  Result<MadeVolume> make(StoredVolume order, uint64_t term, const std::stop_token& stop);
  Status erase(StoredVolume order, uint64_t term, const std::stop_token& stop);

  // NodeFingerprint
  Status describe(v1::Node& node) override;
  bool refresh(v1::Node& node) override;
  void watch(std::function<void()> changed) override;
  // HostVolumeSource
  std::optional<std::string> find(const std::string& name_space, const std::string& name) const override;

 private:
  void run(const std::stop_token& stop);
  bool restore(const std::stop_token& stop);
  void find_plugins(const std::stop_token& stop);
  Status heed(const StoredVolume& order, uint64_t term);
  Status check_name(const StoredVolume& order) const;
  Result<MadeVolume> make_now(const StoredVolume& order, const std::stop_token& stop) const;
  Status erase_now(const StoredVolume& order, const std::stop_token& stop) const;
  void offer(const StoredVolume& volume, bool is_offered);
  void tell();

  struct Offered {
    std::string id, name_space, path;
  };

  std::optional<Setup> setup_;
  std::optional<Programs> programs_;
  Records records_;
  mutable Mutex mutex_;
  CondVarAny looked_;  // the first look is done
  std::map<std::string, Offered> offered_ DROVER_GUARDED_BY(mutex_);       // by name
  std::map<std::string, std::string> versions_ DROVER_GUARDED_BY(mutex_);  // by plugin
  std::map<std::string, std::string> present_;                             // of the thread
  std::set<std::string> failed_;  // the same; volumes that could not be restored, by identifier
  LeaderTerms leaders_;
  Turns turns_;  // of volumes
  bool has_looked_ DROVER_GUARDED_BY(mutex_) = false;
  std::function<void()> changed_ DROVER_GUARDED_BY(mutex_);
  std::jthread thread_;
};

}  // namespace drover::host_volumes
