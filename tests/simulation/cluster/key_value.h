// The state machine of simulated servers: registers that are put, compared and set, appended to and read, and sessions
// that let no request take effect twice. Deterministic; single-owner.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "kernel/raft/raft.h"
#include "tests/simulation/check/history.h"

namespace drover::simulation {

// One request of a client. A client has one open at a time and numbers them; a retry has the same number.
struct Request {
  int client = 0;
  uint64_t number = 0;
  int attempt = 0;
  Kind kind = Kind::read;
  std::string key{};
  std::string first{};
  std::string second{};
};

std::string encode_command(const Request& request);
// Client, number and attempt of an encoded command; the rest is empty.
Request request_of(std::string_view command);

class KeyValue final : public raft::StateMachine {
 public:
  // Answers: "ok"; of a cas "true" or "false"; "stale" for a request older than the client's newest.
  void apply(std::span<const raft::Entry> entries, std::vector<Result<std::string>>& answers) override;
  raft::Index applied_index() override { return index_; }
  raft::Index index() const { return index_; }
  std::unique_ptr<raft::SnapshotSource> snapshot() override;
  Status restore(raft::ByteSource& source) override;

  const std::string& read(const std::string& key) const;
  uint64_t hash() const;  // of everything but the index

 private:
  struct Session {
    uint64_t number = 0;
    std::string answer;
  };
  struct State {
    std::map<std::string, std::string> values;
    std::map<uint32_t, Session> sessions;
  };
  class Frozen;

  std::string execute(std::string_view command);

  raft::Index index_ = 0;
  State state_;
};

}  // namespace drover::simulation
