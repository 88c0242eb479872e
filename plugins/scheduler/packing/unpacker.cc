#include "packing/unpacker.h"

#include <utility>

#include "drover/v1/evaluation.pb.h"
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
    case Op::number_again:
      return LeafKind::number;
    case Op::fixed:
    case Op::fixed_again:
    case Op::whole:
    case Op::whole_near:
    case Op::mean:
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

Unpacker::Unpacker(std::string_view packed, const Lookup& lookup, Format format, const Preset* preset)
    : lookup_(lookup),
      format_(format),
      reader_(packed),
      messages_(preset ? &preset->messages : nullptr),
      parts_of_(preset ? &preset->parts : nullptr),
      texts_(kKnownTexts.begin(), kKnownTexts.end()) {}

Result<uint64_t> Unpacker::number() {
  const uint64_t number = reader_.number();
  if (!reader_.ok()) return damaged("a number is missing");
  return number;
}

Result<std::string_view> Unpacker::next() { return read(messages_); }

Status Unpacker::read_bases() {
  DROVER_TRY(const uint64_t count, number());
  for (uint64_t i = 0; i < count; ++i) {
    const std::string_view prefix = reader_.take(kEvalPrefix);
    const uint64_t changed = reader_.number();
    if (!reader_.ok()) return damaged("an evaluation is cut off");
    auto row = lookup_.eval(prefix);
    if (!row || indexes_until_change(*row) != changed) {
      return failed_precondition("an evaluation of the plan is gone, or another than it was");
    }
    DROVER_RETURN_IF_ERROR(add_base(keep(*std::move(row))));
  }
  return ok_status();
}

Status Unpacker::add_base(std::string_view row) {
  Base base{.row = row, .shape = {}, .leaves = {}};
  if (!take_apart(row, *v1::Evaluation::descriptor(), base.shape, base.leaves)) {
    return damaged("what it is based on is no evaluation");
  }
  cost_ += kMessageCost + row.size() + base.leaves.size() * kLeafCost;
  if (cost_ > kMostUnpacked) return damaged("it is of more than its bytes can mean");
  for (const Leaf& leaf : base.leaves) {
    if (leaf.kind == LeafKind::text) texts_.push_back(leaf.text);
    if (leaf.kind == LeafKind::number && leaf.number >= kLargeNumber) numbers_.push_back(leaf.number);
  }
  bases_.push_back(std::move(base));
  return ok_status();
}

Result<std::string_view> Unpacker::next_on_base() {
  DROVER_TRY(const uint64_t base, number());
  if (base > bases_.size()) return damaged("a base is not known");
  return read(messages_, base == 0 ? nullptr : &bases_[base - 1]);
}

int64_t Unpacker::base_time() const {
  return bases_.empty() ? 0 : time_of(bases_[0].row);
}

Status Unpacker::read_preset() {
  DROVER_TRY(const uint64_t bases, number());
  for (uint64_t i = 0; i < bases; ++i) DROVER_RETURN_IF_ERROR(add_base(reader_.text()));
  while (!is_at_end()) DROVER_RETURN_IF_ERROR(next_on_base().status());
  return ok_status();
}

Result<size_t> Unpacker::read_shape(Level& level, uint64_t number) {
  Known& known = level.known;
  if (number > known.shapes()) return damaged("a shape is not known");
  if (number < known.shapes()) return static_cast<size_t>(number);
  const uint64_t base = format_ == Format::first ? 0 : reader_.number();
  if (base > known.shapes()) return damaged("a shape is like one that is not known");
  if (base == 0) {
    const std::string_view shape = reader_.text();
    if (!reader_.ok()) return damaged("a shape is cut off");
    DROVER_TRY(auto leaves, leaves_of(shape));
    known.add_shape(shape, std::move(leaves));
  } else {
    const std::string_view like = known.shape(base - 1);
    const uint64_t front = reader_.number(), back = reader_.number();
    const std::string_view middle = reader_.text();
    if (!reader_.ok() || front > like.size() || back > like.size() - front) return damaged("a shape is cut off");
    std::string shape(like.substr(0, front));
    shape.append(middle).append(like.substr(like.size() - back));
    const std::string_view kept = keep(std::move(shape));
    DROVER_RETURN_IF_ERROR(leaves_of(kept).status());
    known.add_shape(kept, inherited(like, known.last(base - 1), kept));
  }
  if (format_ == Format::second) cost_ += cost_of_shape(known.shape(number), known.last(number).size());
  if (cost_ > kMostUnpacked) return damaged("it is of more than its bytes can mean");
  return static_cast<size_t>(number);
}

std::pair<size_t, Op> Unpacker::read_step(Reader& steps) const {
  if (format_ == Format::first) {
    const uint64_t distance = steps.number();
    return {distance, static_cast<Op>(steps.byte())};
  }
  const uint8_t step = steps.byte();
  const auto op = static_cast<Op>(step >> kNearBits);
  const size_t near = step & kNear;
  return {near > 0 ? near : steps.number(), op};
}

Result<std::string_view> Unpacker::read(Level& level, const Base* base) {
  Known& known = level.known;
  std::string_view pattern;
  if (const uint64_t number = reader_.number(); number > 0) {
    if (number > known.patterns()) return damaged("a pattern is not known");
    pattern = known.pattern(number - 1);
  } else {
    pattern = reader_.text();
    if (!reader_.ok()) return damaged("a pattern is cut off");
    known.add_pattern(pattern);
  }
  Reader steps(pattern);
  DROVER_TRY(const size_t shape, read_shape(level, steps.number()));
  Message message{.shape = known.shape(shape),
                  .leaves = {},
                  .last = base ? inherited(base->shape, base->leaves, known.shape(shape)) : known.last(shape),
                  .later = {}};
  message.leaves = message.last;
  size_t at = 0;
  while (!steps.is_at_end() && steps.ok()) {
    const auto [distance, op] = read_step(steps);
    if (op > (format_ == Format::first ? Op::part_down : Op::id_of_eval)) return damaged("a step is not known");
    if (!steps.ok() || distance == 0 || distance > message.leaves.size() - at) return damaged("a pattern is wrong");
    at += distance;
    if (message.leaves[at - 1].kind != kind_of(op)) return damaged("a value is of another kind than its field");
    DROVER_RETURN_IF_ERROR(read_leaf(level, op, at - 1, message));
  }
  if (!steps.ok() || !reader_.ok()) return damaged("a message is cut off");
  for (const bool names : {false, true}) {  // which others tell, too
    for (const Message::Later later : message.later) {
      if ((later.op == Op::name) == names) DROVER_RETURN_IF_ERROR(fill_in(later, message));
    }
  }
  cost_ += kMessageCost + message.leaves.size() * kLeafCost;
  for (const Leaf& leaf : message.leaves) cost_ += leaf.text.size();
  if (cost_ > kMostUnpacked) return damaged("it is of more than its bytes can mean");
  std::string bytes = put_together(message.shape, message.leaves);
  known.set_last(shape, std::move(message.leaves));
  return keep(std::move(bytes));
}

Status Unpacker::read_leaf(Level& level, Op op, size_t at, Message& message) {
  Leaf& leaf = message.leaves[at];
  switch (leaf.kind) {
    case LeafKind::number:
      return read_number(op, leaf);
    case LeafKind::fixed:
      return read_fixed(op, at, message.leaves);
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

Status Unpacker::read_number(Op op, Leaf& leaf) {
  if (op == Op::number_again) {
    const auto* found = known(numbers_, reader_.number());
    if (!found) return damaged("a number is not known");
    leaf.number = *found;
  } else {
    leaf.number += unzigzag(reader_.number());
  }
  return ok_status();
}

Status Unpacker::read_fixed(Op op, size_t at, std::vector<Leaf>& leaves) {
  Leaf& leaf = leaves[at];
  if (op == Op::whole_near) {
    const auto before = static_cast<uint64_t>(whole(leaf.number).value_or(0));
    leaf.number = fraction_of(static_cast<int64_t>(before + unzigzag(reader_.number())));
  } else if (op == Op::mean) {
    const auto mean = mean_before(leaves, at);
    if (!mean) return damaged("a mean is of nothing");
    leaf.number = *mean;
  } else if (op == Op::fixed_again) {
    const auto* found = known(fixed_, reader_.number());
    if (!found) return damaged("a number is not known");
    leaf.number = *found;
  } else if (op == Op::whole) {
    leaf.number = fraction_of(static_cast<int64_t>(unzigzag(reader_.number())));
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
    case Op::id_of_eval: {
      const uint64_t base = reader_.number();
      const std::string_view own = reader_.take(kChanceBytes);
      if (!reader_.ok() || base >= bases_.size()) return damaged("an identifier is of no evaluation");
      text = keep(std::string(own) + rest_of(first_text(bases_[base].row)));
      texts_.push_back(text);
      return ok_status();
    }
    case Op::name:
      message.later.push_back({at, op, reader_.number()});
      return ok_status();
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
  const std::vector<Leaf>& last = message.last;
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
  const auto [at, op, index] = later;
  std::string_view& text = message.leaves[at].text;
  if (op == Op::name) {
    text = keep(name_of(text_of(message.shape, message.leaves, kJobField),
                        text_of(message.shape, message.leaves, kGroupField), index));
    return ok_status();
  }
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
  auto found = lookup_.node(prefix);
  if (!found) return failed_precondition("a node of the plan is gone, or no longer the only one of its short name");
  const std::string_view id = keep(std::move(found->id));
  return names_.try_emplace(id, std::move(found->name)).first->first;
}

}  // namespace drover::scheduler::packing
