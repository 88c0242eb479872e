#include "kernel/raft/message_codec.h"

#include <sstream>
#include <utility>

#include "storage/segment_format.h"

namespace drover::raft {
namespace {

constexpr size_t kMessageBytes = 80;  // version, type, flags, length, entry count, nine numbers
constexpr size_t kChunkBytes = 56;
constexpr size_t kAckBytes = 32;
constexpr size_t kHelloBytes = 64;
constexpr char kSeparator = '\n';                             // between the address and the commands of a greeting
constexpr uint8_t kRefused = 1, kTransfer = 2, kDamaged = 4;  // flags of a message
constexpr uint8_t kChunk = 1, kAck = 2;                       // types of a bulk message
constexpr uint8_t kDone = 1, kAckRefused = 2;                 // flags of an ack

// Fixed-width numbers one after the other.
class Writer {
 public:
  Writer(size_t size, uint8_t type, uint8_t flags) : bytes_(size, '\0') {
    bytes_[0] = static_cast<char>(kPeerProtocol);
    bytes_[1] = static_cast<char>(type);
    bytes_[2] = static_cast<char>(flags);
    put<uint16_t>(bytes_.data() + 4, static_cast<uint16_t>(size));
  }
  void number(uint64_t value) {
    put<uint64_t>(bytes_.data() + at_, value);
    at_ += 8;
  }
  void id(const Uuid& value) {
    bytes_.replace(at_, 16, value.bytes());
    at_ += 16;
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  size_t at_ = 8;
};

class Reader {
 public:
  // Nothing when the bytes are shorter than they say, or than this version's fixed part.
  static Result<Reader> open(std::string_view bytes, size_t fixed, std::string_view what) {
    if (bytes.size() < 8) return invalid_argument(std::string(what) + " is cut short");
    const uint16_t size = get<uint16_t>(bytes.data() + 4);
    if (size < fixed || size > bytes.size()) return invalid_argument(std::string(what) + " is cut short");
    return Reader(bytes, size);
  }
  uint8_t type() const { return static_cast<uint8_t>(bytes_[1]); }
  uint8_t flags() const { return static_cast<uint8_t>(bytes_[2]); }
  uint8_t version() const { return static_cast<uint8_t>(bytes_[0]); }
  uint64_t number() {
    at_ += 8;
    return get<uint64_t>(bytes_.data() + at_ - 8);
  }
  Uuid id() {
    at_ += 16;
    return Uuid::from_bytes(bytes_.substr(at_ - 16, 16));
  }
  std::string_view rest() const { return bytes_.substr(size_); }

 private:
  Reader(std::string_view bytes, size_t size) : bytes_(bytes), size_(size) {}
  std::string_view bytes_;
  size_t size_ = 0;
  size_t at_ = 8;
};

}  // namespace

std::string encode_message(const Message& message) {
  const uint8_t flags =
      (message.is_refused ? kRefused : 0) | (message.is_transfer ? kTransfer : 0) | (message.is_damaged ? kDamaged : 0);
  Writer writer(kMessageBytes, static_cast<uint8_t>(message.type), flags);
  writer.number(message.entries.size());
  for (uint64_t value : {message.term, message.log_index, message.log_term, message.commit, message.last_index,
                         message.conflict_term, message.conflict_first, message.round}) {
    writer.number(value);
  }
  std::string bytes = writer.take();
  size_t size = bytes.size();
  for (const Entry& entry : message.entries) size += entry_bytes(entry);
  size_t at = bytes.size();
  bytes.resize(size);
  for (const Entry& entry : message.entries) {
    encode_entry(entry, bytes.data() + at);
    at += entry_bytes(entry);
  }
  return bytes;
}

Result<Message> decode_message(std::string_view bytes, NodeId from, NodeId to) {
  DROVER_TRY(Reader reader, Reader::open(bytes, kMessageBytes, "a message"));
  if (reader.type() < static_cast<uint8_t>(MessageType::pre_vote) ||
      reader.type() > static_cast<uint8_t>(MessageType::read_index_answer)) {
    return invalid_argument("a message of type " + std::to_string(reader.type()) + ", which nobody knows here");
  }
  Message message{.type = static_cast<MessageType>(reader.type()), .from = from, .to = to};
  message.is_refused = (reader.flags() & kRefused) != 0;
  message.is_transfer = (reader.flags() & kTransfer) != 0;
  message.is_damaged = (reader.flags() & kDamaged) != 0;
  const uint64_t count = reader.number();
  for (uint64_t* value : {&message.term, &message.log_index, &message.log_term, &message.commit, &message.last_index,
                          &message.conflict_term, &message.conflict_first, &message.round}) {
    *value = reader.number();
  }
  std::string_view rest = reader.rest();
  if (count > rest.size() / kEntryHeaderBytes) return invalid_argument("a message with fewer entries than it says");
  message.entries.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    uint32_t crc = 0;
    std::optional<Entry> entry = decode_entry(rest, crc);
    if (!entry) return invalid_argument("a message with a damaged entry");
    message.entries.push_back(*std::move(entry));
  }
  if (!rest.empty()) return invalid_argument("a message with bytes behind its entries");
  return message;
}

std::string encode_bulk(const BulkMessage& message) {
  if (const auto* ack = std::get_if<SnapshotAck>(&message)) {
    const uint8_t flags = (ack->is_done ? kDone : 0) | (ack->is_refused ? kAckRefused : 0);
    Writer writer(kAckBytes, kAck, flags);
    for (uint64_t value : {ack->index, ack->term, ack->offset}) writer.number(value);
    return writer.take();
  }
  const auto& chunk = std::get<SnapshotChunk>(message);
  Writer writer(kChunkBytes, kChunk, 0);
  for (uint64_t value :
       {chunk.leader_term, chunk.index, chunk.term, chunk.manifest_bytes, chunk.total_bytes, chunk.offset}) {
    writer.number(value);
  }
  return writer.take() + chunk.bytes;
}

Result<BulkMessage> decode_bulk(std::string_view bytes, NodeId from, NodeId to) {
  DROVER_TRY(Reader reader, Reader::open(bytes, kAckBytes, "a snapshot message"));
  if (reader.type() == kAck) {
    SnapshotAck ack{.from = from, .to = to};
    for (uint64_t* value : {&ack.index, &ack.term, &ack.offset}) *value = reader.number();
    ack.is_done = (reader.flags() & kDone) != 0;
    ack.is_refused = (reader.flags() & kAckRefused) != 0;
    return BulkMessage(ack);
  }
  if (reader.type() != kChunk) return invalid_argument("a snapshot message of a type that nobody knows here");
  DROVER_TRY(reader, Reader::open(bytes, kChunkBytes, "a snapshot chunk"));
  SnapshotChunk chunk{.from = from, .to = to};
  for (uint64_t* value :
       {&chunk.leader_term, &chunk.index, &chunk.term, &chunk.manifest_bytes, &chunk.total_bytes, &chunk.offset}) {
    *value = reader.number();
  }
  chunk.bytes = reader.rest();
  return BulkMessage(std::move(chunk));
}

std::string encode_hello(const PeerHello& hello) {
  Writer writer(kHelloBytes, static_cast<uint8_t>(hello.lane), 0);
  writer.id(hello.cluster);
  writer.id(hello.from);
  writer.id(hello.to);
  writer.number(hello.incarnation);
  std::string text = hello.address;
  for (const std::string& command : hello.commands) text.append(1, kSeparator).append(command);
  return writer.take() + text;
}

Result<PeerHello> decode_hello(std::string_view bytes) {
  DROVER_TRY(Reader reader, Reader::open(bytes, kHelloBytes, "a greeting between servers"));
  PeerHello hello{.protocol = reader.version(), .lane = static_cast<PeerHello::Lane>(reader.type())};
  if (reader.type() < static_cast<uint8_t>(PeerHello::Lane::control) ||
      reader.type() > static_cast<uint8_t>(PeerHello::Lane::bulk)) {
    return invalid_argument("a greeting for a lane that nobody knows here");
  }
  hello.cluster = reader.id();
  hello.from = reader.id();
  hello.to = reader.id();
  hello.incarnation = reader.number();
  std::istringstream rest{std::string(reader.rest())};
  std::getline(rest, hello.address, kSeparator);
  for (std::string command; std::getline(rest, command, kSeparator);) hello.commands.push_back(std::move(command));
  return hello;
}

}  // namespace drover::raft
