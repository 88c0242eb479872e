// A damaged log of one server among several: what it keeps and remembers, and that no crash makes it look whole.
#include <map>

#include "gtest/gtest.h"
#include "kernel/raft/segment_log.h"
#include "kernel/raft/test_support.h"
#include "storage/segment_repair.h"
#include "tests/support/fault_file_system.h"

namespace drover::raft {
namespace {

const NodeId kNode = *Uuid::parse("11111111-1111-4111-8111-111111111111");
const NodeId kOther = *Uuid::parse("33333333-3333-4333-8333-333333333333");
const ClusterId kCluster = *Uuid::parse("22222222-2222-4222-8222-222222222222");
constexpr Index kLast = 40;
// The newest batch of all holds this: a vote in a term that none of the entries has.
const HardState kPromise{9, kOther};

SegmentLogOptions options() {
  SegmentLogOptions options{.directory = "/raft",
                            .cluster_id = kCluster,
                            .node_id = kNode,
                            .segment_bytes = 32 << 10,
                            .initial_segment_bytes = 32 << 10};
  options.on_failure = [](const Status&) {};
  return options;
}

std::string value(Index index) { return "value " + std::to_string(index); }

// Forty entries in segments of seven batches, a promise behind the last, and an orderly end.
void fill(FileSystem& files, std::vector<Member> members) {
  Result<std::unique_ptr<SegmentLog>> opened = SegmentLog::open(files, options());
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  SegmentLog& log = **opened;
  log.start_stepped([](uint64_t) {});
  const Membership membership{.index = 1, .members = std::move(members)};
  for (Index i = 1; i <= kLast; ++i) {
    Entry entry{.index = i,
                .term = 1 + i / 10,
                .type = i == 1 ? EntryType::membership : EntryType::command,
                .payload = std::make_shared<const std::string>(i == 1 ? encode_membership(membership) : value(i))};
    LogWrite write{.write_seq = i, .entries = {std::move(entry)}, .hard_state = HardState{1 + i / 10, kNode}};
    if (i == 1) write.membership = membership;
    log.submit(std::move(write));
    ASSERT_TRUE(log.write_step(SegmentLog::Idle::nothing));
  }
  log.submit({.write_seq = kLast + 1, .hard_state = kPromise});
  ASSERT_TRUE(log.write_step(SegmentLog::Idle::nothing));
  ASSERT_TRUE(log.write_step(SegmentLog::Idle::close));
}

std::vector<Member> three() {
  return {{.id = kNode, .address = "a"}, {.id = kOther, .address = "b"}, {.id = NodeId::random(), .address = "c"}};
}

void rot(FaultFileSystem& files, const std::string& path, size_t at) {
  std::string bytes = files.content(path);
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  files.set_content(path, std::move(bytes));
}

std::string path_of(uint64_t segment) { return "/raft/" + segment_name(segment); }

using Image = std::map<std::string, std::string>;

Image image_of(const FaultFileSystem& files) {
  Image image;
  for (const std::string& path : files.paths()) image[path] = files.content(path);
  return image;
}

void lay_out(FaultFileSystem& files, const Image& image) {
  files.wipe();
  ASSERT_EQ(files.make_directory("/raft"), ok_status());
  for (const auto& [path, bytes] : image) files.set_content(path, bytes);
}

void expect_prefix(const SegmentLog& log) {
  for (Index i = std::max<Index>(2, log.first_index()); i <= log.last_index(); ++i) {
    const Result<std::vector<Entry>> entries = log.read(i, i, 1);
    ASSERT_TRUE(entries.ok()) << entries.status().message();
    ASSERT_EQ(entries->front().bytes(), value(i));
  }
}

TEST(Repair, KeepsWhatStandsBeforeTheDamageAndEveryPromise) {
  FaultFileSystem files(1);
  fill(files, three());
  const size_t at = 3 * kBlock + kBatchHeaderBytes + kEntryHeaderBytes;  // the second segment's third batch
  rot(files, path_of(2), at);
  const std::string damaged = files.content(path_of(2));
  const std::string behind = files.content(path_of(3));

  const Result<std::unique_ptr<SegmentLog>> log = SegmentLog::open(files, options());

  ASSERT_TRUE(log.ok()) << log.status().message();
  const LogState state = (*log)->recovered();
  EXPECT_TRUE(state.is_damaged);
  EXPECT_FALSE(state.was_clean);
  EXPECT_EQ(state.last_index, 9u);
  EXPECT_EQ(state.hard_state, kPromise);
  EXPECT_EQ(state.membership.members.size(), 3u);
  expect_prefix(**log);
  EXPECT_EQ(files.content("/raft/quarantine/1/" + segment_name(2)), damaged);
  EXPECT_EQ(files.content("/raft/quarantine/1/" + segment_name(3)), behind);
  EXPECT_EQ(files.content(path_of(3)), "");
}

TEST(Repair, IsDamagedUntilItIsSaidToBeWhole) {
  FaultFileSystem files(1);
  fill(files, three());
  rot(files, path_of(3), kBlock + kBatchHeaderBytes);
  for (int start = 0; start < 3; ++start) {
    const Result<std::unique_ptr<SegmentLog>> log = SegmentLog::open(files, options());
    ASSERT_TRUE(log.ok()) << log.status().message();
    EXPECT_TRUE((*log)->recovered().is_damaged) << start;
    EXPECT_EQ((*log)->recovered().hard_state, kPromise) << start;
    if (start < 2) continue;
    (*log)->start_stepped([](uint64_t) {});
    (*log)->submit({.write_seq = 100, .hard_state = kPromise});
    ASSERT_TRUE((*log)->write_step(SegmentLog::Idle::nothing));
    (*log)->mark_whole();
    ASSERT_TRUE((*log)->write_step(SegmentLog::Idle::nothing));
  }

  const Result<std::unique_ptr<SegmentLog>> log = SegmentLog::open(files, options());

  ASSERT_TRUE(log.ok()) << log.status().message();
  EXPECT_FALSE((*log)->recovered().is_damaged);
  EXPECT_EQ((*log)->recovered().hard_state, kPromise);
}

// Any byte of any segment: nothing is lost in silence, and never a promise.
TEST(Repair, NoFlippedByteIsTakenForAShorterLog) {
  FaultFileSystem files(1);
  fill(files, three());
  const Image good = image_of(files);
  int whole = 0, kept = 0, refused = 0;
  for (const auto& [path, bytes] : good) {
    if (!path.starts_with("/raft/seg-")) continue;
    for (size_t at = 0; at < bytes.size(); at += at % kBlock < 256 ? 7 : 499) {
      SCOPED_TRACE(path + " offset " + std::to_string(at));
      lay_out(files, good);
      rot(files, path, at);
      const Result<std::unique_ptr<SegmentLog>> log = SegmentLog::open(files, options());
      if (!log.ok()) {
        ++refused;
        ASSERT_NE(log.status().message().find(path), std::string::npos) << log.status().message();
        continue;
      }
      const LogState state = (*log)->recovered();
      ASSERT_EQ(state.hard_state, kPromise);
      ++(state.is_damaged ? kept : whole);
      ASSERT_TRUE(state.is_damaged || state.last_index == kLast) << state.last_index;
      expect_prefix(**log);
    }
  }
  EXPECT_GT(whole, 20);
  EXPECT_GT(kept, 300);
  EXPECT_GT(refused, 10) << "the newest segment's header may have held the newest promise";
}

TEST(Repair, MayBeCutOffByACrashAnywhere) {
  FaultFileSystem files(1);
  fill(files, three());
  rot(files, path_of(2), 2 * kBlock);
  const Image rotten = image_of(files);
  int crashes = 0;
  for (uint64_t operation = 1;; ++operation) {
    SCOPED_TRACE("crash at operation " + std::to_string(operation));
    lay_out(files, rotten);
    files.crash_after(operation);
    const bool is_open = SegmentLog::open(files, options()).ok();
    const bool has_crashed = files.has_crashed();
    files.reboot();
    if (!has_crashed && is_open) break;
    ++crashes;
    const Result<std::unique_ptr<SegmentLog>> log = SegmentLog::open(files, options());
    ASSERT_TRUE(log.ok()) << log.status().message();
    ASSERT_TRUE((*log)->recovered().is_damaged);
    ASSERT_EQ((*log)->recovered().hard_state, kPromise);
    expect_prefix(**log);
  }
  EXPECT_GT(crashes, 20);
}

TEST(Repair, SaysWhyItCannotBe) {
  struct Case {
    const char* name;
    std::vector<Member> members;
    uint64_t segment;
    size_t at;
    const char* why;
  };
  const Case cases[] = {
      {"alone", {{.id = kNode}}, 2, 2 * kBlock, "the log knows no other voter that could send it again"},
      {"with a learner",
       {{.id = kNode}, {.id = kOther, .suffrage = Suffrage::learner}},
       2,
       2 * kBlock,
       "no other voter"},
      {"newest header", three(), 6, 100, "this server's term and vote may be lost"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FaultFileSystem files(1);
    fill(files, c.members);
    ASSERT_EQ(files.content(path_of(7)), "") << "six segments";
    rot(files, path_of(c.segment), c.at);
    const Image before = image_of(files);
    const Status status = SegmentLog::open(files, options()).status();
    EXPECT_EQ(status.code(), Code::data_loss);
    EXPECT_NE(status.message().find(c.why), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(path_of(c.segment) + ": offset "), std::string::npos) << status.message();
    EXPECT_EQ(image_of(files), before);
  }
}

TEST(Repair, KeepsSoManyDamagedPartsAndNoMore) {
  FaultFileSystem files(1);
  fill(files, three());
  const Image good = image_of(files);
  for (size_t n = 1; n <= kMostQuarantined; ++n) {
    for (const auto& [path, bytes] : good) files.set_content(path, bytes);
    rot(files, path_of(2), 2 * kBlock);
    ASSERT_EQ(SegmentLog::open(files, options()).status(), ok_status());
    EXPECT_NE(files.content("/raft/quarantine/" + std::to_string(n) + "/" + segment_name(2)), "");
  }
  for (const auto& [path, bytes] : good) files.set_content(path, bytes);
  rot(files, path_of(2), 2 * kBlock);
  const Status status = SegmentLog::open(files, options()).status();
  EXPECT_EQ(status.code(), Code::failed_precondition);
  EXPECT_NE(status.message().find("/raft/quarantine holds 8 damaged parts already"), std::string::npos)
      << status.message();
}

}  // namespace
}  // namespace drover::raft
