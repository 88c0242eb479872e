#include "record.h"

#include "gossip_wire.pb.h"

namespace drover::gossip {
namespace {

constexpr size_t kTextBytes = 256;  // longest name or address

ServerStatus status_of(State state) {
  switch (state) {
    case State::alive:
    case State::suspect:
      return ServerStatus::alive;
    case State::leaving:
      return ServerStatus::leaving;
    case State::failed:
      return ServerStatus::failed;
    default:
      return ServerStatus::left;
  }
}

}  // namespace

v1::Record to_record(const Member& member) {
  v1::Record record;
  const ServerMember& info = member.info;
  record.set_id(info.id.bytes());
  record.set_incarnation(member.incarnation);
  record.set_state(static_cast<v1::State>(member.state));
  record.set_name(info.name);
  record.set_region(info.region);
  record.set_datacenter(info.datacenter);
  record.set_version(info.version);
  record.set_address(info.address);
  record.set_rpc_address(info.rpc_address);
  if (!info.cluster_id.is_zero()) record.set_cluster_id(info.cluster_id.bytes());
  record.set_bootstrap_expect(static_cast<uint32_t>(info.bootstrap_expect));
  record.set_proposal(member.proposal);
  return record;
}

std::optional<Member> from_record(const v1::Record& record) {
  if (record.id().size() != 16 || !v1::State_IsValid(record.state()) || record.bootstrap_expect() > 1000) return {};
  for (const std::string* text : {&record.name(), &record.region(), &record.datacenter(), &record.version(),
                                  &record.address(), &record.rpc_address()}) {
    if (text->size() > kTextBytes) return {};
  }
  if (record.name().empty() || record.address().empty()) return {};
  Member member;
  member.state = static_cast<State>(record.state());
  member.incarnation = record.incarnation();
  member.proposal = record.proposal();
  member.info = {.id = Uuid::from_bytes(record.id()),
                 .name = record.name(),
                 .region = record.region(),
                 .datacenter = record.datacenter(),
                 .version = record.version(),
                 .address = record.address(),
                 .rpc_address = record.rpc_address(),
                 .cluster_id = Uuid::from_bytes(record.cluster_id()),
                 .bootstrap_expect = static_cast<int>(record.bootstrap_expect()),
                 .status = status_of(member.state)};
  return member;
}

}  // namespace drover::gossip
