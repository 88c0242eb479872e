#include "server/tables.h"

#include <gtest/gtest.h>

#include "drover/v1/commands.pb.h"
#include "host_volumes.pb.h"
#include "testing/server_world.h"

namespace drover::host_volumes {
namespace {

class HostVolumeTables : public ServerTest {
 protected:
  v1::HostVolumeBegun begun(const std::string& id, const std::string& name = "data", const std::string& node = "n1") {
    v1::HostVolumeBegun command;
    command.mutable_volume()->set_id(id_of(id));
    command.mutable_volume()->set_namespace_("default");
    command.mutable_volume()->set_name(name);
    command.mutable_volume()->set_node_id(id_of(node));
    return command;
  }
  template <typename Command>
  Status propose(const Command& command) {
    return host_.propose(command, SteadyTime::max()).status();
  }
  template <typename Command>
  Command about(const std::string& id, uint64_t step_index) {
    Command command;
    command.mutable_name()->set_namespace_("default");
    command.mutable_name()->set_id(id_of(id));
    command.mutable_name()->set_step_index(step_index);
    return command;
  }
};

TEST_F(HostVolumeTables, ANameIsThereOnceOnANode) {
  EXPECT_TRUE(propose(begun("v1")).ok());
  v1::HostVolumeBegun other = begun("v2");
  other.mutable_volume()->set_namespace_("other");
  EXPECT_EQ(propose(other), failed_precondition("namespace \"other\" was deleted meanwhile"));
  put_namespace("other");
  EXPECT_EQ(propose(other).code(), Code::already_exists) << "whatever the namespace";
  EXPECT_TRUE(propose(begun("v2", "data", "n2")).ok());
  EXPECT_EQ(propose(begun("v1")).code(), Code::aborted) << "it is there";
  EXPECT_EQ(rows().size(), 2U);
}

// Every command at every step: the next step, "gone", or "-" where it is refused.
TEST_F(HostVolumeTables, EachStepHasItsCommands) {
  const auto step_of = [&]() -> std::string {
    if (rows().empty()) return "gone";
    switch (rows()[0].step()) {
      case v1::HOST_VOLUME_STEP_MAKING:
        return "making";
      case v1::HOST_VOLUME_STEP_MADE:
        return "made";
      default:
        return "deleting";
    }
  };
  const auto bring = [&](const std::string& step) {
    if (!rows().empty()) {
      EXPECT_TRUE(propose(about<v1::HostVolumeForgotten>("v1", 0)).ok());
    }
    EXPECT_TRUE(propose(begun("v1")).ok());
    if (step != "making") {
      EXPECT_TRUE(propose(about<v1::HostVolumeMade>("v1", 0)).ok());
    }
    if (step == "deleting") {
      EXPECT_TRUE(propose(about<v1::HostVolumeDeleting>("v1", 0)).ok());
    }
    EXPECT_EQ(step_of(), step);
    return rows()[0].step_index();
  };
  const auto next = [&](const std::string& command, uint64_t index) -> std::string {
    Status done;
    if (command == "made") done = propose(about<v1::HostVolumeMade>("v1", index));
    if (command == "refused") done = propose(about<v1::HostVolumeRefused>("v1", index));
    if (command == "deleting") done = propose(about<v1::HostVolumeDeleting>("v1", index));
    if (command == "forgotten") done = propose(about<v1::HostVolumeForgotten>("v1", index));
    if (command == "tried") done = propose(about<v1::HostVolumeTried>("v1", index));
    return done.ok() ? step_of() : "-";
  };
  struct Case {
    const char *command, *making, *made, *deleting;
  };
  const Case cases[] = {
      {"made", "made", "-", "-"},
      {"refused", "gone", "-", "made"},
      {"tried", "making", "made", "deleting"},
      {"deleting", "-", "deleting", "-"},
      {"forgotten", "gone", "gone", "gone"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.command);
    EXPECT_EQ(next(c.command, bring("making")), c.making);
    EXPECT_EQ(next(c.command, bring("made")), c.made);
    EXPECT_EQ(next(c.command, bring("deleting")), c.deleting);
    EXPECT_EQ(next(c.command, bring("making") - 1), "-") << "of an earlier step";
  }
}

TEST_F(HostVolumeTables, AChangeThatIsRefusedIsUndone) {
  ASSERT_TRUE(propose(begun("v1")).ok());
  ASSERT_TRUE(propose(about<v1::HostVolumeMade>("v1", 0)).ok());
  v1::HostVolumeBegun change = begun("v1");
  *change.mutable_volume() = rows()[0];
  change.mutable_volume()->set_requested_capacity_min(7);
  change.set_modify_index(rows()[0].modify_index());
  ASSERT_TRUE(propose(change).ok());
  EXPECT_EQ(rows()[0].requested_capacity_min(), 7);
  EXPECT_EQ(propose(change).code(), Code::aborted) << "it is no longer as it was";
  ASSERT_TRUE(propose(about<v1::HostVolumeRefused>("v1", 0)).ok());
  EXPECT_EQ(rows()[0].requested_capacity_min(), 0);
  EXPECT_FALSE(rows()[0].has_before());
}

TEST_F(HostVolumeTables, OneInUseIsKeptWhateverWasDecided) {
  ASSERT_TRUE(propose(begun("v1")).ok());
  ASSERT_TRUE(propose(about<v1::HostVolumeMade>("v1", 0)).ok());
  put_user("n1", v1::CLIENT_STATUS_PENDING);
  EXPECT_EQ(propose(about<v1::HostVolumeDeleting>("v1", 0)).code(), Code::failed_precondition);
  v1::HostVolumeBegun change;
  *change.mutable_volume() = rows()[0];
  change.set_modify_index(rows()[0].modify_index());
  EXPECT_EQ(propose(change).code(), Code::failed_precondition);
  put_user("n1", v1::CLIENT_STATUS_FAILED);
  EXPECT_TRUE(propose(about<v1::HostVolumeDeleting>("v1", 0)).ok());
}

TEST_F(HostVolumeTables, ClaimsGoWithTheirVolume) {
  ASSERT_TRUE(propose(begun("v1")).ok());
  v1::HostVolumesClaimed claims;
  for (const char* volume : {"v1", "v2"}) {
    v1::HostVolumeClaim& claim = *claims.add_claims();
    claim.set_id(id_of(std::string("c") + volume));
    claim.set_namespace_("default");
    claim.set_job_id("db");
    claim.set_volume_id(id_of(volume));
  }
  ASSERT_TRUE(propose(claims).ok());
  ASSERT_TRUE(propose(about<v1::HostVolumeForgotten>("v1", 0)).ok());
  const auto left = tables_.claims.list(*host_.snapshot(), kPrimary, KeyRange::all());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].volume_id(), id_of("v2"));
}

}  // namespace
}  // namespace drover::host_volumes
