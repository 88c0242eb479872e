// The keys of this server's gossip: in the file `<data_dir>/server/serf.keyring`, and in use.
// [any thread that may wait]
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "drover/mutex.h"
#include "drover/result.h"
#include "keys/key_steps.h"
#include "seal.h"

namespace drover::gossip {

class ServerKeyring {
 public:
  // Reads the file. Where there is none and a key is configured, the file is written with it. The file goes before the
  // configuration. Errors: with the file's path, or "server.encrypt".
  Status start(const std::string& data_dir, const std::string& configured);
  Result<Seal> seal() const;
  // Called with the seal of each change. Once, before the first step.
  void on_change(std::function<void(Seal)> change) { change_ = std::move(change); }

  // This server's own part of a step; the keys after it, which are on the disk and in use. Errors: as keys_after; the
  // disk's, with the file's path; failed_precondition when this server's gossip is in the clear.
  Result<std::vector<std::string>> step(Step step, const std::string& key);

 private:
  std::vector<std::string> keys() const;

  std::string path_;
  std::function<void(Seal)> change_;
  Mutex stepping_;  // held while the file is written
  mutable Mutex mutex_;
  std::vector<std::string> keys_ DROVER_GUARDED_BY(mutex_);  // secret
};

}  // namespace drover::gossip
