#include <algorithm>
#include <random>
#include <set>

#include "zone/zone.h"

namespace drover::dns {
namespace {

using Kind = Wanted::Kind;

constexpr uint16_t kPayload = 1232;  // bytes: through every network without fragments
constexpr size_t kLeast = 512;       // bytes that everybody takes (RFC 1035)

Message begin_answer(const Message& query) {
  Message answer;
  answer.id = query.id;
  answer.is_response = true;
  answer.opcode = query.opcode;
  answer.recursion_desired = query.recursion_desired;
  answer.checking_disabled = query.checking_disabled;
  if (query.questions.size() == 1) answer.questions = query.questions;
  if (query.edns) answer.edns = Edns{.payload = kPayload, .version = 0, .wants_dnssec = query.edns->wants_dnssec};
  return answer;
}

Name below(Name name, const Zone& zone) {
  name.insert(name.end(), zone.origin.begin(), zone.origin.end());
  return name;
}

Record authority_of(const Zone& zone, uint32_t ttl) {
  return {.owner = zone.origin,
          .type = type::kSoa,
          .ttl = ttl,
          .data = Authority{.server = below({"dns"}, zone),
                            .mailbox = below({"hostmaster"}, zone),
                            .serial = 1,
                            .refresh = 3600,
                            .retry = 600,
                            .expire = 86400,
                            .minimum = zone.negative_ttl}};
}

// The answer while it is made.
struct Answer {
  Answer(const Message& query, const Zone& its_zone) : zone(its_zone), message(begin_answer(query)) {
    message.is_authoritative = true;
  }

  const Question& question() const { return message.questions.front(); }
  bool asks_for(uint16_t type) const { return question().type == type || question().type == type::kAny; }
  void add(uint16_t type, Data data) {
    message.answers.push_back({.owner = question().name, .type = type, .ttl = zone.ttl, .data = std::move(data)});
  }
  void add(const Address& address) {
    const uint16_t type = address.is_v6() ? type::kAaaa : type::kA;
    if (asks_for(type)) add(type, address);
  }
  // Where there are no records it says for how long that holds.
  Message take(Rcode code = Rcode::no_error) {
    message.code = code;
    if (message.answers.empty()) message.authorities.push_back(authority_of(zone, zone.negative_ttl));
    return std::move(message);
  }

  const Zone& zone;
  Message message;
};

// Errors of the query itself.
std::optional<Rcode> fault_of(const Message& query) {
  if (query.opcode != kQuery) return Rcode::not_implemented;
  if (query.questions.size() != 1) return Rcode::form_error;
  if (query.edns && query.edns->version > 0) return Rcode::bad_version;
  const Question& question = query.questions.front();
  if (question.klass != kInternet || question.type == type::kAxfr || question.type == type::kIxfr)
    return Rcode::refused;
  return std::nullopt;
}

Message answer_domain(Answer answer) {
  const Zone& zone = answer.zone;
  if (answer.asks_for(type::kSoa)) answer.message.answers.push_back(authority_of(zone, zone.negative_ttl));
  if (answer.asks_for(type::kNs)) answer.add(type::kNs, Target{below({"dns"}, zone)});
  return answer.take();
}

bool is_of_alloc(const Instance& instance, std::string_view id) {
  return instance.alloc_id == id || (id.size() == 8 && std::string_view(instance.alloc_id).substr(0, 8) == id);
}

bool is_wanted(const Instance& instance, const Wanted& wanted) {
  if (!wanted.datacenter.empty() && instance.datacenter != wanted.datacenter) return false;
  return wanted.tag.empty() || std::ranges::find(instance.tags, wanted.tag) != instance.tags.end() ||
         is_of_alloc(instance, wanted.tag);
}

std::string hex(const Address& address) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : address.bytes) {
    const auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 0xf];
  }
  return out;
}

using Chosen = std::vector<const Instance*>;

// Addresses of one type, each once. Those of both count together where both are asked for.
void add_addresses(Answer& answer, const Chosen& chosen) {
  std::set<Address> seen;
  const Name* elsewhere = nullptr;
  for (const Instance* instance : chosen) {
    const auto* address = std::get_if<Address>(&instance->address);
    if (!address) {
      if (!elsewhere) elsewhere = &std::get<Name>(instance->address);
    } else if (seen.insert(*address).second && answer.message.answers.size() < answer.zone.max_answers) {
      answer.add(*address);
    }
  }
  // Beside another name nothing may stand, and only one.
  const bool asks = answer.asks_for(type::kA) || answer.asks_for(type::kAaaa) || answer.asks_for(type::kCname);
  if (seen.empty() && elsewhere && asks) answer.add(type::kCname, Target{*elsewhere});
}

void add_locations(Answer& answer, const Chosen& chosen) {
  std::set<std::pair<Name, uint16_t>> seen;
  std::set<Address> told;
  const Zone& zone = answer.zone;
  for (const Instance* instance : chosen) {
    if (seen.size() == zone.max_answers) break;
    if (instance->port == 0) continue;
    const auto* address = std::get_if<Address>(&instance->address);
    const Name target = address ? below({hex(*address), "addr"}, zone) : std::get<Name>(instance->address);
    if (!seen.emplace(target, instance->port).second) continue;
    answer.add(type::kSrv, Location{.priority = 1, .weight = 1, .port = instance->port, .target = target});
    if (address && told.insert(*address).second) {
      answer.message.additionals.push_back({.owner = target,
                                            .type = address->is_v6() ? type::kAaaa : type::kA,
                                            .ttl = zone.ttl,
                                            .data = *address});
    }
  }
}

}  // namespace

Message answer_error(const Message& query, Rcode code) {
  Message answer = begin_answer(query);
  answer.code = code;
  return answer;
}

size_t datagram_limit(const Message& query) {
  if (!query.edns) return kLeast;
  return std::clamp<size_t>(query.edns->payload, kLeast, kPayload);
}

std::optional<Message> answer_at_once(const Message& query, const Zone& zone, Wanted& wanted) {
  if (const auto fault = fault_of(query)) return answer_error(query, *fault);
  wanted = locate(query.questions.front().name, zone);
  if (wanted.kind == Kind::outside) return answer_error(query, Rcode::refused);
  Answer answer(query, zone);
  switch (wanted.kind) {
    case Kind::service:
      return std::nullopt;
    case Kind::domain:
      return answer_domain(std::move(answer));
    case Kind::address:
      answer.add(wanted.address);
      break;
    case Kind::server:
      for (const Address& address : zone.servers) answer.add(address);
      break;
    case Kind::nothing:
      return answer.take(Rcode::name_error);
    case Kind::branch:
    case Kind::outside:
      break;
  }
  return answer.take();
}

Message answer_service(const Message& query, const Wanted& wanted, const Found& found, const Zone& zone,
                       uint64_t seed) {
  if (found.state == Found::State::away) return answer_error(query, Rcode::server_failure);
  if (found.state == Found::State::refused) return answer_error(query, Rcode::refused);
  Answer answer(query, zone);
  Chosen chosen;
  bool is_there = false;
  for (const Instance& instance : found.instances) {
    if (!is_wanted(instance, wanted)) continue;
    is_there = true;
    if (!instance.is_critical) chosen.push_back(&instance);
  }
  if (!is_there) return answer.take(Rcode::name_error);
  std::mt19937_64 random(seed);
  std::ranges::shuffle(chosen, random);
  if (answer.question().type == type::kSrv) {
    add_locations(answer, chosen);
  } else {
    add_addresses(answer, chosen);
  }
  return answer.take();
}

}  // namespace drover::dns
