#include "kernel/host/command_table.h"

#include "gtest/gtest.h"
#include "tests/support/state_rows.h"

namespace drover::host {
namespace {

class CommandTableTest : public ::testing::Test {
 protected:
  CommandTableTest() {
    mine_ = state::must_add(store_, state::thing_table("mine"));
    theirs_ = state::must_add(store_, state::thing_table("theirs"));
    commands_.add_table("me", mine_);
    commands_.add_table("them", theirs_);
  }
  void declare(const std::string& plugin, const std::string& name, ApplyFunction apply) {
    const Status status = commands_.add_command(plugin, name, std::move(apply));
    EXPECT_TRUE(status.ok()) << status.to_string();
  }
  // As the kernel applies an entry: an error leaves nothing.
  Result<std::string> apply(std::string_view name, std::string_view payload = "") {
    auto transaction = store_.begin(store_.index() + 1);
    const size_t before = transaction->savepoint();
    auto answer = commands_.apply(name, payload, transaction->index(), *transaction);
    if (!answer) transaction->rollback_to(before);
    transaction->commit();
    return answer;
  }
  std::vector<std::string> rows(TableId table) { return state::rows_of(*store_.snapshot("test"), table); }

  state::Store store_{state::no_feed()};
  TableId mine_, theirs_;
  CommandTable commands_;
};

TEST_F(CommandTableTest, AppliesACommandToItsPluginsTables) {
  declare("me", "Put", [this](std::string_view row, ApplyContext& context) -> Result<std::string> {
    DROVER_RETURN_IF_ERROR(context.rows().put(mine_, std::string(row)));
    return "at " + std::to_string(context.index());
  });

  auto answer = apply("Put", "a||g||");

  ASSERT_TRUE(answer) << answer.status().to_string();
  EXPECT_EQ(*answer, "at 1");
  EXPECT_EQ(rows(mine_), std::vector<std::string>{"a||g||"});
  EXPECT_TRUE(commands_.knows("Put"));
  EXPECT_FALSE(commands_.knows("Take"));
}

TEST_F(CommandTableTest, RefusesACommandThatNobodyDeclares) {
  EXPECT_EQ(apply("Take").status().to_string(), "unimplemented: no loaded plugin declares the command Take");
}

TEST_F(CommandTableTest, ACommandIsDeclaredOnce) {
  const ApplyFunction nothing = [](std::string_view, ApplyContext&) -> Result<std::string> { return std::string(); };
  declare("me", "Put", nothing);

  EXPECT_EQ(commands_.add_command("them", "Put", nothing).to_string(),
            "already_exists: command Put is already declared by plugin me");
}

TEST_F(CommandTableTest, APluginReadsEveryTableAndWritesItsOwn) {
  state::put_rows(store_, theirs_, {"x||g||"});
  declare("me", "Copy", [this](std::string_view, ApplyContext& context) -> Result<std::string> {
    auto row = context.rows().get(theirs_, state::key_of("x"));
    if (!row) return not_found("x");
    DROVER_RETURN_IF_ERROR(context.rows().put(mine_, std::string(*row)));
    return std::string();
  });
  declare("me", "Steal", [this](std::string_view, ApplyContext& context) -> Result<std::string> {
    DROVER_RETURN_IF_ERROR(context.rows().put(theirs_, "y||g||"));
    return std::string();
  });
  declare("guest", "Guess", [this](std::string_view, ApplyContext& context) -> Result<std::string> {
    DROVER_RETURN_IF_ERROR(context.rows().put(mine_, "y||g||"));
    return std::string();
  });

  EXPECT_TRUE(apply("Copy"));
  EXPECT_EQ(rows(mine_), std::vector<std::string>{"x||g||"});
  EXPECT_EQ(apply("Steal").status().to_string(),
            "permission_denied: an apply function wrote a table of another plugin");
  EXPECT_EQ(apply("Guess").status().code(), Code::permission_denied) << "a plugin without tables";
  EXPECT_EQ(rows(theirs_), std::vector<std::string>{"x||g||"});
}

TEST_F(CommandTableTest, ErasingARowOfAnotherPluginEndsTheProcess) {
  declare("me", "Erase", [this](std::string_view, ApplyContext& context) -> Result<std::string> {
    context.rows().erase(theirs_, state::key_of("x"));
    return std::string();
  });

  EXPECT_DEATH((void)apply("Erase"), "owned_.contains");
}

TEST_F(CommandTableTest, ACommandMayApplyOneOfAnotherPlugin) {
  declare("them", "Theirs", [this](std::string_view row, ApplyContext& context) -> Result<std::string> {
    DROVER_RETURN_IF_ERROR(context.rows().put(theirs_, std::string(row)));
    return std::string();
  });
  declare("me", "Both", [this](std::string_view row, ApplyContext& context) -> Result<std::string> {
    DROVER_RETURN_IF_ERROR(context.rows().put(mine_, std::string(row)));
    DROVER_RETURN_IF_ERROR(context.also("Theirs", row));
    return std::string();
  });

  EXPECT_TRUE(apply("Both", "a||g||"));

  EXPECT_EQ(rows(mine_), std::vector<std::string>{"a||g||"});
  EXPECT_EQ(rows(theirs_), std::vector<std::string>{"a||g||"});
  EXPECT_EQ(store_.index(), 1u);
}

TEST_F(CommandTableTest, AnErrorBelowLeavesNothingOnceTheCallerRollsBack) {
  declare("them", "Theirs", [this](std::string_view row, ApplyContext& context) -> Result<std::string> {
    DROVER_RETURN_IF_ERROR(context.rows().put(theirs_, std::string(row)));
    return failed_precondition("no");
  });
  declare("me", "Both", [this](std::string_view row, ApplyContext& context) -> Result<std::string> {
    DROVER_RETURN_IF_ERROR(context.rows().put(mine_, std::string(row)));
    DROVER_RETURN_IF_ERROR(context.also("Theirs", row));
    return std::string();
  });

  EXPECT_EQ(apply("Both", "a||g||").status().to_string(), "failed_precondition: no");

  EXPECT_TRUE(rows(mine_).empty());
  EXPECT_TRUE(rows(theirs_).empty());
}

TEST_F(CommandTableTest, AnErrorBelowIsTheCallersTooWhenItLooksAway) {
  declare("them", "Theirs", [this](std::string_view row, ApplyContext& context) -> Result<std::string> {
    DROVER_RETURN_IF_ERROR(context.rows().put(theirs_, std::string(row)));
    return failed_precondition("no");
  });
  declare("me", "Both", [](std::string_view row, ApplyContext& context) -> Result<std::string> {
    (void)context.also("Theirs", row);
    return std::string("all is well");
  });

  EXPECT_EQ(apply("Both", "a||g||").status().to_string(), "failed_precondition: no");

  EXPECT_TRUE(rows(theirs_).empty());
}

TEST_F(CommandTableTest, NestingHasAnEnd) {
  declare("me", "Again", [](std::string_view, ApplyContext& context) -> Result<std::string> {
    DROVER_RETURN_IF_ERROR(context.also("Again", ""));
    return std::string();
  });

  EXPECT_EQ(apply("Again").status().to_string(), "internal: commands are nested deeper than 8");
}

TEST(CommandEncoding, IsReadBackAsItWasWritten) {
  const std::string entry = encode_command("drover.v1.PutJob", "payload");

  auto command = decode_command(entry);

  ASSERT_TRUE(command) << command.status().to_string();
  EXPECT_EQ(command->name, "drover.v1.PutJob");
  EXPECT_EQ(command->payload, "payload");
  EXPECT_EQ(decode_command(encode_command("x", ""))->payload, "");
}

TEST(CommandEncoding, IsWrittenAsReleased) { EXPECT_EQ(encode_command("ab", "cd"), "\2abcd"); }

TEST(CommandEncoding, ACutEntryIsDataLoss) {
  const std::string entry = encode_command("drover.v1.PutJob", "");
  for (size_t length = 0; length < entry.size(); ++length) {
    EXPECT_EQ(decode_command(entry.substr(0, length)).status().code(), Code::data_loss) << length;
  }
}

}  // namespace
}  // namespace drover::host
