#include "packing/packer.h"

#include <bit>
#include <cmath>
#include <utility>

#include "drover/v1/allocation.pb.h"
#include "packing/format.h"
#include "packing/ids.h"
#include "packing/wire.h"

namespace drover::scheduler::packing {
namespace {

constexpr double kLargest = 9007199254740992.0;  // whole numbers up to here are exact

// The number of 2^-32 that a fraction is; nothing when it is none.
std::optional<int64_t> whole(uint64_t bits) {
  const double scaled = std::bit_cast<double>(bits) * kWhole;
  if (!(std::abs(scaled) < kLargest)) return std::nullopt;
  const auto number = static_cast<int64_t>(scaled);
  const bool is_same = std::bit_cast<uint64_t>(static_cast<double>(number) / kWhole) == bits;
  return is_same ? std::optional(number) : std::nullopt;
}

}  // namespace

Packer::Packer(const FindNode& nodes) : nodes_(nodes), part_type_(v1::NodeScoreMeta::descriptor()) {
  for (const std::string_view text : kKnownTexts) know(text);
}

void Packer::add(std::string bytes, const google::protobuf::Descriptor& type) {
  write(messages_, kept_.emplace_back(std::move(bytes)), type, packed_);
}

void Packer::add_count(size_t count) { put_number(packed_, count); }

bool Packer::can_be_unpacked() const { return are_messages_ && cost_ <= kMostUnpacked; }

void Packer::write(Level& level, std::string_view bytes, const google::protobuf::Descriptor& type, std::string& to) {
  std::string shape;
  std::vector<Leaf> leaves;
  if (!take_apart(bytes, type, shape, leaves)) {
    are_messages_ = false;
    return;
  }
  cost_ += kMessageCost + bytes.size() + leaves.size() * kLeafCost;
  const auto [of, is_new_shape] = level.shapes.try_emplace(shape, level.shapes.size());
  if (is_new_shape) level.last.push_back(*leaves_of(shape));
  const size_t number = of->second;
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
    if (leaves[i] == level.last[number][i]) continue;
    const Op op = write_leaf({.leaves = leaves, .last = level.last[number], .at = i, .chosen = chosen}, needs);
    put_number(pattern, i + 1 - seen);
    pattern += static_cast<char>(op);
    seen = i + 1;
  }
  level.last[number] = std::move(leaves);
  const auto [known, is_new] = level.patterns.try_emplace(pattern, level.patterns.size());
  put_number(to, is_new ? 0 : known->second + 1);
  if (is_new) put_text(to, pattern);
  if (is_new_shape) put_text(to, shape);
  to += needs;
}

Op Packer::write_leaf(const Step& step, std::string& to) {
  const Leaf& leaf = step.leaves[step.at];
  switch (leaf.kind) {
    case LeafKind::number:
      put_number(to, zigzag(leaf.number - step.last[step.at].number));
      return Op::number;
    case LeafKind::fixed:
      return write_fixed(leaf.number, to);
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

Op Packer::write_fixed(uint64_t value, std::string& to) {
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
  know(text);
  if (node_of(text)) {
    to += text.substr(0, kNodePrefix);
    return Op::node;
  }
  put_text(to, text);
  return Op::text;
}

Op Packer::write_part(const Step& step, std::string& to) {
  const auto& [leaves, last, at, chosen] = step;
  if (at + 1 < last.size() && last[at + 1] == leaves[at]) return Op::part_up;
  if (at > 0 && last[at - 1] == leaves[at]) return Op::part_down;
  const std::string_view part = leaves[at].text;
  if (const auto known = parts_.find(part); known != parts_.end()) {
    put_number(to, parts_.size() - known->second);
    return Op::part_again;
  }
  write(parts_of_, part, *part_type_, to);
  parts_.emplace(part, parts_.size());
  return Op::part;
}

const KnownNode* Packer::node_of(std::string_view id) {
  if (id.size() != kIdentifier) return nullptr;
  const auto [at, is_new] = known_nodes_.try_emplace(id);
  if (is_new) {
    auto found = nodes_(id.substr(0, kNodePrefix));
    if (found && found->id == id) at->second = std::move(found);
  }
  return at->second ? &*at->second : nullptr;
}

}  // namespace drover::scheduler::packing
