// A log that forgets everything with the process, for tests and simulations. Confirms every write inside submit, unless
// held. Single-owner: the caller of submit, read and release is one thread or takes turns.
#pragma once

#include <deque>
#include <functional>
#include <mutex>

#include "kernel/raft/log.h"
#include "storage/log_index.h"

namespace drover::raft {

class MemoryLog final : public Log {
 public:
  MemoryLog() : index_(UINT64_MAX) {}

  LogState recovered() const override { return {}; }
  ClusterId cluster_id() const override { return cluster_id_; }
  Status join_cluster(ClusterId cluster) override {
    cluster_id_ = cluster;
    return ok_status();
  }
  void start(std::function<void(uint64_t)> on_durable) override { on_durable_ = std::move(on_durable); }
  void stop() override {}
  void submit(LogWrite write) override;  // runs on_durable inline
  void mark_whole() override {}
  Result<std::vector<Entry>> read(Index from, Index to, uint64_t max_bytes) const override;
  Verified verify(Index index) const override { return {.status = ok_status(), .next = index + 1}; }
  Result<Term> term_at(Index index) const override;
  Index first_index() const override;
  Index last_index() const override;
  Index durable_index() const override;
  Index trail_start(Index upto, uint64_t bytes) const override;
  LogStats stats() const override { return {}; }

  // From now on writes stay unconfirmed until release().
  void hold();
  void release();

 private:
  ClusterId cluster_id_;
  struct Unconfirmed {
    uint64_t write_seq = 0;
    Index last = 0;
  };
  std::function<void(uint64_t)> on_durable_;
  mutable std::mutex mutex_;  // guards what follows
  LogIndex index_;
  std::deque<Unconfirmed> unconfirmed_;
  Index durable_ = 0;
  bool is_held_ = false;
};

}  // namespace drover::raft
