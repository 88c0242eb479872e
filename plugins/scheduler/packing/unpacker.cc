#include "packing/unpacker.h"

#include <bit>
#include <utility>

#include "packing/ids.h"

namespace drover::scheduler::packing {
namespace {

Status damaged(const char* what) { return data_loss(std::string("a packed plan is damaged: ") + what); }

template <typename T>
const T* known(const std::vector<T>& all, uint64_t number) {
  return number < all.size() ? &all[number] : nullptr;
}

LeafKind kind_of(Op op) {
  switch (op) {
    case Op::number:
      return LeafKind::number;
    case Op::fixed:
    case Op::fixed_again:
    case Op::whole:
      return LeafKind::fixed;
    case Op::fixed32:
      return LeafKind::fixed32;
    case Op::part:
    case Op::part_again:
    case Op::part_up:
    case Op::part_down:
      return LeafKind::part;
    default:
      return LeafKind::text;
  }
}

}  // namespace

Unpacker::Unpacker(std::string_view packed, const FindNode& nodes)
    : nodes_(nodes), reader_(packed), texts_(kKnownTexts.begin(), kKnownTexts.end()) {}

Result<size_t> Unpacker::count() {
  const uint64_t count = reader_.number();
  if (!reader_.ok()) return damaged("a list has no length");
  return static_cast<size_t>(count);
}

Result<std::string_view> Unpacker::next() { return read(messages_); }

Result<size_t> Unpacker::read_shape(Level& level, uint64_t number) {
  if (number > level.shapes.size()) return damaged("a shape is not known");
  if (number == level.shapes.size()) {
    const std::string_view shape = reader_.text();
    if (!reader_.ok()) return damaged("a shape is cut off");
    DROVER_TRY(auto leaves, leaves_of(shape));
    level.shapes.push_back(shape);
    level.last.push_back(std::move(leaves));
  }
  return static_cast<size_t>(number);
}

Result<std::string_view> Unpacker::read(Level& level) {
  std::string_view pattern;
  if (const uint64_t number = reader_.number(); number > 0) {
    const auto* found = known(level.patterns, number - 1);
    if (!found) return damaged("a pattern is not known");
    pattern = *found;
  } else {
    pattern = reader_.text();
    if (!reader_.ok()) return damaged("a pattern is cut off");
    level.patterns.push_back(pattern);
  }
  Reader steps(pattern);
  DROVER_TRY(const size_t shape, read_shape(level, steps.number()));
  Message message{.leaves = level.last[shape], .last = &level.last[shape], .later = {}};
  size_t at = 0;
  while (!steps.is_at_end() && steps.ok()) {
    const uint64_t distance = steps.number();
    const auto op = static_cast<Op>(steps.byte());
    if (!steps.ok() || distance == 0 || distance > message.leaves.size() - at) return damaged("a pattern is wrong");
    at += distance;
    if (message.leaves[at - 1].kind != kind_of(op)) return damaged("a value is of another kind than its field");
    DROVER_RETURN_IF_ERROR(read_leaf(level, op, at - 1, message));
  }
  if (!steps.ok() || !reader_.ok()) return damaged("a message is cut off");
  for (const Message::Later later : message.later) DROVER_RETURN_IF_ERROR(fill_in(later, message));
  cost_ += kMessageCost + message.leaves.size() * kLeafCost;
  for (const Leaf& leaf : message.leaves) cost_ += leaf.text.size();
  if (cost_ > kMostUnpacked) return damaged("it is of more than its bytes can mean");
  std::string bytes = put_together(level.shapes[shape], message.leaves);
  level.last[shape] = std::move(message.leaves);
  return keep(std::move(bytes));
}

Status Unpacker::read_leaf(Level& level, Op op, size_t at, Message& message) {
  Leaf& leaf = message.leaves[at];
  switch (leaf.kind) {
    case LeafKind::number:
      leaf.number += unzigzag(reader_.number());
      return ok_status();
    case LeafKind::fixed:
      return read_fixed(op, leaf);
    case LeafKind::fixed32:
      leaf.text = reader_.take(4);
      return leaf.text.size() == 4 ? ok_status() : damaged("a number is cut off");
    case LeafKind::part:
      return read_part(level, op, at, message);
    case LeafKind::text:
      break;
  }
  return read_text(op, at, message);
}

Status Unpacker::read_fixed(Op op, Leaf& leaf) {
  if (op == Op::fixed_again) {
    const auto* found = known(fixed_, reader_.number());
    if (!found) return damaged("a number is not known");
    leaf.number = *found;
  } else if (op == Op::whole) {
    const auto number = static_cast<int64_t>(unzigzag(reader_.number()));
    leaf.number = std::bit_cast<uint64_t>(static_cast<double>(number) / kWhole);
  } else {
    leaf.number = reader_.fixed();
    fixed_.push_back(leaf.number);
  }
  return ok_status();
}

Status Unpacker::read_text(Op op, size_t at, Message& message) {
  std::string_view& text = message.leaves[at].text;
  switch (op) {
    case Op::text:
      text = reader_.text();
      texts_.push_back(text);
      return ok_status();
    case Op::text_again: {
      const auto* found = known(texts_, reader_.number());
      if (!found) return damaged("a text is not known");
      text = *found;
      return ok_status();
    }
    case Op::text_next: {
      auto next = text_after(text);
      if (!next) return damaged("a name has no number");
      text = keep(*std::move(next));
      return ok_status();
    }
    case Op::id_next:
    case Op::id_later: {
      if (text.size() != kIdentifier) return damaged("an identifier follows none");
      const uint64_t steps = op == Op::id_next ? 1 : reader_.number();
      text = keep(id_after(text, static_cast<uint32_t>(steps)));
      return ok_status();
    }
    case Op::node: {
      DROVER_TRY(text, find_node(reader_.take(kNodePrefix)));
      texts_.push_back(text);
      return ok_status();
    }
    case Op::node_name:
    case Op::chosen:
      message.later.push_back({at, op});
      return ok_status();
    default:
      return damaged("a value is written in an unknown way");
  }
}

Status Unpacker::read_part(Level& level, Op op, size_t at, Message& message) {
  std::string_view& text = message.leaves[at].text;
  const std::vector<Leaf>& last = *message.last;
  if (op == Op::part) {
    if (&level == &parts_of_) return damaged("a part has parts");
    DROVER_TRY(text, read(parts_of_));
    parts_.push_back(text);
    return ok_status();
  }
  if (op == Op::part_again) {
    const auto* found = known(parts_, parts_.size() - reader_.number());
    if (!found) return damaged("a part is not known");
    text = *found;
    return ok_status();
  }
  const bool up = op == Op::part_up;
  const size_t from = up ? at + 1 : at - 1;  // of the first the largest number: refused
  if (from >= last.size() || last[from].kind != LeafKind::part) return damaged("a part is not beside another");
  text = last[from].text;
  return ok_status();
}

Status Unpacker::fill_in(Message::Later later, Message& message) {
  const auto [at, op] = later;
  std::string_view& text = message.leaves[at].text;
  if (op == Op::chosen) {
    for (const Leaf& leaf : message.leaves) {
      if (leaf.kind != LeafKind::part) continue;
      text = first_text(leaf.text);
      return ok_status();
    }
    return damaged("a node is told by parts, and there are none");
  }
  if (at == 0 || message.leaves[at - 1].kind != LeafKind::text) return damaged("a name has no node");
  const std::string_view id = message.leaves[at - 1].text;
  auto known = names_.find(id);
  if (known == names_.end()) {
    if (id.size() != kIdentifier) return damaged("a name has no node");
    DROVER_TRY(const std::string_view found, find_node(id.substr(0, kNodePrefix)));
    if (found != id) return failed_precondition("a node of the plan is gone");
    known = names_.find(id);
  }
  text = known->second;
  return ok_status();
}

Result<std::string_view> Unpacker::find_node(std::string_view prefix) {
  if (prefix.size() != kNodePrefix) return damaged("a node is cut off");
  auto found = nodes_(prefix);
  if (!found) return failed_precondition("a node of the plan is gone, or no longer the only one of its short name");
  const std::string_view id = keep(std::move(found->id));
  return names_.try_emplace(id, std::move(found->name)).first->first;
}

}  // namespace drover::scheduler::packing
