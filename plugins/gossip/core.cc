#include "core.h"

#include <algorithm>
#include <cmath>

#include "gossip_wire.pb.h"
#include "record.h"

namespace drover::gossip {
namespace {

constexpr size_t kOpenRelays = 256;
constexpr uint64_t kIncarnationEnd = uint64_t{1} << 62;  // a claim beyond is malformed: nobody could refute it

bool is_there(State state) { return state <= State::leaving; }

}  // namespace

std::string_view to_string(State state) {
  static constexpr std::string_view kNames[] = {"alive", "suspect", "leaving", "failed", "left"};
  return kNames[static_cast<size_t>(state)];
}

Core::Core(Options options, ServerMember self, uint64_t seed) : options_(options), self_id_(self.id), random_(seed) {
  Entry& entry = members_[self_id_];
  entry.member.info = std::move(self);
  entry.member.incarnation = 1;
  announce(entry);
}

std::vector<Member> Core::members() const {
  std::vector<Member> all;
  for (const auto& [id, entry] : members_) all.push_back(entry.member);
  return all;
}

size_t Core::live_count() const {
  return static_cast<size_t>(
      std::ranges::count_if(members_, [](const auto& each) { return is_there(each.second.member.state); }));
}

double Core::scale() const { return std::max(1.0, std::log10(static_cast<double>(live_count()) + 1)); }

v1::FullState Core::full_state() const {
  v1::FullState state;
  state.set_from(self_id_.bytes());
  for (const auto& [id, entry] : members_) *state.add_records() = to_record(entry.member);
  return state;
}

// --- what is said ----------------------------------------------------------------------------------------------------

void Core::announce(Entry& entry) {
  entry.sends_left = static_cast<int>(std::ceil(options_.retransmit_factor * scale()));
  ++version_;
}

// Fills the packet with news, the least told first.
void Core::send(v1::Packet& packet, const std::string& address) {
  std::vector<Entry*> waiting;
  for (auto& [id, entry] : members_) {
    if (entry.sends_left > 0) waiting.push_back(&entry);
  }
  std::ranges::stable_sort(waiting, std::greater<>(), &Entry::sends_left);
  size_t bytes = packet.ByteSizeLong();
  for (Entry* entry : waiting) {
    v1::Record record = to_record(entry->member);
    const size_t more = record.ByteSizeLong() + 4;
    if (bytes + more > options_.packet_bytes) break;
    bytes += more;
    --entry->sends_left;
    *packet.add_updates() = std::move(record);
  }
  packets_.push_back({address, packet.SerializeAsString()});
}

std::vector<Member> Core::pick(size_t count, const Uuid& but) {
  std::vector<Member> candidates;
  for (const auto& [id, entry] : members_) {
    if (id != self_id_ && id != but && is_there(entry.member.state)) candidates.push_back(entry.member);
  }
  std::ranges::shuffle(candidates, random_);
  if (candidates.size() > count) candidates.resize(count);
  return candidates;
}

void Core::spread() {
  const bool has_news = std::ranges::any_of(members_, [](const auto& each) { return each.second.sends_left > 0; });
  if (!has_news) return;
  for (const Member& to : pick(static_cast<size_t>(options_.fanout), self_id_)) {
    v1::Packet packet;
    send(packet, to.info.address);
  }
}

void Core::want_exchange(bool with_failed) {
  std::vector<std::string> addresses;
  for (const auto& [id, entry] : members_) {
    const State state = entry.member.state;
    if (id != self_id_ && (with_failed ? state == State::failed : is_there(state)))
      addresses.push_back(entry.member.info.address);
  }
  if (!addresses.empty()) exchanges_.push_back(addresses[random_() % addresses.size()]);
}

// --- what is heard ---------------------------------------------------------------------------------------------------

void Core::set_state(Entry& entry, State state, SteadyTime now) {
  entry.member.state = state;
  entry.member.info = from_record(to_record(entry.member))->info;  // the status follows
  entry.since = now;
  announce(entry);
}

// Another server says something of this one that it does not say itself.
void Core::refute(const v1::Record& claim) {
  Entry& self = members_.at(self_id_);
  if (self.member.state == State::left || claim.incarnation() < self.member.incarnation) return;
  if (to_record(self.member).SerializeAsString() == claim.SerializeAsString()) return;
  self.member.incarnation = claim.incarnation() + 1;
  announce(self);
}

void Core::accept(const v1::Record& record, SteadyTime now) {
  auto member = from_record(record);
  if (!member || record.incarnation() >= kIncarnationEnd) {
    ++dropped_;
    return;
  }
  if (member->info.id == self_id_) return refute(record);
  auto at = members_.find(member->info.id);
  if (at == members_.end()) {
    if (member->state == State::left) return;  // forgotten here, or never known: nothing to learn
    if (members_.size() >= options_.max_members) {
      ++dropped_;
      return;
    }
    at = members_.emplace(member->info.id, Entry()).first;
  } else if (std::pair(member->incarnation, member->state) <=
             std::pair(at->second.member.incarnation, at->second.member.state)) {
    return;
  }
  Entry& entry = at->second;
  entry.member = *std::move(member);
  entry.since = now;
  announce(entry);
}

void Core::merge(const v1::FullState& state, SteadyTime now) {
  for (const v1::Record& record : state.records()) accept(record, now);
}

void Core::receive(const v1::Packet& packet, const std::string& from_address, SteadyTime now) {
  for (const v1::Record& record : packet.updates()) accept(record, now);
  switch (packet.kind()) {
    case v1::Packet::PING: {
      if (Uuid::from_bytes(packet.target()) != self_id_) return;
      v1::Packet ack;
      ack.set_kind(v1::Packet::ACK);
      ack.set_sequence(packet.sequence());
      send(ack, from_address);
      return;
    }
    case v1::Packet::ACK: {
      if (probe_ && probe_->sequence == packet.sequence()) probe_.reset();
      if (auto relay = relays_.find(packet.sequence()); relay != relays_.end()) {
        v1::Packet ack;
        ack.set_kind(v1::Packet::ACK);
        ack.set_sequence(relay->second.their_sequence);
        send(ack, relay->second.address);
        relays_.erase(relay);
      }
      return;
    }
    case v1::Packet::PING_REQUEST: {
      // Only members are pinged for others: nobody can aim this server at a stranger.
      const auto target = members_.find(Uuid::from_bytes(packet.target()));
      if (target == members_.end() || relays_.size() >= kOpenRelays) return;
      const uint64_t own = ++sequence_;
      relays_[own] = {.their_sequence = packet.sequence(), .address = from_address, .begun = now};
      v1::Packet ping;
      ping.set_kind(v1::Packet::PING);
      ping.set_sequence(own);
      ping.set_target(packet.target());
      send(ping, target->second.member.info.address);
      return;
    }
    default:
      return;
  }
}

// --- probing ---------------------------------------------------------------------------------------------------------

void Core::probe_next(SteadyTime now) {
  while (true) {
    if (ring_.empty()) {
      for (const Member& member : pick(members_.size(), self_id_)) ring_.push_back(member.info.id);
      if (ring_.empty()) return;
    }
    const Uuid id = ring_.back();
    ring_.pop_back();
    const auto at = members_.find(id);
    if (at == members_.end() || !is_there(at->second.member.state)) continue;
    probe_ = {.target = id, .sequence = ++sequence_, .begun = now};
    v1::Packet ping;
    ping.set_kind(v1::Packet::PING);
    ping.set_sequence(probe_->sequence);
    ping.set_target(id.bytes());
    // A suspected server hears that it is suspected, however often it was told.
    if (at->second.member.state == State::suspect) *ping.add_updates() = to_record(at->second.member);
    send(ping, at->second.member.info.address);
    return;
  }
}

void Core::ask_others(const Member& target) {
  for (const Member& helper : pick(static_cast<size_t>(options_.indirect_probes), target.info.id)) {
    v1::Packet request;
    request.set_kind(v1::Packet::PING_REQUEST);
    request.set_sequence(probe_->sequence);
    request.set_target(target.info.id.bytes());
    send(request, helper.info.address);
  }
}

void Core::probe_failed(SteadyTime now) {
  const auto at = members_.find(probe_->target);
  probe_.reset();
  if (at == members_.end()) return;
  Entry& entry = at->second;
  if (entry.member.state == State::alive) set_state(entry, State::suspect, now);
  if (entry.member.state == State::leaving) set_state(entry, State::left, now);
}

void Core::age(SteadyTime now) {
  const auto patience = std::chrono::duration_cast<std::chrono::nanoseconds>(options_.probe_interval *
                                                                             (options_.suspicion_factor * scale()));
  for (auto at = members_.begin(); at != members_.end();) {
    Entry& entry = at->second;
    const auto age = now - entry.since;
    const State state = entry.member.state;
    if (at->first == self_id_) {
      ++at;
      continue;
    }
    if (state == State::suspect && age >= patience) {
      set_state(entry, State::failed, now);
    } else if (state == State::failed && age >= options_.tombstone_time) {
      set_state(entry, State::left, now);
    } else if (state == State::left && age >= options_.tombstone_time) {
      at = members_.erase(at);
      ++version_;
      continue;
    }
    ++at;
  }
  std::erase_if(relays_, [&](const auto& each) { return now - each.second.begun > 2 * options_.probe_interval; });
}

void Core::tick(SteadyTime now) {
  const bool is_first = next_probe_ == SteadyTime();
  if (is_first) {
    next_probe_ = now + options_.probe_interval;
    next_exchange_ = now + options_.exchange_interval;
    next_reconnect_ = now + options_.reconnect_interval;
  }
  if (probe_ && !probe_->is_indirect && now - probe_->begun >= options_.probe_timeout) {
    probe_->is_indirect = true;
    if (const auto at = members_.find(probe_->target); at != members_.end()) ask_others(at->second.member);
  }
  if (now >= next_probe_) {
    if (probe_) probe_failed(now);
    probe_next(now);
    next_probe_ = now + options_.probe_interval;
  }
  age(now);
  if (now >= next_gossip_) {
    spread();
    next_gossip_ = now + options_.gossip_interval;
  }
  if (now >= next_exchange_) {
    want_exchange(false);
    next_exchange_ = now + options_.exchange_interval;
  }
  if (now >= next_reconnect_) {
    want_exchange(true);
    next_reconnect_ = now + options_.reconnect_interval;
  }
}

// --- what this server decides ----------------------------------------------------------------------------------------

void Core::update_self(Uuid cluster_id, uint64_t proposal) {
  Entry& self = members_.at(self_id_);
  if (self.member.info.cluster_id == cluster_id && self.member.proposal == proposal) return;
  self.member.info.cluster_id = cluster_id;
  self.member.proposal = proposal;
  ++self.member.incarnation;
  announce(self);
}

void Core::leave() {
  Entry& self = members_.at(self_id_);
  if (self.member.state != State::alive) return;
  ++self.member.incarnation;
  set_state(self, State::leaving, self.since);
}

void Core::left() {
  Entry& self = members_.at(self_id_);
  set_state(self, State::left, self.since);
}

bool Core::force_leave(std::string_view name, SteadyTime now) {
  bool is_known = false;
  for (auto& [id, entry] : members_) {
    const ServerMember& info = entry.member.info;
    if (info.name != name && info.name + "." + info.region != name && id.to_string() != name) continue;
    is_known = true;
    if (id != self_id_ && entry.member.state != State::left) set_state(entry, State::left, now);
  }
  return is_known;
}

}  // namespace drover::gossip
