// The safety properties of consensus over all servers at once, checked as each thing happens. It keeps a shadow of
// every server's log (terms and hashes), of the part that is on the device, and of the promises made to others.
//
//   election safety       one leader a term; one vote a term and server, restarts included
//   leader append-only    a leader does not cut its log
//   log matching          an (index, term) names one entry with one predecessor everywhere
//   leader completeness   an entry committed in an earlier term is in the log of every later leader
//   commitment            a leader commits an entry of its own term that a quorum of the membership has on disk
//   state machine safety  all servers apply the same entry at an index
//   promise               a vote or an acknowledgement leaves only when the disk holds its promise
//   durability            everything that the device had confirmed is there after a restart
//   monotonic             term, commit and applied index never go back in one incarnation
//   reads                 a read index is at or behind everything acknowledged before the read was asked for
//   membership            committed memberships follow each other by one requested change at a time
//
// The first breach is kept and ends the run. Single-owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "kernel/raft/core/core.h"
#include "kernel/raft/log.h"

namespace drover::simulation {

struct Breach {
  std::string property;  // a constant
  std::string what;
};

class Invariants {
 public:
  explicit Invariants(int servers) : shadows_(static_cast<size_t>(servers)) {}

  bool is_broken() const { return !breach_.property.empty(); }
  const Breach& breach() const { return breach_; }
  void fail(std::string_view property, std::string what);

  void introduce(int server, raft::NodeId id);
  // True when a restarted server found less than its device had confirmed.
  bool is_behind(int server, const raft::LogState& state, raft::Index snapshot) const;
  // A server whose log was damaged goes on with this.
  void remembers(int server, const raft::HardState& found);
  // A server has read its disk. `has_lost` excuses it from durability: its disk was damaged on purpose.
  void started(int server, const raft::LogState& state, const std::vector<raft::Entry>& entries, raft::Index snapshot,
               bool has_lost);
  // The same of a server whose log is not seen: only what it says and what it applies is checked.
  void started_unseen(int server, raft::Index snapshot);
  void stopped(int server) { shadows_[static_cast<size_t>(server)].is_up = false; }
  void submitted(int server, const raft::LogWrite& write, bool is_leader);
  void written(int server, uint64_t write_seq);
  void sending(int server, const raft::Message& message);
  void leads(int server, raft::Term term);
  void stepped(int server, const raft::CoreStatus& status, const raft::Membership& membership);
  // The core hands out entries to be applied up to here.
  void may_apply(int server, raft::Index upto, bool is_leader);
  // Between two inputs whose effects are taken together.
  void committing(int server, const raft::CoreStatus& status, const raft::Membership& membership) {
    if (leads_in(server, status)) stepped(server, status, membership);
  }
  void applied(int server, const raft::Entry& entry);
  void installed(int server, raft::Index index);

  // A membership change that somebody asked for, and memberships as they are committed.
  void requested(const std::vector<raft::MemberEdit>& edits) { requests_.push_back(edits); }
  void bootstrapped(const raft::Membership& membership) { memberships_[membership.index] = membership; }

  // Clients: the largest index that was acknowledged to somebody, and a read that was asked for when it was `floor`.
  void acknowledged(raft::Index index) { acknowledged_ = std::max(acknowledged_, index); }
  raft::Index acknowledged() const { return acknowledged_; }
  void read(int server, raft::Index index, raft::Index floor);

  // For the rules of conduct:
  raft::NodeId id(int server) const { return shadows_[static_cast<size_t>(server)].id; }
  bool is_log_durable(int server) const {
    const Shadow& shadow = shadows_[static_cast<size_t>(server)];
    return shadow.durable == shadow.last();
  }
  // True when a server has the whole log of another on its disk.
  bool has_all_of(raft::NodeId holder, int server) const;
  // True when a server knows a later term: it takes nothing from this one's leader any more.
  bool is_past(raft::NodeId id, raft::Term term) const;
  bool is_of_term(int server, raft::Index index, raft::Term term) const {
    const Item* item = shadows_[static_cast<size_t>(server)].find(index);
    return item == nullptr ? index == 0 : item->term == term;
  }

  raft::Index committed() const { return std::max(committed_.size(), applied_.size()); }

 private:
  bool has_forgotten(int server, const raft::HardState& found) const;

  struct Item {
    raft::Term term = 0;
    uint64_t hash = 0;  // of type and payload
    friend bool operator==(const Item&, const Item&) = default;
  };
  struct Unwritten {
    uint64_t write_seq = 0;
    raft::Index last = 0;
    raft::HardState hard_state{};
  };
  struct Shadow {
    raft::NodeId id{};
    bool is_up = false;
    bool is_unseen = false;
    raft::Index first = 1;   // of `items`
    std::deque<Item> items;  // the log as submitted
    raft::Index durable = 0;
    raft::Index lost = 0;  // was durable up to here before its disk was damaged: others cannot know better yet
    raft::HardState submitted{};
    raft::HardState confirmed{};
    std::deque<Unwritten> unwritten;
    raft::Term leads_in = 0;
    raft::Term term = 0;
    raft::Index commit = 0;
    raft::Index applied = 0;
    std::map<raft::Term, raft::NodeId> votes;  // granted, as sent

    raft::Index last() const { return first + items.size() - 1; }
    const Item* find(raft::Index index) const {
      return index < first || index > last() ? nullptr : &items[index - first];
    }
  };
  struct Committed {
    Item item;
    raft::Term in_term = 0;  // of the leader that committed it
  };
  struct Known {
    uint64_t hash = 0;
    raft::Term former_term = 0;
  };

  // It may have committed its own end as leader: nobody else leads that term.
  bool leads_in(int server, const raft::CoreStatus& status) const {
    return status.role == raft::Role::leader || shadows_[static_cast<size_t>(server)].leads_in == status.term;
  }
  void append(int server, const raft::Entry& entry, raft::Term former_term);
  void commit(int server, raft::Index index, bool is_leader, raft::Term term, const raft::Membership& membership);
  bool has_on_disk(raft::NodeId id, raft::Index index, const Item& item) const;
  bool is_on_quorum(const raft::Membership& membership, raft::Index index, const Item& item) const;
  void check_membership(const raft::Membership& membership);
  std::string name(int server) const { return "n" + std::to_string(server); }

  Breach breach_;
  std::vector<Shadow> shadows_;
  std::map<raft::Term, int> leaders_;
  std::unordered_map<uint64_t, Known> entries_;  // by (index, term), scattered
  std::vector<Committed> committed_;             // of index 1 and on; a hole has term 0
  std::vector<Item> applied_;
  std::map<raft::Index, raft::Membership> memberships_;  // committed
  std::vector<std::vector<raft::MemberEdit>> requests_;
  raft::Index acknowledged_ = 0;
};

}  // namespace drover::simulation
