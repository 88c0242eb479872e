// Messages of the DNS (RFC 1035 §4, EDNS of RFC 6891): read from the bytes of strangers, and written within a limit.
// Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "drover/result.h"
#include "wire/name.h"

namespace drover::dns {

// Numbers of the registry of the DNS, as far as they mean something here.
namespace type {
inline constexpr uint16_t kA = 1, kNs = 2, kCname = 5, kSoa = 6, kAaaa = 28, kSrv = 33, kOpt = 41, kIxfr = 251,
                          kAxfr = 252, kAny = 255;
}
inline constexpr uint16_t kInternet = 1;  // the class IN
inline constexpr uint8_t kQuery = 0;      // the opcode
enum class Rcode : uint16_t {
  no_error = 0,
  form_error = 1,
  server_failure = 2,
  name_error = 3,
  not_implemented = 4,
  refused = 5,
  bad_version = 16,  // of EDNS; its upper bits travel in the OPT record
};
std::string_view to_string(Rcode code);  // "NXDOMAIN"

struct Address {
  std::string bytes;  // 4 or 16, as on the wire

  bool is_v6() const { return bytes.size() == 16; }
  auto operator<=>(const Address&) const = default;
};
// Nothing for a text that is no IP address, and for one with a zone ("fe80::1%eth0"), which means nothing elsewhere.
std::optional<Address> parse_address(std::string_view text);
std::string to_string(const Address& address);

struct Question {
  Name name;
  uint16_t type = 0;
  uint16_t klass = kInternet;
};

struct Target {  // CNAME and NS
  Name name;
};
struct Location {  // SRV
  uint16_t priority = 0, weight = 0, port = 0;
  Name target;
};
struct Authority {  // SOA
  Name server, mailbox;
  uint32_t serial = 0, refresh = 0, retry = 0, expire = 0, minimum = 0;
};
// The content of a record; the bytes of types that are not read here.
using Data = std::variant<std::string, Address, Target, Location, Authority>;

struct Record {
  Name owner;
  uint16_t type = 0;
  uint32_t ttl = 0;  // seconds
  Data data;
  uint16_t klass = kInternet;
};

struct Edns {
  uint16_t payload = 512;  // the bytes of a datagram that its sender takes
  uint8_t version = 0;
  bool wants_dnssec = false;
};

struct Message {
  uint16_t id = 0;
  bool is_response = false;
  uint8_t opcode = kQuery;
  bool is_authoritative = false;
  bool is_truncated = false;
  bool recursion_desired = false;
  bool recursion_available = false;
  bool checking_disabled = false;
  Rcode code = Rcode::no_error;
  std::vector<Question> questions;
  std::vector<Record> answers, authorities, additionals;  // without OPT
  std::optional<Edns> edns;
};

// Sections empty. Nothing where there are fewer bytes than a header has.
std::optional<Message> read_header(std::string_view bytes);
// Errors: invalid_argument, for bytes that are no message, that go on behind it, or that have more than one OPT record.
Result<Message> read_message(std::string_view bytes);

// As many records as find room, whole: where answers or authorities are left out the message says that it is truncated.
// Requires: 512 <= limit <= 65535, at most one question, names that read_message or parse_name gave.
std::string write_message(const Message& message, size_t limit);

}  // namespace drover::dns
