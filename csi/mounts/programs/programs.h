// The storage plugins that this agent runs itself, as its configuration says (program_settings.h). What a former life
// of the agent left running is found again, or ended where the configuration does not name it any more.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "drover/mounts.h"
#include "drover/mutex.h"
#include "drover/node_programs.h"
#include "drover/plugin.h"
#include "programs/program.h"

namespace drover::mounts {

// The mounts of this machine, as the system lists them.
std::vector<MountPoint> machine_mounts();

class Programs final : public NodePrograms {
 public:
  // All outlives the programs.
  struct Setup {
    Host& host;
    Instances& instances;
    const Folders& folders;
    std::function<bool(const std::string& plugin_id)> is_used;  // by a volume of this node. [any]
    ProgramTimes times{};
    SupervisionTiming timing{};
    std::function<std::shared_ptr<csi::Client>(const std::string& socket, std::shared_ptr<csi::KnownSecrets> told)>
        connect{};
    std::function<std::vector<MountPoint>()> mounts = machine_mounts;
  };

  // Waits for none of them. Errors: those of the settings, and of the local store.
  Status start(Setup setup, std::vector<ProgramSettings> wanted);
  // Ends those whose volumes nobody uses, and leaves the others to the next agent; a development agent ends all. Waits.
  // Idempotent.
  void stop();

  std::vector<v1::NodePlugin> list() const override;
  // Refused while a file system is mounted that the program may serve by itself: it would break under its users.
  Status restart(const std::string& name) override;

 private:
  using Found = std::map<std::string, ProgramProcess>;  // by name

  Status check_places(const std::vector<ProgramSettings>& wanted) const;
  Result<Found> find(bool are_wanted) const;
  void add_launched(Found& found) const;
  void remember(const std::string& name, const std::optional<ProgramProcess>& process) const;
  std::unique_ptr<Program> make(ProgramSettings settings, const Found& found) const;
  ProgramLife::Fate fate_of(const ProgramSettings& settings) const;
  Status check_restart(const ProgramSettings& settings) const;

  std::optional<Setup> setup_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Program>> programs_ DROVER_GUARDED_BY(mutex_);
};

}  // namespace drover::mounts
