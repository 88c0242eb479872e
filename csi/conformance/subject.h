// A storage plugin under test: a program that the kit starts, kills and starts again, or one that runs already.
#pragma once

#include <memory>
#include <string>

#include "drover/plugin_programs/channel.h"
#include "drover/result.h"

namespace drover::csi_kit {

struct Settings;

// One thread, but for connect(), whose channels any thread may use.
class Subject {
 public:
  virtual ~Subject() = default;
  // Leads to whichever instance lives. Every call on it fails with unavailable while none does.
  virtual std::unique_ptr<plugin_programs::Channel> connect() const = 0;
  virtual void kill() = 0;     // by SIGKILL; returns when it has gone. Requires: Settings::program
  virtual Status end() = 0;    // by SIGTERM. Errors: it had to be killed. Requires: as kill
  virtual Status start() = 0;  // the next instance; returns when it is ready. Requires: none lives
  virtual bool is_alive() = 0;
  // How the last instance ended, and what it printed last; for people.
  virtual std::string epitaph() = 0;
  // The folder of its socket, where the plugin puts nothing else; empty: not the kit's.
  virtual std::string socket_folder() const = 0;
};

// `folder` is the kit's own. Errors: the program does not start, or is not ready within the limit.
Result<std::unique_ptr<Subject>> make_subject(const Settings& settings, const std::string& folder);

}  // namespace drover::csi_kit
