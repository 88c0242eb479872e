#include "volumes.h"

#include "../settings.h"
#include "../testing/requests.h"
#include "drover/messages.h"
#include "gtest/gtest.h"
#include "hostpath.pb.h"
#include "mounted.h"
#include "sizes.h"
#include "snapshots.h"

namespace drover::hostpath {
namespace {

constexpr int64_t kMiB = 1 << 20;
constexpr int64_t kGiB = 1 << 30;
constexpr Room kDisk{.total = 100 * kGiB, .left = 50 * kGiB};

Settings settings() { return {.data_dir = "/data", .node_id = "n1", .attaches = true}; }

std::string no_complaint(const Volume&) { return {}; }

// One plugin's ledger, with what tests do with it most.
struct Ledger {
  State state;
  Settings own = settings();
  int made = 0;

  explicit Ledger(Settings wanted = settings()) : own(std::move(wanted)) {
    for (const char* node : {"n1", "n2"}) {
      Settings of_node = own;
      of_node.node_id = node;
      register_node(state, of_node);
    }
  }
  Result<Volume> begin(const csi::v1::CreateVolumeRequest& request) {
    return begin_create(state, own, kDisk, "v" + std::to_string(++made), request);
  }
  // Errors are the test's.
  std::string make(const csi::v1::CreateVolumeRequest& request) {
    const auto volume = begin(request);
    EXPECT_TRUE(volume.ok()) << volume.status().to_string();
    if (!volume) return {};
    end_create(state, volume->id());
    return volume->id();
  }
  std::string make(const std::string& name) { return make(create(name, kMiB)); }
  std::string snap(const std::string& volume, const std::string& name) {
    const auto snapshot = begin_snapshot(state, own, kDisk, "s" + std::to_string(++made), 7, snapshot_of(volume, name));
    EXPECT_TRUE(snapshot.ok()) << snapshot.status().to_string();
    if (!snapshot) return {};
    end_snapshot(state, snapshot->id());
    return snapshot->id();
  }
};

TEST(HostpathVolumes, ARepeatedCreateFindsItsVolume) {
  Ledger ledger;
  const auto first = ledger.begin(create("db", kMiB, 2 * kMiB));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->stage(), STAGE_MAKING);
  EXPECT_EQ(find_volume(ledger.state, "v1"), nullptr) << "nobody sees what is being made";

  const auto cut_off = ledger.begin(create("db", kMiB, 2 * kMiB));
  ASSERT_TRUE(cut_off.ok());
  EXPECT_EQ(serialize(*cut_off), serialize(*first));

  end_create(ledger.state, "v1");
  const auto repeated = ledger.begin(create("db", kMiB));
  ASSERT_TRUE(repeated.ok());
  EXPECT_EQ(repeated->id(), "v1");
  EXPECT_EQ(repeated->stage(), STAGE_READY);
  EXPECT_EQ(ledger.state.volumes_size(), 1);
}

TEST(HostpathVolumes, ANameIsTakenByAnotherVolume) {
  Ledger ledger;
  const std::string source = ledger.make("source");
  const std::string snapshot = ledger.snap(source, "s");
  ledger.make(create("db", 2 * kMiB));
  csi::v1::CreateVolumeRequest cloned = create("db", 2 * kMiB), restored = cloned, parameters = cloned;
  cloned.mutable_volume_content_source()->mutable_volume()->set_volume_id(source);
  restored.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id(snapshot);
  (*parameters.mutable_parameters())["permissions"] = "0700";
  struct Case {
    const char* name;
    csi::v1::CreateVolumeRequest request;
    const char* error;
  };
  const Case cases[] = {
      {"more", create("db", 3 * kMiB), "there is a volume of that name with less capacity"},
      {"less", create("db", kMiB, kMiB), "there is a volume of that name with more capacity"},
      {"block", create("db", 2 * kMiB, 0, block()), "there is a volume of that name with another access type"},
      {"clone", cloned, "there is a volume of that name with another source"},
      {"restored", restored, "there is a volume of that name with another source"},
      {"parameters", parameters, "there is a volume of that name with other parameters"},
  };
  const std::string before = serialize(ledger.state);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ledger.begin(c.request).status(), already_exists(c.error));
    EXPECT_EQ(serialize(ledger.state), before);
  }
}

TEST(HostpathVolumes, CreateRefuses) {
  Ledger ledger({.data_dir = "/data", .node_id = "n1", .topology = {{"Zone", "a"}}, .capacity = 10 * kMiB});
  csi::v1::CreateVolumeRequest no_capability = create("x"), unknown = create("x"), octal = create("x"),
                               mutables = create("x"), no_source = create("x"), lost = create("x"),
                               lost_snapshot = create("x"), elsewhere = create("x"), here = create("here");
  no_capability.clear_volume_capabilities();
  (*unknown.mutable_parameters())["speed"] = "fast";
  (*octal.mutable_parameters())["permissions"] = "0999";
  (*mutables.mutable_mutable_parameters())["iops"] = "9";
  no_source.mutable_volume_content_source();
  lost.mutable_volume_content_source()->mutable_volume()->set_volume_id("gone");
  lost_snapshot.mutable_volume_content_source()->mutable_snapshot()->set_snapshot_id("gone");
  (*elsewhere.mutable_accessibility_requirements()->add_requisite()->mutable_segments())["zone"] = "b";
  (*here.mutable_accessibility_requirements()->add_requisite()->mutable_segments())["zone"] = "b";
  (*here.mutable_accessibility_requirements()->add_requisite()->mutable_segments())["zone"] = "a";
  here.mutable_capacity_range()->set_required_bytes(kMiB);
  struct Case {
    const char* name;
    csi::v1::CreateVolumeRequest request;
    Code code;
  };
  const Case cases[] = {
      {"no name", create(""), Code::invalid_argument},
      {"no capability", no_capability, Code::invalid_argument},
      {"unknown parameter", unknown, Code::invalid_argument},
      {"no octal number", octal, Code::invalid_argument},
      {"mutable parameters", mutables, Code::invalid_argument},
      {"source of no kind", no_source, Code::invalid_argument},
      {"source gone", lost, Code::not_found},
      {"snapshot gone", lost_snapshot, Code::not_found},
      {"other place", elsewhere, Code::resource_exhausted},
      {"negative", create("x", -1), Code::invalid_argument},
      {"limit below", create("x", 2 * kMiB, kMiB), Code::out_of_range},
      {"more than there ever is", create("x", 11 * kMiB), Code::out_of_range},
      {"limit below a block", create("x", 0, 100), Code::out_of_range},
  };
  const std::string before = serialize(ledger.state);
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(ledger.begin(c.request).status().code(), c.code);
    EXPECT_EQ(serialize(ledger.state), before);
  }
  EXPECT_EQ(described(*existing_volume(ledger.state, ledger.make(here))).accessible_topology(0).segments().at("Zone"),
            "a");
  ledger.make(create("most", 8 * kMiB));
  EXPECT_EQ(ledger.begin(create("x", 2 * kMiB)).status().code(), Code::resource_exhausted) << "there is no room now";
}

TEST(HostpathVolumes, Sizes) {
  struct Case {
    const char* name;
    int64_t required, limit, least;
    bool is_block;
    int64_t size;  // 0: out of range
  };
  const Case cases[] = {
      {"nothing asked", 0, 0, 0, false, kGiB},
      {"a limit below the usual", 0, kMiB, 0, false, kMiB},
      {"a limit above the usual", 0, 3 * kGiB, 0, false, kGiB},
      {"exact", 5000, 5000, 0, false, 5000},
      {"tiny", 1, 0, 0, false, kBlock},
      {"tiny with a limit", 1, 1, 0, false, 0},
      {"a device is whole blocks", 5000, 0, 0, true, 2 * kBlock},
      {"that do not fit", 5000, 5000, 0, true, 0},
      {"at least its source", 0, 0, 2 * kMiB, false, 2 * kMiB},
      {"a source above the limit", 0, kMiB, 2 * kMiB, false, 0},
      {"more than its source", 3 * kMiB, 0, 2 * kMiB, false, 3 * kMiB},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    csi::v1::CapacityRange range;
    range.set_required_bytes(c.required);
    range.set_limit_bytes(c.limit);
    const auto size = size_of(range, c.is_block, c.least);
    if (c.size) {
      EXPECT_EQ(size.value_or(-1), c.size);
    } else {
      EXPECT_EQ(size.status().code(), Code::out_of_range);
    }
  }
}

TEST(HostpathVolumes, DeleteIsDoneOnceAndForAll) {
  Ledger ledger;
  const std::string id = ledger.make("db");
  EXPECT_FALSE(*begin_delete(ledger.state, ledger.own, "unknown"));
  EXPECT_EQ(begin_delete(ledger.state, ledger.own, "a/b").status().code(), Code::invalid_argument);

  ASSERT_TRUE(attach(ledger.state, attach_to(id, "n1")).ok());
  EXPECT_EQ(begin_delete(ledger.state, ledger.own, id).status(),
            failed_precondition("the volume is in use: it is attached to node n1"));
  ASSERT_TRUE(detach(ledger.state, detach_from(id, "n1")).ok());

  ASSERT_TRUE(begin_delete(ledger.state, ledger.own, id)->has_value());
  EXPECT_EQ(find_volume(ledger.state, id), nullptr);
  EXPECT_EQ(ledger.begin(create("db")).status().code(), Code::aborted) << "the name is not free yet";
  EXPECT_TRUE(begin_delete(ledger.state, ledger.own, id)->has_value()) << "a crash came in between";
  end_delete(ledger.state, id);
  EXPECT_FALSE(*begin_delete(ledger.state, ledger.own, id));
  EXPECT_EQ(ledger.state.volumes_size(), 0);
}

TEST(HostpathVolumes, AttachAnswersByTheTable) {
  using M = Mode;
  struct Case {
    const char* name;
    csi::v1::VolumeCapability first;
    const char* node;  // of the second
    csi::v1::VolumeCapability second;
    bool readonly;
    Code code;
  };
  const Case cases[] = {
      {"same node, same", mounted(), "n1", mounted(), false, Code::ok},
      {"same node, other mode", mounted(), "n1", mounted(M::MULTI_NODE_MULTI_WRITER), false, Code::already_exists},
      {"same node, read only", mounted(), "n1", mounted(), true, Code::already_exists},
      {"other node, single", mounted(), "n2", mounted(), false, Code::failed_precondition},
      {"other node, multi writer of one node", mounted(M::SINGLE_NODE_MULTI_WRITER), "n2",
       mounted(M::SINGLE_NODE_MULTI_WRITER), false, Code::failed_precondition},
      {"other node, first single", mounted(), "n2", mounted(M::MULTI_NODE_READER_ONLY), true,
       Code::failed_precondition},
      {"other node, second single", mounted(M::MULTI_NODE_READER_ONLY), "n2", mounted(), false,
       Code::failed_precondition},
      {"other node, multi", mounted(M::MULTI_NODE_MULTI_WRITER), "n2", mounted(M::MULTI_NODE_MULTI_WRITER), false,
       Code::ok},
      {"unknown node", mounted(), "n9", mounted(), false, Code::not_found},
      {"no node", mounted(), "", mounted(), false, Code::invalid_argument},
      {"other access type", mounted(), "n1", block(), false, Code::invalid_argument},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Ledger ledger;
    const std::string id = ledger.make("db");
    const auto first = attach(ledger.state, attach_to(id, "n1", c.first));
    ASSERT_TRUE(first.ok());
    const auto second = attach(ledger.state, attach_to(id, c.node, c.second, c.readonly));
    EXPECT_EQ(second.status().code(), c.code) << second.status().to_string();
    if (second && std::string(c.node) == "n1") {
      EXPECT_EQ(*second, *first);
    }
  }
  Ledger ledger;
  EXPECT_EQ(attach(ledger.state, attach_to("gone", "n1")).status().code(), Code::not_found);
}

TEST(HostpathVolumes, ANodeTakesAsManyAsItMay) {
  Ledger ledger({.data_dir = "/data", .node_id = "n1", .max_volumes = 1});
  const std::string a = ledger.make("a"), b = ledger.make("b");
  ASSERT_TRUE(attach(ledger.state, attach_to(a, "n1")).ok());
  EXPECT_EQ(attach(ledger.state, attach_to(b, "n1")).status().code(), Code::resource_exhausted);
  EXPECT_TRUE(attach(ledger.state, attach_to(a, "n1")).ok()) << "it is there already";
  EXPECT_TRUE(attach(ledger.state, attach_to(b, "n2")).ok());
}

TEST(HostpathVolumes, DetachIsDoneWhenNothingIsThere) {
  Ledger ledger;
  const std::string id = ledger.make("db");
  for (const char* node : {"n1", "n2"})
    ASSERT_TRUE(attach(ledger.state, attach_to(id, node, mounted(Mode::MULTI_NODE_MULTI_WRITER))).ok());
  EXPECT_TRUE(detach(ledger.state, detach_from("gone", "n1")).ok());
  EXPECT_TRUE(detach(ledger.state, detach_from(id, "n9")).ok());
  EXPECT_EQ(ledger.state.volumes(0).attached_size(), 2);
  EXPECT_TRUE(detach(ledger.state, detach_from(id, "n1")).ok());
  EXPECT_TRUE(detach(ledger.state, detach_from(id, "n1")).ok());
  EXPECT_EQ(ledger.state.volumes(0).attached_size(), 1);
  EXPECT_TRUE(detach(ledger.state, detach_from(id, "")).ok()) << "from all";
  EXPECT_EQ(ledger.state.volumes(0).attached_size(), 0);
  EXPECT_EQ(detach(ledger.state, detach_from("", "n1")).code(), Code::invalid_argument);
}

TEST(HostpathVolumes, ValidateConfirmsOrSaysWhyNot) {
  Ledger ledger;
  csi::v1::ValidateVolumeCapabilitiesRequest request;
  request.set_volume_id(ledger.make("db"));
  EXPECT_EQ(validate(ledger.state, request).status().code(), Code::invalid_argument) << "no capability";
  *request.add_volume_capabilities() = mounted();
  (*request.mutable_volume_context())["kind"] = "file-system";
  const auto good = validate(ledger.state, request);
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->confirmed().volume_capabilities_size(), 1);
  EXPECT_EQ(good->confirmed().volume_context().at("kind"), "file-system");

  auto other = request;
  *other.add_volume_capabilities() = block();
  EXPECT_FALSE(validate(ledger.state, other)->has_confirmed());
  EXPECT_EQ(validate(ledger.state, other)->message(), "the volume is a file system");
  other = request;
  (*other.mutable_volume_context())["kind"] = "block-device";
  EXPECT_EQ(validate(ledger.state, other)->message(), "this is not the volume's context");
  other = request;
  (*other.mutable_parameters())["permissions"] = "0700";
  EXPECT_EQ(validate(ledger.state, other)->message(), "the volume was made with other parameters");
  other = request;
  other.set_volume_id("gone");
  EXPECT_EQ(validate(ledger.state, other).status().code(), Code::not_found);
}

csi::v1::ListVolumesRequest page(int32_t most, const std::string& token) {
  csi::v1::ListVolumesRequest request;
  request.set_max_entries(most);
  request.set_starting_token(token);
  return request;
}

TEST(HostpathVolumes, PagesGoOnWhateverHappensBetween) {
  Ledger ledger;
  const std::string a = ledger.make("a"), b = ledger.make("b");
  ledger.make("c");
  const auto first = list_volumes(ledger.state, page(2, ""), no_complaint);
  ASSERT_TRUE(first.ok());
  ASSERT_EQ(first->entries_size(), 2);
  EXPECT_EQ(first->entries(1).volume().volume_id(), b);
  ASSERT_TRUE(begin_delete(ledger.state, ledger.own, b)->has_value());
  end_delete(ledger.state, b);
  ledger.make("d");

  const auto second = list_volumes(ledger.state, page(2, first->next_token()), no_complaint);

  ASSERT_TRUE(second.ok());
  EXPECT_EQ(second->entries_size(), 2);
  EXPECT_EQ(second->next_token(), "") << "nothing is left";
  EXPECT_EQ(list_volumes(ledger.state, page(0, ""), no_complaint)->entries_size(), 3);
  EXPECT_EQ(list_volumes(ledger.state, page(1, "after-99"), no_complaint)->entries_size(), 0);
  for (const char* token : {"invalid-token", "after-", "after-x", "after-1x", "after--1", "after-99999999999999999999"})
    EXPECT_EQ(list_volumes(ledger.state, page(1, token), no_complaint).status().code(), Code::aborted) << token;
  EXPECT_EQ(list_volumes(ledger.state, page(-1, ""), no_complaint).status().code(), Code::invalid_argument);
}

TEST(HostpathVolumes, ListsSayHowTheyAre) {
  Ledger ledger;
  const std::string id = ledger.make("a");
  ASSERT_TRUE(attach(ledger.state, attach_to(id, "n2")).ok());
  const auto list = list_volumes(ledger.state, page(0, ""), [](const Volume&) { return std::string("it burns"); });
  ASSERT_EQ(list->entries_size(), 1);
  EXPECT_EQ(list->entries(0).status().published_node_ids(0), "n2");
  EXPECT_TRUE(list->entries(0).status().volume_condition().abnormal());
  EXPECT_EQ(list->entries(0).status().volume_condition().message(), "it burns");
  EXPECT_FALSE(get_volume(ledger.state, id, no_complaint)->status().volume_condition().abnormal());
  EXPECT_EQ(get_volume(ledger.state, "gone", no_complaint).status().code(), Code::not_found);
}

csi::v1::ControllerExpandVolumeRequest expand(const std::string& id, int64_t required, int64_t limit = 0) {
  csi::v1::ControllerExpandVolumeRequest request;
  request.set_volume_id(id);
  request.mutable_capacity_range()->set_required_bytes(required);
  request.mutable_capacity_range()->set_limit_bytes(limit);
  return request;
}

TEST(HostpathVolumes, ExpandOnlyGrows) {
  Ledger ledger({.data_dir = "/data", .node_id = "n1", .capacity = 10 * kMiB});
  const std::string id = ledger.make(create("db", 4 * kMiB));
  const auto size = [&](const csi::v1::ControllerExpandVolumeRequest& request) {
    return expanded(ledger.state, ledger.own, kDisk, request);
  };
  EXPECT_EQ(size(expand(id, 6 * kMiB))->capacity(), 6 * kMiB);
  EXPECT_EQ(size(expand(id, kMiB))->capacity(), 4 * kMiB) << "it is large enough already";
  EXPECT_EQ(size(expand(id, 10 * kMiB))->capacity(), 10 * kMiB) << "its own share counts";
  EXPECT_EQ(size(expand(id, kMiB, 2 * kMiB)).status().code(), Code::out_of_range);
  EXPECT_EQ(size(expand(id, 11 * kMiB)).status().code(), Code::out_of_range);
  EXPECT_EQ(size(expand("gone", kMiB)).status().code(), Code::not_found);
  auto request = expand(id, 5 * kMiB);
  *request.mutable_volume_capability() = block();
  EXPECT_EQ(size(request).status().code(), Code::invalid_argument);
  request.clear_capacity_range();
  EXPECT_EQ(size(request).status(), invalid_argument("capacity_range is missing"));
  ledger.make(create("more", 4 * kMiB));
  EXPECT_EQ(size(expand(id, 7 * kMiB)).status().code(), Code::resource_exhausted);

  set_capacity(ledger.state, id, 5 * kMiB);
  set_capacity(ledger.state, id, 3 * kMiB);
  EXPECT_EQ(existing_volume(ledger.state, id)->capacity(), 5 * kMiB);
}

TEST(HostpathSnapshots, ARepeatedOneIsTheSame) {
  Ledger ledger;
  const std::string a = ledger.make("a"), b = ledger.make("b");
  const std::string id = ledger.snap(a, "s");
  EXPECT_EQ(ledger.snap(a, "s"), id);
  const auto begin = [&](const csi::v1::CreateSnapshotRequest& request) {
    return begin_snapshot(ledger.state, ledger.own, kDisk, "new", 9, request).status().code();
  };
  EXPECT_EQ(begin(snapshot_of(b, "s")), Code::already_exists);
  EXPECT_EQ(begin(snapshot_of("gone", "t")), Code::not_found);
  EXPECT_EQ(begin(snapshot_of(a, "")), Code::invalid_argument);
  EXPECT_EQ(begin(snapshot_of("", "t")), Code::invalid_argument);
  auto request = snapshot_of(a, "t");
  (*request.mutable_parameters())["x"] = "y";
  EXPECT_EQ(begin(request), Code::invalid_argument);

  const auto shown = described(*find_snapshot(ledger.state, id));
  EXPECT_EQ(shown.source_volume_id(), a);
  EXPECT_EQ(shown.size_bytes(), kMiB);
  EXPECT_EQ(shown.creation_time().nanos(), 7);
  EXPECT_TRUE(shown.ready_to_use());

  ASSERT_TRUE(begin_delete(ledger.state, ledger.own, a)->has_value()) << "a snapshot stands without its volume";
  end_delete(ledger.state, a);
  EXPECT_EQ(ledger.snap(a, "s"), id);
  ASSERT_TRUE(begin_delete_snapshot(ledger.state, ledger.own, id)->has_value());
  end_delete_snapshot(ledger.state, id);
  EXPECT_FALSE(*begin_delete_snapshot(ledger.state, ledger.own, id));
}

TEST(HostpathSnapshots, AListIsOfOneOrOfOneVolumeOrOfAll) {
  Ledger ledger;
  const std::string a = ledger.make("a"), b = ledger.make("b");
  const std::string first = ledger.snap(a, "1"), second = ledger.snap(b, "2"), third = ledger.snap(a, "3");
  ASSERT_TRUE(begin_snapshot(ledger.state, ledger.own, kDisk, "new", 9, snapshot_of(a, "4")).ok());
  const auto ids = [&](const std::string& volume, const std::string& snapshot, int32_t most = 0) {
    csi::v1::ListSnapshotsRequest request;
    request.set_source_volume_id(volume);
    request.set_snapshot_id(snapshot);
    request.set_max_entries(most);
    const auto list = list_snapshots(ledger.state, request);
    std::string all;
    for (const auto& each : list->entries()) all += each.snapshot().snapshot_id() + " ";
    return all;
  };
  EXPECT_EQ(ids("", ""), first + " " + second + " " + third + " ");
  EXPECT_EQ(ids(a, ""), first + " " + third + " ");
  EXPECT_EQ(ids("", second), second + " ");
  EXPECT_EQ(ids(a, second), "");
  EXPECT_EQ(ids("gone", ""), "");
  EXPECT_EQ(ids(a, "", 1), first + " ");
}

}  // namespace
}  // namespace drover::hostpath
