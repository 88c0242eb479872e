#include "mounted.h"

#include "../settings.h"
#include "../testing/requests.h"
#include "drover/messages.h"
#include "gtest/gtest.h"
#include "hostpath.pb.h"
#include "volumes.h"

namespace drover::hostpath {
namespace {

constexpr const char* kStaging = "/stage/a";

struct Ledger {
  State state;
  Settings own{.data_dir = "/data", .node_id = "n1"};

  Ledger() {
    register_node(state, own);
    for (const auto& [id, is_block] : {std::pair("v", false), std::pair("w", false), std::pair("b", true)}) {
      Volume& volume = *state.add_volumes();
      volume.set_id(id);
      volume.set_stage(STAGE_READY);
      volume.set_is_block(is_block);
    }
  }
  Code stage(const csi::v1::NodeStageVolumeRequest& request) {
    return hostpath::stage(state, own, request).status().code();
  }
  Code publish(const csi::v1::NodePublishVolumeRequest& request) {
    return hostpath::publish(state, own, request).status().code();
  }
};

TEST(HostpathMounted, StageAnswersByTheTable) {
  csi::v1::NodeStageVolumeRequest no_capability = stage_at("v", kStaging);
  no_capability.clear_volume_capability();
  struct Case {
    const char* name;
    csi::v1::NodeStageVolumeRequest request;  // after one of "v" at /stage/a
    Code code;
  };
  const Case cases[] = {
      {"the same", stage_at("v", kStaging), Code::ok},
      {"other capability", stage_at("v", kStaging, mounted(Mode::MULTI_NODE_READER_ONLY)), Code::already_exists},
      {"other volume", stage_at("w", kStaging), Code::already_exists},
      {"other path", stage_at("v", "/stage/b"), Code::ok},
      {"unknown volume", stage_at("gone", "/stage/b"), Code::not_found},
      {"no volume", stage_at("", "/stage/b"), Code::invalid_argument},
      {"no path", stage_at("v", ""), Code::invalid_argument},
      {"path upwards", stage_at("v", "/stage/../b"), Code::invalid_argument},
      {"path in the data", stage_at("v", "/data/volumes/w"), Code::invalid_argument},
      {"no capability", no_capability, Code::invalid_argument},
      {"other access type", stage_at("v", "/stage/b", block()), Code::invalid_argument},
      {"hostile id", stage_at("../v", "/stage/b"), Code::invalid_argument},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Ledger ledger;
    ASSERT_EQ(ledger.stage(stage_at("v", kStaging)), Code::ok);
    const std::string before = serialize(ledger.state);
    EXPECT_EQ(ledger.stage(c.request), c.code);
    if (c.code != Code::ok) {
      EXPECT_EQ(serialize(ledger.state), before);
    }
  }
}

// The table of the specification: T the target path, P all else but secrets.
TEST(HostpathMounted, ASecondPublishAnswersByTheTable) {
  struct Case {
    const char* name;
    bool same_target, same_rest;
    Code multi_node, multi_writer, single;
  };
  const Case cases[] = {
      {"T same, P same", true, true, Code::ok, Code::ok, Code::ok},
      {"T same, P differs", true, false, Code::already_exists, Code::already_exists, Code::already_exists},
      {"T differs, P same", false, true, Code::ok, Code::ok, Code::failed_precondition},
      {"T differs, P differs", false, false, Code::ok, Code::ok, Code::failed_precondition},
  };
  for (const Case& c : cases) {
    for (int mode = Mode::SINGLE_NODE_WRITER; mode <= Mode::SINGLE_NODE_MULTI_WRITER; ++mode) {
      const auto capability = mounted(static_cast<Mode::Mode>(mode));
      SCOPED_TRACE(std::string(c.name) + ", " + Mode::Mode_Name(capability.access_mode().mode()));
      const bool is_multi_node = Mode::Mode_Name(capability.access_mode().mode()).starts_with("MULTI_NODE");
      const Code expected = is_multi_node                            ? c.multi_node
                            : mode == Mode::SINGLE_NODE_MULTI_WRITER ? c.multi_writer
                                                                     : c.single;
      Ledger ledger;
      ASSERT_EQ(ledger.stage(stage_at("v", kStaging, capability)), Code::ok);
      ASSERT_EQ(ledger.publish(publish_at("v", kStaging, "/pub/1", capability)), Code::ok);
      auto second = publish_at("v", kStaging, c.same_target ? "/pub/1" : "/pub/2", capability, !c.same_rest);
      (*second.mutable_secrets())["key"] = "changes nothing";
      EXPECT_EQ(ledger.publish(second), expected);
    }
  }
}

TEST(HostpathMounted, AnyOtherArgumentMakesAnotherPublish) {
  Ledger ledger;
  ASSERT_EQ(ledger.stage(stage_at("v", kStaging)), Code::ok);
  ASSERT_EQ(ledger.stage(stage_at("v", "/stage/b")), Code::ok);
  ASSERT_EQ(ledger.stage(stage_at("w", "/stage/w")), Code::ok);
  const auto first = publish_at("v", kStaging, "/pub/1");
  ASSERT_EQ(ledger.publish(first), Code::ok);
  auto context = first, attachment = first;
  (*context.mutable_volume_context())["kind"] = "file-system";
  (*attachment.mutable_publish_context())["attachment"] = "a1";
  EXPECT_EQ(ledger.publish(context), Code::already_exists);
  EXPECT_EQ(ledger.publish(attachment), Code::already_exists);
  EXPECT_EQ(ledger.publish(publish_at("v", "/stage/b", "/pub/1")), Code::already_exists);
  EXPECT_EQ(ledger.publish(publish_at("w", "/stage/w", "/pub/1")), Code::already_exists);
  EXPECT_EQ(ledger.publish(first), Code::ok);
  EXPECT_EQ(ledger.state.published_size(), 1);
}

TEST(HostpathMounted, PublishRefuses) {
  csi::v1::NodePublishVolumeRequest no_capability = publish_at("v", kStaging, "/pub/1");
  no_capability.clear_volume_capability();
  struct Case {
    const char* name;
    csi::v1::NodePublishVolumeRequest request;
    Code code;
  };
  const Case cases[] = {
      {"no volume", publish_at("", kStaging, "/pub/1"), Code::invalid_argument},
      {"no target", publish_at("v", kStaging, ""), Code::invalid_argument},
      {"no capability", no_capability, Code::invalid_argument},
      {"unknown volume", publish_at("gone", kStaging, "/pub/1"), Code::not_found},
      {"no staging path", publish_at("v", "", "/pub/1"), Code::failed_precondition},
      {"staged elsewhere", publish_at("v", "/stage/b", "/pub/1"), Code::failed_precondition},
      {"staged by another", publish_at("w", kStaging, "/pub/1"), Code::failed_precondition},
      {"over a staging path", publish_at("v", kStaging, kStaging), Code::already_exists},
      {"target in the data", publish_at("v", kStaging, "/data/x"), Code::invalid_argument},
      {"other access type", publish_at("v", kStaging, "/pub/1", block()), Code::invalid_argument},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Ledger ledger;
    ASSERT_EQ(ledger.stage(stage_at("v", kStaging)), Code::ok);
    EXPECT_EQ(ledger.publish(c.request), c.code);
    EXPECT_EQ(ledger.state.published_size(), 0);
  }
}

TEST(HostpathMounted, WhereVolumesAreAttachedTheNodeBringsTheContext) {
  Ledger ledger;
  ledger.own.attaches = true;
  EXPECT_EQ(ledger.stage(stage_at("v", kStaging)), Code::failed_precondition) << "not attached";
  const auto token = attach(ledger.state, attach_to("v", "n1"));
  ASSERT_TRUE(token.ok());
  auto request = stage_at("v", kStaging);
  EXPECT_EQ(ledger.stage(request), Code::invalid_argument) << "the context was lost";
  (*request.mutable_publish_context())["attachment"] = "a0";
  EXPECT_EQ(ledger.stage(request), Code::invalid_argument) << "the context is another one's";
  (*request.mutable_publish_context())["attachment"] = *token;
  EXPECT_EQ(ledger.stage(request), Code::ok);
  auto published = publish_at("v", kStaging, "/pub/1");
  EXPECT_EQ(ledger.publish(published), Code::invalid_argument);
  (*published.mutable_publish_context())["attachment"] = *token;
  EXPECT_EQ(ledger.publish(published), Code::ok);
}

TEST(HostpathMounted, UndoingNothingIsDone) {
  Ledger ledger;
  EXPECT_FALSE(*staged_at(ledger.state, ledger.own, "gone", kStaging));
  EXPECT_FALSE(*published_at(ledger.state, ledger.own, "gone", "/pub/1"));
  EXPECT_EQ(staged_at(ledger.state, ledger.own, "", kStaging).status().code(), Code::invalid_argument);
  EXPECT_EQ(staged_at(ledger.state, ledger.own, "v", "").status().code(), Code::invalid_argument);
  EXPECT_EQ(published_at(ledger.state, ledger.own, "", "/pub/1").status().code(), Code::invalid_argument);
  EXPECT_EQ(published_at(ledger.state, ledger.own, "v", "").status().code(), Code::invalid_argument);
}

TEST(HostpathMounted, StepsAreUndoneInOrder) {
  Ledger ledger;
  ASSERT_EQ(ledger.stage(stage_at("v", kStaging)), Code::ok);
  ASSERT_EQ(ledger.publish(publish_at("v", kStaging, "/pub/1")), Code::ok);
  EXPECT_TRUE(is_mounted_at(ledger.state, ledger.own, "v", kStaging));
  EXPECT_TRUE(is_mounted_at(ledger.state, ledger.own, "v", "/pub/1"));
  EXPECT_FALSE(is_mounted_at(ledger.state, ledger.own, "w", "/pub/1"));
  EXPECT_FALSE(*published_at(ledger.state, ledger.own, "w", "/pub/1")) << "that is another volume's";
  EXPECT_EQ(staged_at(ledger.state, ledger.own, "v", kStaging).status().code(), Code::failed_precondition);
  EXPECT_EQ(begin_delete(ledger.state, ledger.own, "v").status(),
            failed_precondition("the volume is in use: it is published on node n1"));

  forget_published(ledger.state, **published_at(ledger.state, ledger.own, "v", "/pub/1"));
  EXPECT_EQ(begin_delete(ledger.state, ledger.own, "v").status(),
            failed_precondition("the volume is in use: it is staged on node n1"));
  forget_staged(ledger.state, **staged_at(ledger.state, ledger.own, "v", kStaging));
  EXPECT_FALSE(*staged_at(ledger.state, ledger.own, "v", kStaging));
  EXPECT_TRUE(begin_delete(ledger.state, ledger.own, "v").ok());
}

TEST(HostpathMounted, ADeviceStaysWhileATargetNeedsIt) {
  Ledger ledger;
  const auto capability = block(Mode::MULTI_NODE_MULTI_WRITER);
  ASSERT_EQ(ledger.stage(stage_at("b", kStaging, capability)), Code::ok);
  ASSERT_EQ(ledger.publish(publish_at("b", kStaging, "/pub/1", capability)), Code::ok);
  ASSERT_EQ(ledger.publish(publish_at("b", kStaging, "/pub/2", capability)), Code::ok);
  ASSERT_EQ(ledger.publish(publish_at("b", kStaging, "/pub/3", capability, true)), Code::ok);
  const auto forget = [&](const char* target) {
    forget_published(ledger.state, **published_at(ledger.state, ledger.own, "b", target));
  };
  forget("/pub/1");
  EXPECT_TRUE(needs_device(ledger.state, ledger.own, "b", false));
  forget("/pub/2");
  EXPECT_FALSE(needs_device(ledger.state, ledger.own, "b", false));
  EXPECT_TRUE(needs_device(ledger.state, ledger.own, "b", true));
}

TEST(HostpathMounted, NodesThatShareTheFolderDoNotMeet) {
  Ledger ledger;
  const auto capability = mounted(Mode::MULTI_NODE_MULTI_WRITER);
  ASSERT_EQ(ledger.stage(stage_at("v", kStaging, capability)), Code::ok);
  ledger.own.node_id = "n2";
  EXPECT_FALSE(*staged_at(ledger.state, ledger.own, "v", kStaging));
  EXPECT_EQ(ledger.publish(publish_at("v", kStaging, "/pub/1", capability)), Code::failed_precondition);
  EXPECT_EQ(ledger.stage(stage_at("v", kStaging, capability)), Code::ok);
  EXPECT_EQ(ledger.state.staged_size(), 2);
}

TEST(HostpathMounted, WhatIsReadOnly) {
  Published published;
  EXPECT_FALSE(is_read_only(published));
  published.set_read_only(true);
  EXPECT_TRUE(is_read_only(published));
  published.set_read_only(false);
  published.mutable_capability()->set_mode("MULTI_NODE_READER_ONLY");
  EXPECT_TRUE(is_read_only(published));
  published.mutable_capability()->set_mode("SINGLE_NODE_WRITER");
  published.mutable_capability()->add_mount_flags("ro");
  EXPECT_TRUE(is_read_only(published));
}

}  // namespace
}  // namespace drover::hostpath
