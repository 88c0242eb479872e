// Brings into the agent's log what a storage plugin prints that the agent runs itself: line by line, without the
// secrets that it was given.
//
// It prints into a FIFO that the launcher holds open, too: the plugin outlives the agent. Its thread, "csi-output",
// reads from open() to close().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "drover/clock.h"
#include "drover/fd.h"
#include "drover/plugin_programs/plugin_log.h"
#include "drover/result.h"

namespace drover::csi {
class KnownSecrets;
}

namespace drover::mounts {

class ProgramOutput {
 public:
  // `plugin`: the name in the log. `clock` outlives it.
  ProgramOutput(std::string plugin, std::shared_ptr<const csi::KnownSecrets> secrets, Clock& clock);
  ~ProgramOutput() { close(); }

  // Makes the FIFO where there is none. What lies in it already is thrown away: a former life of the agent knew the
  // secrets that may stand there, and this one does not. Errors: failed_precondition when something else is there; the
  // system's.
  Status open(const std::string& fifo);
  bool is_open() const { return static_cast<bool>(fifo_); }
  void close();  // reads what is there, to an extent; joins; idempotent

 private:
  void run();
  bool read();
  void take_lines();
  void log_line(std::string_view line);
  bool may_log();
  void tell_dropped();

  const std::string plugin_;
  const std::shared_ptr<const csi::KnownSecrets> secrets_;
  Clock& clock_;
  Fd fifo_, quiet_;  // an eventfd: the thread shall end

  // [csi-output]
  std::string buffer_;
  bool is_cut_ = false;  // the rest of a line that was too long comes
  plugin_programs::LogReader reader_;
  SteadyTime second_began_{};
  int lines_in_second_ = 0;
  uint64_t dropped_ = 0;  // and not yet told of

  std::thread thread_;
};

}  // namespace drover::mounts
