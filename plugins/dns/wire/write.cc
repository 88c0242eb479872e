#include <algorithm>
#include <map>

#include "wire/message.h"

namespace drover::dns {
namespace {

constexpr size_t kOpt = 11;             // bytes of an OPT record without options
constexpr size_t kReachable = 0x3fff;  // what a pointer can say

class Writer {
 public:
  size_t size() const { return out_.size(); }
  std::string take() { return std::move(out_); }

  void u8(uint32_t value) { out_ += static_cast<char>(value); }
  void u16(uint32_t value) {
    u8(value >> 8);
    u8(value);
  }
  void u32(uint32_t value) {
    u16(value >> 16);
    u16(value);
  }
  void text(std::string_view bytes) { out_ += bytes; }
  void put_u16(size_t at, uint32_t value) {
    out_[at] = static_cast<char>(value >> 8);
    out_[at + 1] = static_cast<char>(value);
  }

  // Ends with a pointer to where the same labels, in the same case, stand already.
  void name(const Name& name) {
    for (size_t i = 0; i < name.size(); ++i) {
      const std::string rest = key(name, i);
      if (const auto known = known_.find(rest); known != known_.end()) {
        u16(0xc000U | static_cast<uint32_t>(known->second));
        return;
      }
      if (out_.size() <= kReachable) known_.emplace(rest, out_.size());
      label(name[i]);
    }
    u8(0);
  }
  // For where no pointer may stand (RFC 2782).
  void whole_name(const Name& name) {
    for (const std::string& each : name) label(each);
    u8(0);
  }

  // Forgets what was written from there on.
  void cut(size_t at) {
    out_.resize(at);
    std::erase_if(known_, [&](const auto& each) { return each.second >= at; });
  }

 private:
  static std::string key(const Name& name, size_t from) {
    std::string out;
    for (size_t i = from; i < name.size(); ++i) out += static_cast<char>(name[i].size()) + name[i];
    return out;
  }
  void label(const std::string& label) {
    u8(static_cast<uint32_t>(label.size()));
    text(label);
  }

  std::string out_;
  std::map<std::string, size_t> known_;  // where the labels of that key begin
};

struct DataWriter {
  Writer& out;

  void operator()(const std::string& bytes) const { out.text(bytes); }
  void operator()(const Address& address) const { out.text(address.bytes); }
  void operator()(const Target& target) const { out.name(target.name); }
  void operator()(const Location& location) const {
    out.u16(location.priority);
    out.u16(location.weight);
    out.u16(location.port);
    out.whole_name(location.target);
  }
  void operator()(const Authority& authority) const {
    out.name(authority.server);
    out.name(authority.mailbox);
    for (const uint32_t each :
         {authority.serial, authority.refresh, authority.retry, authority.expire, authority.minimum})
      out.u32(each);
  }
};

void write_record(Writer& out, const Record& record) {
  out.name(record.owner);
  out.u16(record.type);
  out.u16(record.klass);
  out.u32(record.ttl);
  const size_t at = out.size();
  out.u16(0);
  std::visit(DataWriter{out}, record.data);
  out.put_u16(at, static_cast<uint32_t>(out.size() - at - 2));
}

void write_edns(Writer& out, const Edns& edns, Rcode code) {
  out.u8(0);
  out.u16(type::kOpt);
  out.u16(edns.payload);
  out.u32(static_cast<uint32_t>(code) >> 4 << 24 | static_cast<uint32_t>(edns.version) << 16 |
          (edns.wants_dnssec ? 0x8000U : 0U));
  out.u16(0);
}

uint32_t flags_of(const Message& message) {
  const auto bit = [](bool is_set, uint32_t value) { return is_set ? value : 0U; };
  return bit(message.is_response, 0x8000) | static_cast<uint32_t>(message.opcode & 0xf) << 11 |
         bit(message.is_authoritative, 0x0400) | bit(message.is_truncated, 0x0200) |
         bit(message.recursion_desired, 0x0100) | bit(message.recursion_available, 0x0080) |
         bit(message.checking_disabled, 0x0010) | (static_cast<uint32_t>(message.code) & 0xf);
}

// Returns how many of the records found room; the first that does not ends it.
size_t write_section(Writer& out, const std::vector<Record>& records, size_t limit) {
  for (size_t i = 0; i < records.size(); ++i) {
    const size_t at = out.size();
    write_record(out, records[i]);
    if (out.size() > limit) {
      out.cut(at);
      return i;
    }
  }
  return records.size();
}

}  // namespace

std::string write_message(const Message& message, size_t limit) {
  Writer out;
  const size_t room = limit - (message.edns ? kOpt : 0);
  out.u16(message.id);
  out.u16(0);
  out.u16(static_cast<uint32_t>(message.questions.size()));
  for (int i = 0; i < 3; ++i) out.u16(0);
  for (const Question& question : message.questions) {
    out.name(question.name);
    out.u16(question.type);
    out.u16(question.klass);
  }
  size_t counts[3] = {};
  counts[0] = write_section(out, message.answers, room);
  bool is_whole = counts[0] == message.answers.size();
  if (is_whole) {
    counts[1] = write_section(out, message.authorities, room);
    is_whole = counts[1] == message.authorities.size();
  }
  if (is_whole) counts[2] = write_section(out, message.additionals, room);
  if (message.edns) write_edns(out, *message.edns, message.code);
  Message header = message;
  header.is_truncated |= !is_whole;
  out.put_u16(2, flags_of(header));
  for (size_t i = 0; i < 3; ++i)
    out.put_u16(6 + 2 * i, static_cast<uint32_t>(counts[i] + (i == 2 && message.edns ? 1 : 0)));
  return out.take();
}

}  // namespace drover::dns
