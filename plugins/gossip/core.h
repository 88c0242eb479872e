// The servers that are there: SWIM's failure detection and dissemination, without clock, thread or I/O.
//
// A server is probed in turn: a ping, then pings by way of others, then it is suspected. A suspected server that hears
// of it says so with a new incarnation; one that does not is failed after a while. Changes travel with every packet, a
// bounded number of times, and full states are exchanged now and then.
//
//              no answer            not refuted in time
//     alive ───────────────▶ suspect ────────────────▶ failed ──a day, or force_leave──▶ left ──a day──▶ forgotten
//       │ leave                                                                            ▲
//       └──────────────▶ leaving ────────────done, or no answer─────────────────────────────┘
//
// Records are ordered by (incarnation, state), and merging keeps the greater one: servers that exchange their states
// agree, whatever the order. (Das, Gupta, Motivala: SWIM, 2002.)
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "drover/clock.h"
#include "drover/server_directory.h"
#include "drover/uuid.h"

namespace drover::gossip {

namespace v1 {
class FullState;
class Packet;
class Record;
}  // namespace v1

enum class State : uint8_t { alive, suspect, leaving, failed, left };
std::string_view to_string(State state);

// One server as this one knows it.
struct Member {
  ServerMember info;  // its status follows from `state`
  State state = State::alive;
  uint64_t incarnation = 0;
  uint64_t proposal = 0;  // plugins/gossip/bootstrap.h
};

struct Options {
  std::chrono::nanoseconds probe_interval = std::chrono::seconds(1);
  std::chrono::nanoseconds probe_timeout = std::chrono::milliseconds(500);  // then others are asked to try
  std::chrono::nanoseconds gossip_interval = std::chrono::milliseconds(200);
  std::chrono::nanoseconds exchange_interval = std::chrono::seconds(10);   // of full states, with somebody alive
  std::chrono::nanoseconds reconnect_interval = std::chrono::seconds(10);  // of full states, with somebody failed
  std::chrono::nanoseconds tombstone_time = std::chrono::hours(24);
  int indirect_probes = 3;
  int fanout = 3;
  int suspicion_factor = 4;   // probe intervals, times the logarithm of the number of servers
  int retransmit_factor = 4;  // sends of one update, times that logarithm
  size_t packet_bytes = 1300;
  size_t max_members = 4096;
};

class Core {
 public:
  struct Outgoing {
    std::string address;
    std::string packet;  // a serialized v1::Packet
  };

  // `self` with its addresses; `seed` decides the order of probes.
  Core(Options options, ServerMember self, uint64_t seed);

  // The inputs. Time does not go back.
  void tick(SteadyTime now);
  void receive(const v1::Packet& packet, const std::string& from_address, SteadyTime now);
  void merge(const v1::FullState& state, SteadyTime now);
  // Changes what this server says of itself.
  void update_self(Uuid cluster_id, uint64_t proposal);
  void leave();  // leaving
  void left();   // over: nothing is refuted any more
  // False when nobody of that name is known. A live server will object.
  bool force_leave(std::string_view name, SteadyTime now);

  v1::FullState full_state() const;
  std::vector<Outgoing> take_packets() { return std::exchange(packets_, {}); }
  // Addresses of servers with which a full state should be exchanged now.
  std::vector<std::string> take_exchanges() { return std::exchange(exchanges_, {}); }
  // Changes whenever a member does.
  uint64_t version() const { return version_; }

  const Member& self() const { return members_.at(self_id_).member; }
  std::vector<Member> members() const;  // by identifier
  size_t live_count() const;
  uint64_t dropped_records() const { return dropped_; }  // more members than there may be, or malformed ones

 private:
  struct Entry {
    Member member;
    SteadyTime since{};  // of the state
    int sends_left = 0;  // of its newest record
  };
  struct Probe {
    Uuid target;
    uint64_t sequence = 0;
    SteadyTime begun{};
    bool is_indirect = false;
  };
  struct Relay {  // a ping made for somebody else
    uint64_t their_sequence = 0;
    std::string address;
    SteadyTime begun{};
  };

  void accept(const v1::Record& record, SteadyTime now);
  void refute(const v1::Record& claim);
  void set_state(Entry& entry, State state, SteadyTime now);
  void announce(Entry& entry);
  void probe_next(SteadyTime now);
  void probe_failed(SteadyTime now);
  void ask_others(const Member& target);
  void age(SteadyTime now);
  void spread();
  void want_exchange(bool with_failed);
  void send(v1::Packet& packet, const std::string& address);
  double scale() const;
  std::vector<Member> pick(size_t count, const Uuid& but);

  const Options options_;
  const Uuid self_id_;
  std::mt19937_64 random_;
  std::map<Uuid, Entry> members_;  // this server among them
  std::vector<Uuid> ring_;         // still to be probed in this round
  std::optional<Probe> probe_;
  std::map<uint64_t, Relay> relays_;
  uint64_t sequence_ = 0;
  SteadyTime next_probe_{}, next_gossip_{}, next_exchange_{}, next_reconnect_{};
  std::vector<Outgoing> packets_;
  std::vector<std::string> exchanges_;
  uint64_t version_ = 0;
  uint64_t dropped_ = 0;
};

}  // namespace drover::gossip
