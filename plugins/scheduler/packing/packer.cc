#include "packing/packer.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "drover/v1/allocation.pb.h"
#include "drover/v1/evaluation.pb.h"
#include "packing/ids.h"
#include "packing/wire.h"

namespace drover::scheduler::packing {
namespace {

// A new shape is told by one of the newest.
constexpr size_t kShapesLookedAt = 64;

// The index in job.group[index]; nothing when it is no such name.
std::optional<uint64_t> index_in(std::string_view name, std::string_view job, std::string_view group) {
  std::string before(job);
  before.append(".").append(group).append("[");
  if (job.empty() || !name.starts_with(before)) return std::nullopt;
  uint64_t index = 0;
  for (const char digit : name.substr(before.size())) {
    if (digit < '0' || digit > '9' || index > UINT32_MAX) break;
    index = index * 10 + static_cast<uint64_t>(digit - '0');
  }
  return name == name_of(job, group, index) ? std::optional(index) : std::nullopt;
}

}  // namespace

Packer::Packer(const Lookup& lookup, Format format, const Preset* preset)
    : lookup_(lookup),
      format_(format),
      messages_(preset ? &preset->messages : nullptr),
      parts_of_(preset ? &preset->parts : nullptr),
      part_type_(v1::NodeScoreMeta::descriptor()) {
  for (const std::string_view text : kKnownTexts) know(text);
}

void Packer::add(std::string bytes, const google::protobuf::Descriptor& type) {
  write(messages_, keep(std::move(bytes)), type, nullptr, packed_);
}

void Packer::add_number(uint64_t number) { put_number(packed_, number); }

void Packer::add_text(std::string_view text) { put_text(packed_, text); }

void Packer::know_base(std::string row) {
  Base base;
  const std::string_view kept = keep(std::move(row));
  are_messages_ = take_apart(kept, *v1::Evaluation::descriptor(), base.shape, base.leaves) && are_messages_;
  base.id = first_text(kept);
  cost_ += kMessageCost + kept.size() + base.leaves.size() * kLeafCost;
  for (const Leaf& leaf : base.leaves) {
    if (leaf.kind == LeafKind::text) know(leaf.text);
    if (leaf.kind == LeafKind::number && leaf.number >= kLargeNumber) numbers_.emplace(leaf.number, next_number_++);
  }
  base_ids_.emplace(base.id, bases_.size());
  base_rests_.emplace(rest_of(base.id), bases_.size());
  bases_.push_back(std::move(base));
}

void Packer::add_on_base(std::string bytes, const google::protobuf::Descriptor& type, std::string_view eval_id) {
  const auto base = base_ids_.find(std::string(eval_id));
  put_number(packed_, base == base_ids_.end() ? 0 : base->second + 1);
  write(messages_, keep(std::move(bytes)), type, base == base_ids_.end() ? nullptr : &bases_[base->second], packed_);
}

bool Packer::can_be_unpacked() const { return are_messages_ && cost_ <= kMostUnpacked; }

// The number of the shape. A new one is told in `needs`.
uint64_t Packer::number_shape(Level& level, const std::string& shape, std::string& needs) {
  if (level.before) {
    if (const auto at = level.before->shapes.find(shape); at != level.before->shapes.end()) return at->second;
  }
  if (const auto at = level.shapes.find(shape); at != level.shapes.end()) return at->second;
  Known& known = level.known;
  const uint64_t number = known.shapes();
  level.shapes.emplace(keep(shape), number);
  if (format_ == Format::first) {
    put_text(needs, shape);
    known.add_shape(level.shapes.find(shape)->first, *leaves_of(shape));
    return number;
  }
  size_t nearest = 0, front = 0, back = 0;
  for (size_t i = number - std::min<size_t>(number, kShapesLookedAt); i < number; ++i) {
    const auto [begin, end] = common_ends(known.shape(i), shape);
    if (begin + end <= front + back) continue;
    std::tie(nearest, front, back) = std::tuple(i + 1, begin, end);
  }
  put_number(needs, nearest);
  if (nearest == 0) {
    put_text(needs, shape);
    known.add_shape(level.shapes.find(shape)->first, *leaves_of(shape));
  } else {
    put_number(needs, front);
    put_number(needs, back);
    put_text(needs, std::string_view(shape).substr(front, shape.size() - front - back));
    known.add_shape(level.shapes.find(shape)->first,
                    inherited(known.shape(nearest - 1), known.last(nearest - 1), shape));
  }
  cost_ += cost_of_shape(shape, known.last(number).size());
  return number;
}

void Packer::write_step(std::string& pattern, Op op, size_t distance) const {
  if (format_ == Format::first) {
    put_number(pattern, distance);
    pattern += static_cast<char>(op);
    return;
  }
  const bool is_near = distance <= kNear;
  pattern += static_cast<char>(static_cast<unsigned>(op) << kNearBits | (is_near ? distance : 0));
  if (!is_near) put_number(pattern, distance);
}

void Packer::write(Level& level, std::string_view bytes, const google::protobuf::Descriptor& type, const Base* base,
                   std::string& to) {
  std::string shape;
  std::vector<Leaf> leaves;
  if (!take_apart(bytes, type, shape, leaves)) {
    are_messages_ = false;
    return;
  }
  cost_ += kMessageCost + bytes.size() + leaves.size() * kLeafCost;
  std::string new_shape;
  const uint64_t number = number_shape(level, shape, new_shape);
  const std::vector<Leaf> on_base = base ? inherited(base->shape, base->leaves, shape) : std::vector<Leaf>();
  const std::vector<Leaf>& last = base ? on_base : level.known.last(number);
  std::string_view chosen;
  for (const Leaf& leaf : leaves) {
    if (leaf.kind != LeafKind::part) continue;
    chosen = first_text(leaf.text);
    break;
  }
  std::string pattern, needs;
  put_number(pattern, number);
  size_t seen = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i] == last[i]) continue;
    const Op op = write_leaf({.shape = shape, .leaves = leaves, .last = last, .at = i, .chosen = chosen}, needs);
    write_step(pattern, op, i + 1 - seen);
    seen = i + 1;
  }
  level.known.set_last(number, std::move(leaves));
  std::optional<uint64_t> known;
  if (level.before) {
    if (const auto at = level.before->patterns.find(pattern); at != level.before->patterns.end()) known = at->second;
  }
  if (const auto at = level.patterns.find(pattern); at != level.patterns.end()) known = at->second;
  put_number(to, known ? *known + 1 : 0);
  if (!known) {
    put_text(to, pattern);
    const std::string_view kept = keep(std::move(pattern));
    level.patterns.emplace(kept, level.known.patterns());
    level.known.add_pattern(kept);
  }
  to += new_shape;
  to += needs;
}

Op Packer::write_leaf(const Step& step, std::string& to) {
  const Leaf& leaf = step.leaves[step.at];
  switch (leaf.kind) {
    case LeafKind::number:
      return write_number(step, to);
    case LeafKind::fixed:
      return write_fixed(step, to);
    case LeafKind::fixed32:
      to += leaf.text;
      return Op::fixed32;
    case LeafKind::part:
      return write_part(step, to);
    case LeafKind::text:
      break;
  }
  return write_text(step, to);
}

Op Packer::write_number(const Step& step, std::string& to) {
  const uint64_t number = step.leaves[step.at].number, difference = zigzag(number - step.last[step.at].number);
  if (const auto known = numbers_.find(number); known != numbers_.end() && known->second < difference) {
    put_number(to, known->second);
    return Op::number_again;
  }
  put_number(to, difference);
  return Op::number;
}

Op Packer::write_fixed(const Step& step, std::string& to) {
  const uint64_t value = step.leaves[step.at].number;
  if (format_ == Format::second) {
    if (mean_before(step.leaves, step.at) == value) return Op::mean;
    if (const auto number = whole(value)) {
      put_number(to, zigzag(static_cast<uint64_t>(*number - whole(step.last[step.at].number).value_or(0))));
      return Op::whole_near;
    }
  }
  if (const auto known = fixed_.find(value); known != fixed_.end()) {
    put_number(to, known->second);
    return Op::fixed_again;
  }
  if (const auto number = whole(value)) {
    put_number(to, zigzag(static_cast<uint64_t>(*number)));
    return Op::whole;
  }
  fixed_.emplace(value, fixed_.size());
  put_fixed(to, value);
  return Op::fixed;
}

Op Packer::write_text(const Step& step, std::string& to) {
  const std::string_view text = step.leaves[step.at].text, before = step.last[step.at].text;
  if (text.size() == kIdentifier && text == step.chosen) return Op::chosen;
  if (const auto steps = steps_between(before, text)) {
    if (*steps == 1) return Op::id_next;
    put_number(to, *steps);
    return Op::id_later;
  }
  if (const auto next = text_after(before); next && *next == text) return Op::text_next;
  if (step.at > 0) {
    const KnownNode* node = node_of(step.leaves[step.at - 1].text);
    if (node && node->name == text) return Op::node_name;
  }
  if (const auto known = texts_.find(text); known != texts_.end()) {
    put_number(to, known->second);
    return Op::text_again;
  }
  if (format_ == Format::second) {
    const auto index = index_in(text, text_of(step.shape, step.leaves, kJobField),
                                text_of(step.shape, step.leaves, kGroupField));
    if (index) {
      put_number(to, *index);
      return Op::name;
    }
  }
  know(text);
  if (text.size() == kIdentifier && !base_rests_.empty()) {
    if (const auto base = base_rests_.find(std::string(text.substr(kChanceBytes))); base != base_rests_.end()) {
      put_number(to, base->second);
      to += text.substr(0, kChanceBytes);
      return Op::id_of_eval;
    }
  }
  if (node_of(text)) {
    to += text.substr(0, kNodePrefix);
    return Op::node;
  }
  put_text(to, text);
  return Op::text;
}

Op Packer::write_part(const Step& step, std::string& to) {
  const std::vector<Leaf>&leaves = step.leaves, &last = step.last;
  const size_t at = step.at;
  if (at + 1 < last.size() && last[at + 1] == leaves[at]) return Op::part_up;
  if (at > 0 && last[at - 1] == leaves[at]) return Op::part_down;
  const std::string_view part = leaves[at].text;
  if (const auto known = parts_.find(part); known != parts_.end()) {
    put_number(to, parts_.size() - known->second);
    return Op::part_again;
  }
  write(parts_of_, part, *part_type_, nullptr, to);
  parts_.emplace(part, parts_.size());
  return Op::part;
}

const KnownNode* Packer::node_of(std::string_view id) {
  if (id.size() != kIdentifier) return nullptr;
  const auto [at, is_new] = known_nodes_.try_emplace(id);
  if (is_new) {
    auto found = lookup_.node(id.substr(0, kNodePrefix));
    if (found && found->id == id) at->second = std::move(found);
  }
  return at->second ? &*at->second : nullptr;
}

}  // namespace drover::scheduler::packing
