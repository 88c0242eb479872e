#include "contract/contract.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <set>
#include <string>

#include "csi/protocol/messages.h"

namespace drover::csi_kit::contract {
namespace {

namespace v1 = ::csi::v1;
using google::protobuf::util::MessageDifferencer;
using Rpc = v1::ControllerServiceCapability::RPC;
using AccessMode = v1::VolumeCapability::AccessMode;

bool is_alphanumeric(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

// None is UNKNOWN and none is there twice. A type newer than this kit is no fault.
Status distinct(const std::vector<int>& types) {
  std::set<int> seen;
  for (const int type : types) {
    DROVER_RETURN_IF_ERROR(expect(type != 0, "a capability has no type"));
    DROVER_RETURN_IF_ERROR(expect(seen.insert(type).second, "capability " + std::to_string(type) + " is there twice"));
  }
  return {};
}

template <typename Map>
bool is_same(const Map& a, const Map& b) {
  return a.size() == b.size() && std::ranges::all_of(a, [&](const auto& entry) {
           const auto at = b.find(entry.first);
           return at != b.end() && at->second == entry.second;
         });
}

}  // namespace

Status expect(bool holds, std::string what) { return holds ? ok_status() : failed_precondition(std::move(what)); }

Status one_of(const Status& came, std::initializer_list<Code> right) {
  if (std::ranges::find(right, came.code()) != right.end()) return {};
  std::string words;
  for (const Code code : right) words += (words.empty() ? "" : " or ") + std::string(to_string(code));
  return expect(false, "the code should be " + words + ", and is " + std::string(to_string(came.code())));
}

bool is_plugin_name(std::string_view name) {
  if (name.empty() || name.size() > 63 || !is_alphanumeric(name.front()) || !is_alphanumeric(name.back())) return false;
  return std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '-' || c == '.'; });
}

Status plugin_name(const v1::GetPluginInfoResponse& info) {
  return expect(is_plugin_name(info.name()), "name: \"" + info.name() + "\" is none");
}

Status capabilities(const v1::GetPluginCapabilitiesResponse& answer) {
  std::vector<int> types;
  for (const auto& each : answer.capabilities())
    types.push_back(each.has_volume_expansion() ? 1000 * each.volume_expansion().type() : each.service().type());
  return distinct(types);
}

Status capabilities(const v1::ControllerGetCapabilitiesResponse& answer) {
  std::vector<int> types;
  for (const auto& each : answer.capabilities()) types.push_back(each.rpc().type());
  return distinct(types);
}

Status capabilities(const v1::NodeGetCapabilitiesResponse& answer) {
  std::vector<int> types;
  for (const auto& each : answer.capabilities()) types.push_back(each.rpc().type());
  return distinct(types);
}

Status consistent(const v1::ControllerGetCapabilitiesResponse& answer) {
  struct Pair {
    Rpc::Type type, with;
  };
  constexpr Pair kPairs[] = {{Rpc::PUBLISH_READONLY, Rpc::PUBLISH_UNPUBLISH_VOLUME},
                             {Rpc::LIST_VOLUMES_PUBLISHED_NODES, Rpc::PUBLISH_UNPUBLISH_VOLUME},
                             {Rpc::LIST_VOLUMES_PUBLISHED_NODES, Rpc::LIST_VOLUMES},
                             {Rpc::CLONE_VOLUME, Rpc::CREATE_DELETE_VOLUME}};
  std::set<int> has;
  for (const auto& each : answer.capabilities()) has.insert(each.rpc().type());
  for (const auto& [type, with] : kPairs)
    DROVER_RETURN_IF_ERROR(
        expect(!has.contains(type) || has.contains(with), Rpc::Type_Name(type) + " without " + Rpc::Type_Name(with)));
  return {};
}

Status identifier(std::string_view id, std::string_view field, size_t most) {
  DROVER_RETURN_IF_ERROR(expect(!id.empty(), std::string(field) + " is empty"));
  return expect(id.size() <= most, std::string(field) + " has " + std::to_string(id.size()) + " bytes");
}

Status room(const v1::GetCapacityResponse& answer) {
  DROVER_RETURN_IF_ERROR(expect(answer.available_capacity() >= 0, "available_capacity is negative"));
  if (!answer.has_maximum_volume_size() || !answer.has_minimum_volume_size()) return {};
  // A maximum of nothing says that nothing fits.
  const int64_t most = answer.maximum_volume_size().value(), least = answer.minimum_volume_size().value();
  DROVER_RETURN_IF_ERROR(expect(most >= 0 && least >= 0, "a size is negative"));
  return expect(most == 0 || least <= most, "minimum_volume_size is more than maximum_volume_size");
}

Status capacity(const v1::CreateVolumeRequest& asked, const v1::Volume& volume) {
  const int64_t bytes = volume.capacity_bytes();
  if (bytes == 0) return {};  // unknown
  const v1::CapacityRange& range = asked.capacity_range();
  DROVER_RETURN_IF_ERROR(expect(bytes >= range.required_bytes(), "capacity_bytes is less than required_bytes"));
  return expect(range.limit_bytes() == 0 || bytes <= range.limit_bytes(), "capacity_bytes is more than limit_bytes");
}

Status source(const v1::CreateVolumeRequest& asked, const v1::Volume& volume) {
  DROVER_RETURN_IF_ERROR(expect(volume.has_content_source(), "content_source is missing"));
  return expect(MessageDifferencer::Equals(asked.volume_content_source(), volume.content_source()),
                "content_source is another one");
}

Status places(const v1::Volume& volume) {
  DROVER_RETURN_IF_ERROR(expect(volume.accessible_topology_size() > 0, "accessible_topology is missing"));
  for (const auto& each : volume.accessible_topology())
    DROVER_RETURN_IF_ERROR(expect(!each.segments().empty(), "a term of accessible_topology has no segments"));
  return {};
}

Status context_size(size_t bytes, std::string_view field) {
  return expect(bytes <= 4096, std::string(field) + " has " + std::to_string(bytes) + " bytes");
}

Status confirmed(const v1::ValidateVolumeCapabilitiesRequest& asked,
                 const v1::ValidateVolumeCapabilitiesResponse& answer) {
  DROVER_RETURN_IF_ERROR(
      expect(answer.has_confirmed(), "nothing is confirmed; the plugin says: \"" + answer.message() + "\""));
  const auto& confirmed = answer.confirmed();
  for (const auto& each : asked.volume_capabilities()) {
    const bool is_there = std::ranges::any_of(
        confirmed.volume_capabilities(), [&](const auto& other) { return MessageDifferencer::Equals(each, other); });
    DROVER_RETURN_IF_ERROR(expect(is_there, "a capability is not confirmed"));
  }
  DROVER_RETURN_IF_ERROR(
      expect(is_same(asked.volume_context(), confirmed.volume_context()) || confirmed.volume_context().empty(),
             "another volume_context is confirmed"));
  return expect(is_same(asked.parameters(), confirmed.parameters()) || confirmed.parameters().empty(),
                "other parameters are confirmed");
}

Status snapshot(const v1::CreateSnapshotRequest& asked, const v1::Snapshot& snapshot) {
  DROVER_RETURN_IF_ERROR(identifier(snapshot.snapshot_id(), "snapshot_id"));
  DROVER_RETURN_IF_ERROR(
      expect(snapshot.source_volume_id() == asked.source_volume_id(), "source_volume_id is another one"));
  DROVER_RETURN_IF_ERROR(expect(snapshot.size_bytes() >= 0, "size_bytes is negative"));
  return expect(snapshot.creation_time().seconds() > 0, "creation_time is missing");
}

Status usage(const v1::NodeGetVolumeStatsResponse& answer) {
  DROVER_RETURN_IF_ERROR(expect(answer.usage_size() > 0, "usage is empty"));
  std::set<int> units;
  for (const auto& each : answer.usage()) {
    DROVER_RETURN_IF_ERROR(expect(each.unit() != v1::VolumeUsage::UNKNOWN, "a unit is missing"));
    DROVER_RETURN_IF_ERROR(expect(units.insert(each.unit()).second, "a unit is there twice"));
    DROVER_RETURN_IF_ERROR(
        expect(each.total() >= 0 && each.used() >= 0 && each.available() >= 0, "a size is negative"));
    DROVER_RETURN_IF_ERROR(expect(each.available() <= each.total(), "more is available than there is"));
  }
  return {};
}

Code second_publish(int mode, bool is_same_target, bool are_same_arguments) {
  if (is_same_target) return are_same_arguments ? Code::ok : Code::already_exists;
  switch (mode) {
    case AccessMode::MULTI_NODE_READER_ONLY:
    case AccessMode::MULTI_NODE_SINGLE_WRITER:
    case AccessMode::MULTI_NODE_MULTI_WRITER:
    case AccessMode::SINGLE_NODE_MULTI_WRITER:
      return Code::ok;
    default:
      return Code::failed_precondition;
  }
}

}  // namespace drover::csi_kit::contract
