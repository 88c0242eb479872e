#include "storage/membership_bytes.h"

namespace drover::raft {

std::string encode_membership(const Membership& membership) {
  std::string out(16, '\0');
  put<uint64_t>(out.data(), membership.index);
  put<uint32_t>(out.data() + 8, static_cast<uint32_t>(membership.members.size()));
  put<uint32_t>(out.data() + 12, static_cast<uint32_t>(membership.outgoing.size()));
  for (const Member& member : membership.members) {
    char head[4];
    put<uint16_t>(head, static_cast<uint16_t>(member.suffrage));
    put<uint16_t>(head + 2, static_cast<uint16_t>(member.address.size()));
    out.append(member.id.bytes()).append(head, 4).append(member.address);
  }
  for (const NodeId& id : membership.outgoing) out.append(id.bytes());
  return out;
}

Result<Membership> decode_membership(std::string_view bytes) {
  const Status damaged = data_loss("the membership is damaged");
  if (bytes.size() < 16) return damaged;
  Membership membership;
  membership.index = get<uint64_t>(bytes.data());
  const uint32_t members = get<uint32_t>(bytes.data() + 8);
  const uint32_t outgoing = get<uint32_t>(bytes.data() + 12);
  bytes.remove_prefix(16);
  for (uint32_t i = 0; i < members; ++i) {
    if (bytes.size() < 20) return damaged;
    const uint16_t suffrage = get<uint16_t>(bytes.data() + 16);
    const size_t length = get<uint16_t>(bytes.data() + 18);
    if (suffrage > 1 || bytes.size() - 20 < length) return damaged;
    membership.members.push_back({.id = Uuid::from_bytes(bytes.substr(0, 16)),
                                  .address = std::string(bytes.substr(20, length)),
                                  .suffrage = static_cast<Suffrage>(suffrage)});
    bytes.remove_prefix(20 + length);
  }
  if (bytes.size() / 16 != outgoing || bytes.size() % 16 != 0) return damaged;
  for (; !bytes.empty(); bytes.remove_prefix(16)) membership.outgoing.push_back(Uuid::from_bytes(bytes.substr(0, 16)));
  return membership;
}

}  // namespace drover::raft
