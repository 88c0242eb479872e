// The commands of a restore, one after the other, on rows in memory.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "drover/byte_stream.h"
#include "drover/config.h"
#include "drover/crc32c.h"
#include "drover/sha256.h"
#include "tables.h"
#include "temporary_file.h"

namespace drover::snapshots {
namespace {

// One table, the log's commands, and what was given to replace_all.
class Rows final : public WriteTransaction, public Declarations, private ApplyContext {
 public:
  template <typename Command>
  Result<std::string> apply(const Command& command) {
    ++index_;
    const auto before = rows_;
    auto applied = commands_.at(std::string(Command::descriptor()->full_name()))(serialize(command), *this);
    if (!applied) rows_ = before;
    return applied;
  }
  size_t count() const { return rows_.size(); }
  void set_index(uint64_t index) { index_ = index; }
  void forget(size_t number) { rows_.erase(std::next(rows_.begin(), static_cast<std::ptrdiff_t>(number))); }

  std::vector<std::string> states;  // that came
  Status answer;                    // of replace_all

  uint64_t index() const override { return index_; }
  std::optional<std::string_view> get(TableId, std::string_view key) const override {
    const auto at = rows_.find(key);
    return at == rows_.end() ? std::nullopt : std::optional<std::string_view>(at->second);
  }
  std::optional<std::string_view> get_by(TableId, uint32_t, std::string_view) const override { return std::nullopt; }
  std::unique_ptr<Cursor> scan(TableId, uint32_t, const KeyRange& range, Order) const override {
    return std::make_unique<Walk>(rows_, range);
  }
  uint64_t row_count(TableId) const override { return rows_.size(); }
  uint64_t table_index(TableId) const override { return index_; }
  Status put(TableId, std::string row, const KnownKeys&) override {
    RowKeys keys;
    spec_.keys(row, keys);
    rows_.insert_or_assign(std::move(keys.primary()), std::move(row));
    return ok_status();
  }
  bool erase(TableId, std::string_view key) override { return rows_.erase(std::string(key)) > 0; }
  Status replace_all(ByteSource& snapshot) override {
    std::string state, piece(10, '\0');
    while (true) {
      DROVER_TRY(const size_t n, snapshot.read(piece));
      if (n == 0) break;
      state.append(piece, 0, n);
    }
    states.push_back(std::move(state));
    if (answer.ok()) rows_.clear();
    return answer;
  }

  Result<TableId> table(TableSpec spec) override {
    spec_ = std::move(spec);
    return TableId{0};
  }
  Result<TableId> other_table(std::string_view) override { return not_found("there is one table"); }
  Status command(std::string name, ApplyFunction apply) override {
    commands_.emplace(std::move(name), std::move(apply));
    return ok_status();
  }
  Status service(std::string_view, std::vector<MethodBinding>) override { return ok_status(); }
  Status configuration(std::string, ConfigSchema) override { return ok_status(); }
  Status extension(std::string, std::string, void*) override { return ok_status(); }

 private:
  using Map = std::map<std::string, std::string, std::less<>>;
  class Walk final : public Cursor {
   public:
    Walk(const Map& rows, const KeyRange& range) : at_(rows.lower_bound(range.first)), end_(rows.end()) {
      if (!range.end.empty()) end_ = rows.lower_bound(range.end);
    }
    bool valid() const override { return at_ != end_; }
    void next() override { ++at_; }
    std::string_view key() const override { return at_->first; }
    std::string_view row() const override { return at_->second; }

   private:
    Map::const_iterator at_, end_;
  };
  WriteTransaction& rows() override { return *this; }
  Status also(std::string_view, std::string_view) override { return internal_error("nothing is nested"); }

  Map rows_;
  TableSpec spec_;
  std::map<std::string, ApplyFunction> commands_;
  uint64_t index_ = 100;
};

class Restore : public ::testing::Test {
 protected:
  Restore() {
    auto chunks = declare_table(rows_);
    EXPECT_TRUE(chunks.ok());
    chunks_ = *chunks;
    EXPECT_TRUE(declare_commands(rows_, chunks_).ok());
  }

  static v1::RestoreChunkAdded chunk(std::string id, uint32_t number, std::string data, int64_t time = 0) {
    v1::RestoreChunkAdded command;
    command.mutable_chunk()->set_restore_id(std::move(id));
    command.mutable_chunk()->set_number(number);
    command.mutable_chunk()->set_crc(crc32c(data));
    command.mutable_chunk()->set_data(std::move(data));
    command.mutable_chunk()->set_time(time);
    return command;
  }
  // The command that restores the pieces "one ", "two " and so on.
  static v1::StateRestored restored(std::string id, const std::vector<std::string>& pieces, uint64_t index = 50) {
    v1::StateRestored command;
    Sha256 sum;
    for (const std::string& piece : pieces) sum.add(piece);
    command.set_restore_id(std::move(id));
    command.set_chunks(static_cast<uint32_t>(pieces.size()));
    command.set_sha256(sum.take());
    command.set_index(index);
    return command;
  }
  void add(const std::string& id, const std::vector<std::string>& pieces, int64_t time = 0) {
    for (uint32_t i = 0; i < pieces.size(); ++i) ASSERT_TRUE(rows_.apply(chunk(id, i, pieces[i], time)).ok());
  }

  Rows rows_;
  Chunks chunks_;
};

std::vector<std::string> eleven_pieces() {
  std::vector<std::string> pieces;
  for (int i = 0; i < 11; ++i) pieces.push_back("piece " + std::to_string(i) + "; ");
  return pieces;
}

TEST_F(Restore, TheChunksBecomeTheStateInTheirOrder) {
  add("other", {"not this one"});
  add("this", eleven_pieces());
  std::string whole;
  for (const std::string& piece : eleven_pieces()) whole += piece;

  ASSERT_TRUE(rows_.apply(restored("this", eleven_pieces())).ok());

  EXPECT_EQ(rows_.states, std::vector<std::string>{whole});
  EXPECT_EQ(rows_.count(), 0u);
}

TEST_F(Restore, WhatIsNotWholeReplacesNothing) {
  struct Case {
    const char* name;
    std::function<void()> change;
    v1::StateRestored command;
    const char* message;
  };
  auto wrong_sum = restored("this", {"a", "b", "c"});
  wrong_sum.set_sha256("other");
  const Case cases[] = {
      {"a chunk is missing", [&] { rows_.forget(1); }, restored("this", {"a", "b", "c"}), "chunk 1 is damaged"},
      {"the last is missing", [&] { rows_.forget(2); }, restored("this", {"a", "b", "c"}), "2 of 3 chunks are there"},
      {"one too many", [] {}, restored("this", {"a", "b"}), "3 of 2 chunks are there"},
      {"another sum", [] {}, wrong_sum, "its sum is wrong"},
      {"another restore", [] {}, restored("nobody", {"a", "b", "c"}), "0 of 3 chunks are there"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    add("this", {"a", "b", "c"});
    c.change();
    const size_t before = rows_.count();

    const auto answer = rows_.apply(c.command);

    EXPECT_EQ(answer.status().code(), Code::data_loss);
    EXPECT_NE(answer.status().message().find(c.message), std::string::npos) << answer.status().message();
    EXPECT_TRUE(rows_.states.empty());
    EXPECT_EQ(rows_.count(), before);
  }
}

TEST_F(Restore, ADamagedChunkIsNotTaken) {
  auto command = chunk("this", 0, "data");
  command.mutable_chunk()->set_crc(1);
  EXPECT_EQ(rows_.apply(command).status().code(), Code::data_loss);
  EXPECT_EQ(rows_.count(), 0u);
}

TEST_F(Restore, NoRowIsFromAheadOfTheLog) {
  add("this", {"a"});
  rows_.set_index(49);
  EXPECT_EQ(rows_.apply(restored("this", {"a"}, 50)).status().code(), Code::out_of_range);
  EXPECT_TRUE(rows_.apply(restored("this", {"a"}, 50)).ok());
}

TEST_F(Restore, AStateThatCannotBeLoadedIsAnErrorThatKeepsTheChunks) {
  add("this", {"a"});
  rows_.answer = data_loss("two rows have the same key");
  EXPECT_EQ(rows_.apply(restored("this", {"a"})).status().code(), Code::data_loss);
  EXPECT_EQ(rows_.count(), 1u);
}

TEST_F(Restore, AServerThatLacksATableEndsRatherThanForkTheState) {
  add("this", {"a"});
  rows_.answer = failed_precondition("a table that no loaded plugin declares");
  EXPECT_EXIT((void)rows_.apply(restored("this", {"a"})), ::testing::ExitedWithCode(3), "");
}

TEST_F(Restore, WhatWasAbandonedIsFoundByItsAgeAndDropped) {
  add("new", {"a", "b"}, 2000);
  add("old", eleven_pieces(), 1000);
  EXPECT_EQ(abandoned(rows_, chunks_, 1001), std::vector<std::string>{"old"});
  EXPECT_EQ(abandoned(rows_, chunks_, 1000), std::vector<std::string>{});

  v1::RestoresDropped command;
  command.add_restore_ids("old");
  command.add_restore_ids("unknown");
  ASSERT_TRUE(rows_.apply(command).ok());

  EXPECT_EQ(rows_.count(), 2u);
  EXPECT_EQ(abandoned(rows_, chunks_, 9999), std::vector<std::string>{"new"});
}

TEST_F(Restore, AdvancingTheLogChangesNoRow) {
  add("this", {"a"});
  EXPECT_TRUE(rows_.apply(v1::LogAdvanced()).ok());
  EXPECT_EQ(rows_.count(), 1u);
}

TEST(TemporaryFile, IsReadFromTheBeginningAsOftenAsWanted) {
  auto file = TemporaryFile::create(::testing::TempDir());
  ASSERT_TRUE(file.ok()) << file.status().message();
  ASSERT_TRUE((*file)->write("some ").ok());
  ASSERT_TRUE((*file)->write("bytes").ok());
  EXPECT_EQ((*file)->size(), 10u);
  for (int round = 0; round < 2; ++round) {
    (*file)->rewind();
    std::string text(7, '\0');
    ASSERT_EQ(*(*file)->read(text), 7u);
    EXPECT_EQ(text, "some by");
    ASSERT_EQ(*(*file)->read(text), 3u);
    ASSERT_EQ(*(*file)->read(text), 0u);
  }
}

TEST(TemporaryFile, NamesTheFolderThatCannotBeWritten) {
  EXPECT_NE(TemporaryFile::create("/nowhere").status().message().find("/nowhere"), std::string::npos);
}

}  // namespace
}  // namespace drover::snapshots
