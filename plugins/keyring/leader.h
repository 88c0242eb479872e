// A leading server's work for the keyring: it makes the first key, rotates it when it is old, empties and forgets old
// ones.
//
//   make material ──▶ own disk ──▶ disks of a quorum of voters ──▶ the log says that it is active
//
// A key becomes active only when a quorum holds it, so that whoever leads next finds it with somebody.
#pragma once

#include <chrono>
#include <memory>
#include <stop_token>

#include "drover/mutex.h"
#include "drover/plugin.h"
#include "keys.h"
#include "tables.h"
#include "users.h"

namespace drover::keyring {

struct Settings {
  std::chrono::nanoseconds rotation_threshold = std::chrono::hours(720);
  std::chrono::nanoseconds gc_threshold = std::chrono::hours(1);
  std::chrono::nanoseconds gc_interval = std::chrono::minutes(10);
};

class Leader {
 public:
  Leader(const Tables& tables, const Users& users, Keys& keys);
  ~Leader();
  // The host outlives this.
  void start(Host& host, const Settings& settings) {
    host_ = &host;
    settings_ = settings;
  }
  // [lead]
  void run(const std::stop_token& stop);

  // Makes a new key the active one; the answer is its row. Errors: unavailable, when no quorum holds it, and nothing
  // has changed then; those of Host::propose. [a thread that may wait]
  Result<Applied> rotate(bool rekey, const std::stop_token& stop);

 private:
  void ensure_active(const std::stop_token& stop);
  void finish_emptying();
  void rotate_or_forget(const std::stop_token& stop);
  Status hand_out(const v1::KeyMaterial& key, const std::stop_token& stop);

  const Tables& tables_;
  const Users& users_;
  Keys& keys_;
  Host* host_ = nullptr;
  Settings settings_;
  Mutex making_;  // held while a key is made and handed out
  std::unique_ptr<v1::KeyMaterial> made_ DROVER_GUARDED_BY(making_);  // not active yet: the next attempt takes it
};

}  // namespace drover::keyring
