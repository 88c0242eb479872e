// Against the system's libprotobuf.a, as a plugin is linked: were one name of its arena.o missing here, the linker
// would take that one as well, and meet the others twice.
#include <google/protobuf/arena.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <map>
#include <thread>
#include <vector>

namespace drover::stable {
namespace {

using google::protobuf::Arena;
using google::protobuf::ArenaOptions;
using google::protobuf::Struct;

// Says when it goes.
struct Counted {
  explicit Counted(int& gone) : gone_(gone) {}
  ~Counted() { ++gone_; }
  int& gone_;
  std::array<char, 100> room{};
};

void fill(Struct& message, int fields) {
  for (int i = 0; i < fields; ++i)
    (*message.mutable_fields())[std::to_string(i)].set_string_value("value " + std::to_string(i));
}

TEST(ProtobufArena, DestroysWhatItMadeOnceEach) {
  int gone = 0;
  {
    Arena arena;
    for (int i = 0; i < 1000; ++i) Arena::Create<Counted>(&arena, gone);
    EXPECT_EQ(gone, 0);
  }
  EXPECT_EQ(gone, 1000);
}

TEST(ProtobufArena, TakesObjectsThatWereMadeElsewhere) {
  int gone = 0;
  {
    Arena arena;
    arena.Own(new Counted(gone));
  }
  EXPECT_EQ(gone, 1);
}

TEST(ProtobufArena, ManyThreadsShareOne) {
  Arena arena;
  std::array<Struct*, 8> made{};
  {
    std::vector<std::jthread> threads;
    for (auto& message : made) {
      threads.emplace_back([&message, &arena] {
        message = Arena::CreateMessage<Struct>(&arena);
        fill(*message, 300);
      });
    }
  }
  for (const Struct* message : made) {
    ASSERT_EQ(message->fields().size(), 300u);
    EXPECT_EQ(message->fields().at("299").string_value(), "value 299");
  }
  EXPECT_GT(arena.SpaceUsed(), 8u * 300u * 16u);
  EXPECT_GE(arena.SpaceAllocated(), arena.SpaceUsed());
}

TEST(ProtobufArena, OneThreadHasSeveral) {
  Arena first, second;
  auto* const one = Arena::CreateMessage<Struct>(&first);
  auto* const other = Arena::CreateMessage<Struct>(&second);

  for (int i = 0; i < 200; ++i) {  // by turns: what the thread remembers is of the wrong one each time
    (*one->mutable_fields())[std::to_string(i)].set_number_value(i);
    (*other->mutable_fields())[std::to_string(i)].set_number_value(-i);
  }

  EXPECT_EQ(one->fields().at("199").number_value(), 199);
  EXPECT_EQ(other->fields().at("199").number_value(), -199);
  EXPECT_EQ(one->GetArena(), &first);
}

TEST(ProtobufArena, IsNewAfterAReset) {
  int gone = 0;
  Arena arena;
  for (int i = 0; i < 100; ++i) Arena::Create<Counted>(&arena, gone);
  const uint64_t allocated = arena.SpaceAllocated();

  EXPECT_EQ(arena.Reset(), allocated);

  EXPECT_EQ(gone, 100);
  EXPECT_EQ(arena.SpaceUsed(), 0u);
  fill(*Arena::CreateMessage<Struct>(&arena), 100);
  EXPECT_GT(arena.SpaceUsed(), 0u);
}

TEST(ProtobufArena, BeginsInTheBlockItWasGiven) {
  alignas(8) std::array<char, 4096> block;
  ArenaOptions options;
  options.initial_block = block.data();
  options.initial_block_size = block.size();
  Arena arena(options);
  EXPECT_EQ(arena.SpaceAllocated(), block.size());

  const auto* const inside = reinterpret_cast<const char*>(Arena::CreateMessage<Struct>(&arena));
  EXPECT_TRUE(inside > block.data() && inside < block.data() + block.size());
  fill(*Arena::CreateMessage<Struct>(&arena), 200);  // more than the block holds
  EXPECT_GT(arena.SpaceAllocated(), block.size());

  arena.Reset();
  EXPECT_EQ(arena.SpaceAllocated(), block.size());
}

std::map<void*, size_t> blocks_out;  // of the two functions below
void* take(size_t size) {
  void* const block = ::operator new(size);
  blocks_out[block] = size;
  return block;
}
void give(void* block, size_t size) {
  EXPECT_EQ(blocks_out.at(block), size);
  blocks_out.erase(block);
  ::operator delete(block);
}

TEST(ProtobufArena, GivesEveryBlockBackToWhomItTookItFrom) {
  ArenaOptions options;
  options.start_block_size = 300;
  options.max_block_size = 1000;
  options.block_alloc = take;
  options.block_dealloc = give;
  {
    Arena arena(options);
    fill(*Arena::CreateMessage<Struct>(&arena), 100);
    EXPECT_GT(blocks_out.size(), 5u);
    arena.Reset();
    EXPECT_EQ(blocks_out.size(), 1u);
    fill(*Arena::CreateMessage<Struct>(&arena), 100);
    Arena::CreateArray<char>(&arena, 5000);  // larger than a block may be
  }
  EXPECT_TRUE(blocks_out.empty());
}

TEST(ProtobufArena, AnArrayThatGrowsLeavesItsOldRoomToOthers) {
  Arena arena;
  auto* const list = Arena::CreateMessage<google::protobuf::ListValue>(&arena);
  for (int i = 0; i < 5000; ++i) list->add_values()->set_number_value(i);

  ASSERT_EQ(list->values_size(), 5000);
  for (int i = 0; i < 5000; ++i) ASSERT_EQ(list->values(i).number_value(), i);
}

TEST(ProtobufCommon, ItsLinesReachStandardError) {
  ::testing::internal::CaptureStderr();
  GOOGLE_LOG(ERROR) << "here I am";
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("here I am"), std::string::npos);
}

}  // namespace
}  // namespace drover::stable
