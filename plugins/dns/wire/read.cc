#include <arpa/inet.h>

#include <algorithm>

#include "wire/message.h"

namespace drover::dns {
namespace {

constexpr size_t kHeader = 12;

// Every step says whether it was there; nothing is read behind the end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}
  size_t at() const { return at_; }
  bool is_over() const { return at_ == bytes_.size(); }

  bool u8(uint8_t& out) {
    if (at_ >= bytes_.size()) return false;
    out = byte(at_++);
    return true;
  }
  bool u16(uint16_t& out) {
    uint8_t high = 0, low = 0;
    if (!u8(high) || !u8(low)) return false;
    out = static_cast<uint16_t>(high << 8 | low);
    return true;
  }
  bool u32(uint32_t& out) {
    uint16_t high = 0, low = 0;
    if (!u16(high) || !u16(low)) return false;
    out = static_cast<uint32_t>(high) << 16 | low;
    return true;
  }
  bool text(size_t size, std::string& out) {
    if (size > bytes_.size() - at_) return false;
    out = bytes_.substr(at_, size);
    at_ += size;
    return true;
  }

  // A pointer leads to a place before the labels that it stands behind: each one goes further back, so there is an end.
  bool name(Name& out) {
    size_t at = at_, begin = at_, size = 1;
    bool has_jumped = false;
    for (out.clear();;) {
      if (at >= bytes_.size()) return false;
      const size_t length = byte(at++);
      if (length >= 0xc0) {
        if (at >= bytes_.size()) return false;
        const size_t target = (length & 0x3f) << 8 | byte(at++);
        if (target >= begin) return false;
        if (!std::exchange(has_jumped, true)) at_ = at;
        begin = at = target;
        continue;
      }
      if (length > kMaxLabel) return false;
      if (length == 0) break;
      size += length + 1;
      if (size > kMaxName || length > bytes_.size() - at) return false;
      out.emplace_back(bytes_.substr(at, length));
      at += length;
    }
    if (!has_jumped) at_ = at;
    return true;
  }

 private:
  uint8_t byte(size_t at) const { return static_cast<uint8_t>(bytes_[at]); }

  const std::string_view bytes_;
  size_t at_ = 0;
};

bool read_location(Reader& in, Data& data) {
  Location out;
  if (!in.u16(out.priority) || !in.u16(out.weight) || !in.u16(out.port) || !in.name(out.target)) return false;
  data = std::move(out);
  return true;
}

bool read_authority(Reader& in, Data& data) {
  Authority out;
  const bool is_good = in.name(out.server) && in.name(out.mailbox) && in.u32(out.serial) && in.u32(out.refresh) &&
                       in.u32(out.retry) && in.u32(out.expire) && in.u32(out.minimum);
  data = std::move(out);
  return is_good;
}

bool read_data(Reader& in, uint16_t type, uint16_t size, Data& data) {
  const size_t end = in.at() + size;
  std::string bytes;
  Target target;
  switch (type) {
    case type::kCname:
    case type::kNs:
      if (!in.name(target.name)) return false;
      data = std::move(target);
      return in.at() == end;
    case type::kSrv:
      return read_location(in, data) && in.at() == end;
    case type::kSoa:
      return read_authority(in, data) && in.at() == end;
    default:
      if (!in.text(size, bytes)) return false;
  }
  const bool is_address = (type == type::kA && size == 4) || (type == type::kAaaa && size == 16);
  if ((type == type::kA || type == type::kAaaa) && !is_address) return false;
  if (is_address) {
    data = Address{std::move(bytes)};
  } else {
    data = std::move(bytes);
  }
  return true;
}

bool read_record(Reader& in, Record& out) {
  uint16_t size = 0;
  return in.name(out.owner) && in.u16(out.type) && in.u16(out.klass) && in.u32(out.ttl) && in.u16(size) &&
         read_data(in, out.type, size, out.data);
}

// The OPT record keeps in its class and TTL what it says.
bool take_edns(const Record& record, Message& message) {
  if (message.edns || !record.owner.empty()) return false;
  message.edns = Edns{.payload = record.klass,
                      .version = static_cast<uint8_t>(record.ttl >> 16),
                      .wants_dnssec = (record.ttl & 0x8000) != 0};
  const uint32_t upper = record.ttl >> 24;
  message.code = static_cast<Rcode>(static_cast<uint32_t>(message.code) | upper << 4);
  return true;
}

bool read_section(Reader& in, uint16_t count, bool may_have_edns, std::vector<Record>& out, Message& message) {
  for (; count > 0; --count) {
    Record record;
    if (!read_record(in, record)) return false;
    if (record.type != type::kOpt) {
      out.push_back(std::move(record));
    } else if (!may_have_edns || !take_edns(record, message)) {
      return false;
    }
  }
  return true;
}

Message header_of(uint16_t id, uint16_t flags) {
  return {.id = id,
          .is_response = (flags & 0x8000) != 0,
          .opcode = static_cast<uint8_t>(flags >> 11 & 0xf),
          .is_authoritative = (flags & 0x0400) != 0,
          .is_truncated = (flags & 0x0200) != 0,
          .recursion_desired = (flags & 0x0100) != 0,
          .recursion_available = (flags & 0x0080) != 0,
          .checking_disabled = (flags & 0x0010) != 0,
          .code = static_cast<Rcode>(flags & 0xf),
          .questions = {},
          .answers = {},
          .authorities = {},
          .additionals = {},
          .edns = {}};
}

}  // namespace

std::optional<Message> read_header(std::string_view bytes) {
  Reader in(bytes);
  uint16_t id = 0, flags = 0;
  if (bytes.size() < kHeader || !in.u16(id) || !in.u16(flags)) return std::nullopt;
  return header_of(id, flags);
}

Result<Message> read_message(std::string_view bytes) {
  const Status refused = invalid_argument("not a message of the DNS");
  Reader in(bytes);
  uint16_t id = 0, flags = 0, questions = 0, answers = 0, authorities = 0, additionals = 0;
  if (!in.u16(id) || !in.u16(flags) || !in.u16(questions) || !in.u16(answers) || !in.u16(authorities) ||
      !in.u16(additionals))
    return refused;
  Message message = header_of(id, flags);
  for (; questions > 0; --questions) {
    Question& question = message.questions.emplace_back();
    if (!in.name(question.name) || !in.u16(question.type) || !in.u16(question.klass)) return refused;
  }
  if (!read_section(in, answers, false, message.answers, message) ||
      !read_section(in, authorities, false, message.authorities, message) ||
      !read_section(in, additionals, true, message.additionals, message) || !in.is_over())
    return refused;
  return message;
}

std::optional<Address> parse_address(std::string_view text) {
  const std::string copy(text);
  Address out{std::string(text.find(':') == std::string_view::npos ? 4 : 16, '\0')};
  if (::inet_pton(out.is_v6() ? AF_INET6 : AF_INET, copy.c_str(), out.bytes.data()) != 1) return std::nullopt;
  return out;
}

std::string to_string(const Address& address) {
  char text[INET6_ADDRSTRLEN] = {};
  ::inet_ntop(address.is_v6() ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

std::string_view to_string(Rcode code) {
  switch (code) {
    case Rcode::no_error:
      return "NOERROR";
    case Rcode::form_error:
      return "FORMERR";
    case Rcode::server_failure:
      return "SERVFAIL";
    case Rcode::name_error:
      return "NXDOMAIN";
    case Rcode::not_implemented:
      return "NOTIMP";
    case Rcode::refused:
      return "REFUSED";
    case Rcode::bad_version:
      return "BADVERS";
  }
  return "OTHER";
}

}  // namespace drover::dns
