#include "packing/pack.h"

#include <unordered_set>
#include <utility>

#include "drover/message_fields.h"
#include "drover/messages.h"
#include "drover/v1/allocation.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "drover/v1/node.pb.h"
#include "packing/format.h"
#include "packing/packer.h"
#include "packing/unpacker.h"
#include "packing/wire.h"
#include "scheduler.pb.h"

namespace drover::scheduler::packing {
namespace {

template <typename Message>
void add(const google::protobuf::RepeatedPtrField<Message>& list, Packer& packer) {
  packer.add_number(static_cast<uint64_t>(list.size()));
  for (const Message& message : list) packer.add(serialize(message), *Message::descriptor());
}

// The rows of the evaluations that the plan is of. They are known by their first bytes; the time of the first follows.
int64_t add_bases(const v1::PlanApplied& plan, const Lookup& lookup, Packer& packer) {
  struct Base {
    std::string_view id;
    std::string row;
  };
  std::vector<Base> bases;
  std::unordered_set<std::string_view> seen;
  const auto note = [&](const std::string& id) {
    if (id.size() != kIdentifier || !seen.insert(id).second) return;
    auto row = lookup.eval(std::string_view(id).substr(0, kEvalPrefix));
    if (row && first_text(*row) == id) bases.push_back({id, *std::move(row)});
  };
  for (const v1::Evaluation& eval : plan.evaluations()) note(eval.id());
  for (const v1::Allocation& alloc : plan.placed()) note(alloc.eval_id());
  packer.add_number(bases.size());
  int64_t time = 0;
  for (Base& base : bases) {
    if (&base == bases.data()) time = time_of(base.row);
    packer.add_bytes(base.id.substr(0, kEvalPrefix));
    packer.add_number(indexes_until_change(base.row));
    packer.know_base(std::move(base.row));
  }
  return time;
}

template <typename Message>
Status parse(std::string_view bytes, Message& message) {
  if (message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return ok_status();
  return data_loss("a packed plan is damaged: it holds no " + std::string(Message::descriptor()->name()));
}

template <typename Message>
Status take(Unpacker& unpacker, google::protobuf::RepeatedPtrField<Message>& list, bool on_bases = false) {
  DROVER_TRY(const uint64_t count, unpacker.number());
  for (uint64_t i = 0; i < count; ++i) {
    DROVER_TRY(const std::string_view bytes, on_bases ? unpacker.next_on_base() : unpacker.next());
    DROVER_RETURN_IF_ERROR(parse(bytes, *list.Add()));
  }
  return ok_status();
}

// Metrics are most of an allocation's bytes and of its maps: making messages of them takes most of the time.
Status take_placed(Unpacker& unpacker, v1::PlanApplied& plan, std::vector<std::string>& metrics) {
  DROVER_TRY(const uint64_t count, unpacker.number());
  for (uint64_t i = 0; i < count; ++i) {
    DROVER_TRY(const std::string_view bytes, unpacker.next());
    std::string rest;
    rest.reserve(bytes.size());
    append_without(rest, bytes, v1::Allocation::kMetricsFieldNumber);
    DROVER_RETURN_IF_ERROR(parse<v1::Allocation>(rest, *plan.add_placed()));
    metrics.emplace_back(bytes_field(bytes, v1::Allocation::kMetricsFieldNumber));
  }
  return ok_status();
}

Status take_the_others(Unpacker& unpacker, Format format, v1::PlanApplied& plan) {
  DROVER_RETURN_IF_ERROR(take(unpacker, *plan.mutable_changed()));
  DROVER_RETURN_IF_ERROR(take(unpacker, *plan.mutable_evaluations(), /*on_bases=*/format == Format::second));
  if (!unpacker.is_at_end()) return data_loss("a packed plan is damaged: something is left over");
  return ok_status();
}

Status take_head(Unpacker& unpacker, v1::PlanApplied& plan) {
  DROVER_RETURN_IF_ERROR(unpacker.read_bases());
  DROVER_TRY(const uint64_t time, unpacker.number());
  plan.set_time(static_cast<int64_t>(static_cast<uint64_t>(unpacker.base_time()) + unzigzag(time)));
  return ok_status();
}

}  // namespace

Lookup lookup_in(const ReadView& view, TableId nodes, TableId evals) {
  const auto only = [&view](TableId table, std::string_view prefix) -> std::optional<std::string_view> {
    const auto cursor = view.scan(table, kPrimary, KeyRange::prefix(std::string(prefix)));
    if (!cursor->valid()) return std::nullopt;
    const std::string_view row = cursor->row();
    cursor->next();
    if (cursor->valid()) return std::nullopt;
    return row;
  };
  return {.node = [only, nodes](std::string_view prefix) -> std::optional<KnownNode> {
            const auto row = only(nodes, prefix);
            if (!row) return std::nullopt;
            return KnownNode{.id = std::string(bytes_field(*row, v1::Node::kIdFieldNumber)),
                             .name = std::string(bytes_field(*row, v1::Node::kNameFieldNumber))};
          },
          .eval = [only, evals](std::string_view prefix) -> std::optional<std::string> {
            const auto row = only(evals, prefix);
            if (!row) return std::nullopt;
            return std::string(*row);
          }};
}

std::optional<v1::PlansPacked> pack(v1::PlanApplied& plan, const Lookup& lookup) {
  Packer packer(lookup, Format::second);
  const int64_t since = add_bases(plan, lookup, packer);
  packer.add_number(zigzag(static_cast<uint64_t>(plan.time()) - static_cast<uint64_t>(since)));
  add(plan.placed(), packer);
  add(plan.changed(), packer);
  packer.add_number(static_cast<uint64_t>(plan.evaluations_size()));
  for (const v1::Evaluation& eval : plan.evaluations()) {
    packer.add_on_base(serialize(eval), *v1::Evaluation::descriptor(), eval.id());
  }
  if (!packer.can_be_unpacked()) return std::nullopt;
  plan.clear_placed();
  plan.clear_changed();
  plan.clear_evaluations();
  plan.clear_time();
  v1::PlansPacked packed;
  packed.set_packed(packer.take());
  if (plan.ByteSizeLong() > 0) *packed.mutable_rest() = std::move(plan);
  return packed;
}

Result<v1::PlanApplied> unpack(v1::PlansPacked packed, const Lookup& lookup) {
  v1::PlanApplied plan = std::move(*packed.mutable_rest());
  Unpacker unpacker(packed.packed(), lookup, Format::second);
  DROVER_RETURN_IF_ERROR(take_head(unpacker, plan));
  DROVER_RETURN_IF_ERROR(take(unpacker, *plan.mutable_placed()));
  DROVER_RETURN_IF_ERROR(take_the_others(unpacker, Format::second, plan));
  return plan;
}

Result<v1::PlanApplied> unpack_apart(v1::PlansPacked packed, const Lookup& lookup, std::vector<std::string>& metrics) {
  v1::PlanApplied plan = std::move(*packed.mutable_rest());
  Unpacker unpacker(packed.packed(), lookup, Format::second);
  DROVER_RETURN_IF_ERROR(take_head(unpacker, plan));
  DROVER_RETURN_IF_ERROR(take_placed(unpacker, plan, metrics));
  DROVER_RETURN_IF_ERROR(take_the_others(unpacker, Format::second, plan));
  return plan;
}

Result<v1::PlanApplied> unpack_apart(v1::PlansApplied packed, const Lookup& lookup, std::vector<std::string>& metrics) {
  if (packed.format() != static_cast<uint32_t>(Format::first)) {
    return unimplemented("a packed plan is of format " + std::to_string(packed.format()) + "; there is only 1");
  }
  v1::PlanApplied plan = std::move(*packed.mutable_rest());
  Unpacker unpacker(packed.packed(), lookup, Format::first);
  DROVER_RETURN_IF_ERROR(take_placed(unpacker, plan, metrics));
  DROVER_RETURN_IF_ERROR(take_the_others(unpacker, Format::first, plan));
  return plan;
}

}  // namespace drover::scheduler::packing
