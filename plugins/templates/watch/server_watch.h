// Watches on the servers what templates of this node read: one blocking read for each distinct question, however many
// templates ask it. No thread of its own.
//
//   used ──▶ asked ──answer──▶ known, and asked on behind its index …      nobody uses it: gone
//              └ failed: again, first after a short pause, then ever later; what was known stays
//
// The servers are asked with the node's proof, on behalf of an allocation that uses the answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "drover/mutex.h"
#include "drover/node_calls.h"
#include "drover/plugin.h"
#include "drover/template_source.h"

namespace drover::templates {

// An answer of the servers.
struct Seen {
  uint64_t change = 0;    // grows when what follows changes; 0: no server has answered yet
  bool is_found = false;  // false: the answer says that there is none
  std::shared_ptr<const nlohmann::json> value;
  std::shared_ptr<const nlohmann::json> metadata;  // of the value; null: none
  Status error;                                    // the servers refuse; nothing else is set then
};

struct ServerQuestion {
  std::string method;
  std::string key;  // questions with the same method and key share their answers
  // The request of a node with that proof for that allocation. Sets in `query` what the call says beside it.
  std::function<std::string(const NodeProofOf& node, const Uuid& allocation, QueryOptions& query)> request;
  std::function<Result<Seen>(std::string_view body)> read;
  bool may_be_refused = false;  // permission_denied is an answer where there is none yet; else a failure
};

class ServerWatch;

// A template's hold on an answer. [any]
class ServerUse final : public TemplateWatch {
 public:
  ServerUse(std::shared_ptr<ServerWatch> watch, Uuid allocation);
  ~ServerUse() override;
  ServerUse(const ServerUse&) = delete;
  TemplateAnswer now() const override;
  TemplateAnswer wait(std::chrono::nanoseconds patience) const override;
  // The same as wait(), with all that the servers told.
  Seen seen_within(std::chrono::nanoseconds patience) const;

 private:
  const std::shared_ptr<ServerWatch> watch_;
  const Uuid allocation_;
};

// [any]
class ServerWatches {
 public:
  ~ServerWatches() { stop(); }
  // The host outlives the watches.
  void start(Host& host) { host_ = &host; }
  // Nothing is asked any more, and nobody waits.
  void stop();
  // Begins to watch where nobody does.
  std::shared_ptr<ServerUse> use(const Uuid& allocation, const ServerQuestion& question);

 private:
  Host* host_ = nullptr;
  Mutex mutex_;
  std::map<std::string, std::weak_ptr<ServerWatch>> watches_ DROVER_GUARDED_BY(mutex_);
  bool is_stopped_ DROVER_GUARDED_BY(mutex_) = false;
};

// The answers that one run of a template looks at, in the changes that were seen. One thread.
class ServerReads {
 public:
  using Watch = std::function<std::shared_ptr<ServerUse>(const ServerQuestion&)>;
  struct Used {
    std::shared_ptr<TemplateWatch> use;
    uint64_t change = 0;
  };
  using All = std::map<std::string, Used>;

  // `watch`: asks the servers; null: nothing is ever known. `patience`: how long a first answer may take. `held`: those
  // of the run before; null: none. Both references outlive the reads.
  ServerReads(const Watch& watch, std::chrono::nanoseconds patience, const All* held = nullptr)
      : watch_(watch), patience_(patience), held_(held) {}
  bool are_possible() const { return watch_ != nullptr; }
  Seen look(const ServerQuestion& question);
  // The answer of somebody else than the servers. `begin` where it was not looked at before, nor in the run before.
  TemplateAnswer at(const std::string& name, const std::function<std::shared_ptr<TemplateWatch>()>& begin);
  const All& all() const { return all_; }

 private:
  const Watch& watch_;
  const std::chrono::nanoseconds patience_;
  const All* const held_;
  All all_;
};

}  // namespace drover::templates
