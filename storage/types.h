// The words of the consensus room: indexes, terms, entries, hard state, membership. Plain values, no behaviour.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drover/uuid.h"

namespace drover::raft {

using Index = uint64_t;  // of a log entry; the first is 1, 0 is "nothing"
using Term = uint64_t;   // of leadership; the first is 1, 0 is "none yet"
using NodeId = Uuid;
using ClusterId = Uuid;

enum class EntryType : uint16_t {
  noop = 1,        // opens a term, or carries a barrier
  command = 2,     // bytes for the state machine
  membership = 3,  // an encoded Membership
};

struct Entry {
  Index index = 0;
  Term term = 0;
  EntryType type = EntryType::noop;
  std::shared_ptr<const std::string> payload;  // null means empty; shared, never copied on its way

  std::string_view bytes() const { return payload ? std::string_view(*payload) : std::string_view(); }
};

// The promises that a server must remember across a restart.
struct HardState {
  Term term = 0;
  NodeId vote;  // zero: no vote in this term

  friend bool operator==(const HardState&, const HardState&) = default;
};

enum class Suffrage : uint8_t { learner = 0, voter = 1 };

struct Member {
  NodeId id{};
  std::string address{};
  Suffrage suffrage = Suffrage::voter;

  friend bool operator==(const Member&, const Member&) = default;
};

// The members. While a joint change is under way `outgoing` holds the voters of the old half; otherwise it is empty.
struct Membership {
  Index index = 0;  // of the entry that set it; 0: none yet
  std::vector<Member> members{};
  std::vector<NodeId> outgoing{};

  friend bool operator==(const Membership&, const Membership&) = default;
};

}  // namespace drover::raft
