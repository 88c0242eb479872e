// The names of one domain, and what is answered about them. Pure.
//
//   [TAG.|ALLOC.]NAME.service[.NAMESPACE.ns][.DC.dc].DOMAIN    A, AAAA, SRV: the instances of a service
//   _NAME._TAG.service[…].DOMAIN                               the same (RFC 2782); _tcp and _udp stand for any tag
//   HEX.addr.DOMAIN                                            A or AAAA: that address; targets of SRV are such names
//   dns.DOMAIN                                                 A, AAAA: this server
//   DOMAIN                                                     SOA, NS
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "wire/message.h"

namespace drover::dns {

struct Zone {
  Name origin;
  uint32_t ttl = 0, negative_ttl = 0;  // seconds
  size_t max_answers = 0;
  std::vector<Address> servers;  // where this server listens
};

// The parts of a name, all in small letters.
struct Wanted {
  enum class Kind : uint8_t {
    outside,  // of the domain
    nothing,  // no such name can be
    branch,   // nothing by itself, but names are below
    domain,
    server,
    address,
    service,
  };
  Kind kind = Kind::nothing;
  Address address = {};
  std::string name = {};
  std::string name_space = "default";
  std::string datacenter = {};  // empty: all
  std::string tag = {};         // or an allocation, by its identifier or the first eight digits of it; empty: all
};
Wanted locate(const Name& asked, const Zone& zone);

// Where an instance of a service is.
struct Instance {
  std::string alloc_id;                // as text
  std::variant<Address, Name> address;  // or a host name that others know
  uint16_t port = 0;                   // 0: none
  std::string datacenter;              // small letters, as the tags
  std::vector<std::string> tags;
  bool is_critical = false;  // by its checks: nobody is sent there
};

// The instances of a service, as far as they are known.
struct Found {
  enum class State : uint8_t {
    known,    // these instances, or none
    away,     // the servers have not answered for too long
    refused,  // the agent may not know
  };
  State state = State::known;
  std::vector<Instance> instances = {};
};

// The answer to a query that needs no look at services: one that is refused or wrong, or about another name. `wanted`
// is filled in where there is nothing.
std::optional<Message> answer_at_once(const Message& query, const Zone& zone, Wanted& wanted);
// The answer about a service. `seed`: the order of its instances, and which of them where there are too many.
// Requires: answer_at_once had none.
Message answer_service(const Message& query, const Wanted& wanted, const Found& found, const Zone& zone,
                       uint64_t seed);
// An answer without records. Whatever is in the query but its header may be missing.
Message answer_error(const Message& query, Rcode code);
// The bytes that an answer to this query may have over UDP.
size_t datagram_limit(const Message& query);

}  // namespace drover::dns
