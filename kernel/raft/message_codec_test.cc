#include "kernel/raft/message_codec.h"

#include <random>

#include "gtest/gtest.h"

namespace drover::raft {
namespace {

const NodeId kFrom = Uuid::from_bytes("from from from f");
const NodeId kTo = Uuid::from_bytes("to to to to to t");

Message full_message() {
  auto payload = std::make_shared<const std::string>("a command");
  return {.type = MessageType::append_answer,
          .from = kFrom,
          .to = kTo,
          .term = 1,
          .log_index = 2,
          .log_term = 3,
          .commit = 4,
          .is_refused = true,
          .is_transfer = true,
          .last_index = 5,
          .conflict_term = 6,
          .conflict_first = 7,
          .is_damaged = true,
          .round = 8,
          .entries = {{.index = 3, .term = 9, .type = EntryType::command, .payload = payload},
                      {.index = 4, .term = 9, .type = EntryType::noop}}};
}

void expect_equal(const Message& a, const Message& b) {
  const auto numbers = [](const Message& m) {
    return std::vector<uint64_t>{m.term,          m.log_index,      m.log_term,    m.commit,
                                 m.is_refused,    m.is_damaged,     m.is_transfer, m.last_index,
                                 m.conflict_term, m.conflict_first, m.round};
  };
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.from, b.from);
  EXPECT_EQ(a.to, b.to);
  EXPECT_EQ(numbers(a), numbers(b));
  ASSERT_EQ(a.entries.size(), b.entries.size());
  for (size_t i = 0; i < a.entries.size(); ++i) {
    EXPECT_EQ(a.entries[i].index, b.entries[i].index);
    EXPECT_EQ(a.entries[i].term, b.entries[i].term);
    EXPECT_EQ(a.entries[i].type, b.entries[i].type);
    EXPECT_EQ(a.entries[i].bytes(), b.entries[i].bytes());
  }
}

TEST(MessageCodec, EveryFieldComesBack) {
  const Message message = full_message();
  const Result<Message> back = decode_message(encode_message(message), kFrom, kTo);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  expect_equal(message, *back);
}

TEST(MessageCodec, ALongerFixedPartOfALaterVersionIsSkipped) {
  std::string bytes = encode_message({.type = MessageType::heartbeat, .term = 7});
  const size_t size = bytes.size();
  bytes += std::string(8, 'x');
  bytes[4] = static_cast<char>(size + 8);
  const Result<Message> back = decode_message(bytes, kFrom, kTo);
  ASSERT_TRUE(back.ok()) << back.status().to_string();
  EXPECT_EQ(back->term, 7u);
}

TEST(MessageCodec, BulkMessagesComeBack) {
  const SnapshotChunk chunk{.from = kFrom,
                            .to = kTo,
                            .leader_term = 1,
                            .index = 2,
                            .term = 3,
                            .manifest_bytes = 4,
                            .total_bytes = 5,
                            .offset = 6,
                            .bytes = "bytes"};
  const Result<BulkMessage> back = decode_bulk(encode_bulk(chunk), kFrom, kTo);
  ASSERT_TRUE(back.ok());
  const auto& same = std::get<SnapshotChunk>(*back);
  EXPECT_EQ(same.leader_term, 1u);
  EXPECT_EQ(same.index, 2u);
  EXPECT_EQ(same.term, 3u);
  EXPECT_EQ(same.manifest_bytes, 4u);
  EXPECT_EQ(same.total_bytes, 5u);
  EXPECT_EQ(same.offset, 6u);
  EXPECT_EQ(same.bytes, "bytes");

  const SnapshotAck ack{.from = kFrom, .to = kTo, .index = 2, .term = 3, .offset = 4, .is_done = true};
  const Result<BulkMessage> answer = decode_bulk(encode_bulk(ack), kFrom, kTo);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(std::get<SnapshotAck>(*answer).offset, 4u);
  EXPECT_TRUE(std::get<SnapshotAck>(*answer).is_done);
  EXPECT_FALSE(std::get<SnapshotAck>(*answer).is_refused);
}

TEST(MessageCodec, GreetingsComeBack) {
  const PeerHello hello{.lane = PeerHello::Lane::bulk,
                        .cluster = Uuid::from_bytes("cluster cluster!"),
                        .from = kFrom,
                        .to = kTo,
                        .incarnation = 9,
                        .address = "10.0.0.1:4647",
                        .commands = {"drover.v1.JobRegistered", "drover.v1.EvalsUpdated"}};
  const Result<PeerHello> back = decode_hello(encode_hello(hello));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(back->lane, hello.lane);
  EXPECT_EQ(back->cluster, hello.cluster);
  EXPECT_EQ(back->from, kFrom);
  EXPECT_EQ(back->to, kTo);
  EXPECT_EQ(back->incarnation, 9u);
  EXPECT_EQ(back->address, "10.0.0.1:4647");
  EXPECT_EQ(back->commands, hello.commands);
  // One that names no commands.
  const Result<PeerHello> silent = decode_hello(encode_hello({.address = "10.0.0.1:4647"}));
  ASSERT_TRUE(silent.ok());
  EXPECT_EQ(silent->address, "10.0.0.1:4647");
  EXPECT_TRUE(silent->commands.empty());
}

// Any input ends in a message or an error; a cut or a flipped bit inside an entry is always noticed.
TEST(MessageCodec, DamagedBytesAreRefusedOrHarmless) {
  const std::string good = encode_message(full_message());
  for (size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(decode_message(std::string_view(good).substr(0, size), kFrom, kTo).ok()) << "cut at " << size;
  }
  constexpr size_t kFixedPart = 80;
  for (size_t at = kFixedPart; at < good.size(); ++at) {
    std::string flipped = good;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_FALSE(decode_message(flipped, kFrom, kTo).ok()) << "flipped at " << at;
  }
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = i % 2 ? good : std::string(random() % 200, '\0');
    for (int j = 0; j < 8 && !bytes.empty(); ++j) bytes[random() % bytes.size()] = static_cast<char>(random());
    (void)decode_message(bytes, kFrom, kTo);
    (void)decode_bulk(bytes, kFrom, kTo);
    (void)decode_hello(bytes);
  }
}

}  // namespace
}  // namespace drover::raft
