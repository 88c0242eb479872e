#include "packing/pack.h"

#include <utility>

#include "drover/message_fields.h"
#include "drover/messages.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/node.pb.h"
#include "packing/format.h"
#include "packing/packer.h"
#include "packing/unpacker.h"
#include "scheduler.pb.h"

namespace drover::scheduler::packing {
namespace {

template <typename Message>
void add(const google::protobuf::RepeatedPtrField<Message>& list, Packer& packer) {
  packer.add_count(static_cast<size_t>(list.size()));
  for (const Message& message : list) packer.add(serialize(message), *Message::descriptor());
}

template <typename Message>
Status parse(std::string_view bytes, Message& message) {
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return ok_status();
  return data_loss("a packed plan is damaged: it holds no " + std::string(Message::descriptor()->name()));
}

template <typename Message>
Status take(Unpacker& unpacker, google::protobuf::RepeatedPtrField<Message>& list) {
  DROVER_TRY(const size_t count, unpacker.count());
  for (size_t i = 0; i < count; ++i) {
    DROVER_TRY(const std::string_view bytes, unpacker.next());
    DROVER_RETURN_IF_ERROR(parse(bytes, *list.Add()));
  }
  return ok_status();
}

// Metrics are most of an allocation's bytes and of its maps: making messages of them takes most of the time.
Status take_placed(Unpacker& unpacker, v1::PlanApplied& plan, std::vector<std::string>& metrics) {
  DROVER_TRY(const size_t count, unpacker.count());
  for (size_t i = 0; i < count; ++i) {
    DROVER_TRY(const std::string_view bytes, unpacker.next());
    std::string rest;
    rest.reserve(bytes.size());
    append_without(rest, bytes, v1::Allocation::kMetricsFieldNumber);
    DROVER_RETURN_IF_ERROR(parse<v1::Allocation>(rest, *plan.add_placed()));
    metrics.emplace_back(bytes_field(bytes, v1::Allocation::kMetricsFieldNumber));
  }
  return ok_status();
}

Status check_format(const v1::PlansApplied& packed) {
  if (packed.format() == kFormat) return ok_status();
  return unimplemented("a packed plan is of format " + std::to_string(packed.format()) + "; this version knows " +
                       std::to_string(kFormat));
}

Status take_the_others(Unpacker& unpacker, v1::PlanApplied& plan) {
  DROVER_RETURN_IF_ERROR(take(unpacker, *plan.mutable_changed()));
  DROVER_RETURN_IF_ERROR(take(unpacker, *plan.mutable_evaluations()));
  if (!unpacker.is_at_end()) return data_loss("a packed plan is damaged: something is left over");
  return ok_status();
}

}  // namespace

FindNode nodes_of(const ReadView& view, TableId nodes) {
  return [&view, nodes](std::string_view prefix) -> std::optional<KnownNode> {
    const auto cursor = view.scan(nodes, kPrimary, KeyRange::prefix(std::string(prefix)));
    if (!cursor->valid()) return std::nullopt;
    const std::string_view row = cursor->row();
    KnownNode node{.id = std::string(bytes_field(row, v1::Node::kIdFieldNumber)),
                   .name = std::string(bytes_field(row, v1::Node::kNameFieldNumber))};
    cursor->next();
    if (cursor->valid()) return std::nullopt;
    return node;
  };
}

std::optional<v1::PlansApplied> pack(v1::PlanApplied& plan, const FindNode& nodes) {
  Packer packer(nodes);
  add(plan.placed(), packer);
  add(plan.changed(), packer);
  add(plan.evaluations(), packer);
  if (!packer.can_be_unpacked()) return std::nullopt;
  plan.clear_placed();
  plan.clear_changed();
  plan.clear_evaluations();
  v1::PlansApplied packed;
  packed.set_format(kFormat);
  packed.set_packed(packer.take());
  *packed.mutable_rest() = std::move(plan);
  return packed;
}

Result<v1::PlanApplied> unpack(v1::PlansApplied packed, const FindNode& nodes) {
  DROVER_RETURN_IF_ERROR(check_format(packed));
  v1::PlanApplied plan = std::move(*packed.mutable_rest());
  Unpacker unpacker(packed.packed(), nodes);
  DROVER_RETURN_IF_ERROR(take(unpacker, *plan.mutable_placed()));
  DROVER_RETURN_IF_ERROR(take_the_others(unpacker, plan));
  return plan;
}

Result<v1::PlanApplied> unpack_apart(v1::PlansApplied packed, const FindNode& nodes,
                                     std::vector<std::string>& metrics) {
  DROVER_RETURN_IF_ERROR(check_format(packed));
  v1::PlanApplied plan = std::move(*packed.mutable_rest());
  Unpacker unpacker(packed.packed(), nodes);
  DROVER_RETURN_IF_ERROR(take_placed(unpacker, plan, metrics));
  DROVER_RETURN_IF_ERROR(take_the_others(unpacker, plan));
  return plan;
}

}  // namespace drover::scheduler::packing
