#include "packing/shape.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>

#include "packing/format.h"
#include "packing/wire.h"

namespace drover::scheduler::packing {
namespace {

constexpr int kDeepest = 20;
constexpr uint64_t kMostTag = UINT32_MAX;

// The type of a field's messages; null when it holds none.
const google::protobuf::Descriptor* message_in(const google::protobuf::Descriptor* type, uint64_t field) {
  const auto* found = type ? type->FindFieldByNumber(static_cast<int>(field)) : nullptr;
  return found && found->type() == google::protobuf::FieldDescriptor::TYPE_MESSAGE ? found->message_type() : nullptr;
}

bool is_part(const google::protobuf::Descriptor& type) { return type.name() == "NodeScoreMeta"; }

bool walk(Reader reader, const google::protobuf::Descriptor& type, int depth, std::string& shape,
          std::vector<Leaf>& leaves) {
  if (depth > kDeepest) return false;
  while (!reader.is_at_end()) {
    const uint64_t tag = reader.number(), field = tag >> 3U;
    if (field == 0 || tag > kMostTag) return false;
    const auto kind = static_cast<LeafKind>(tag & 7U);
    if (kind == LeafKind::number) {
      put_number(shape, tag);
      leaves.push_back({.kind = kind, .number = reader.number()});
    } else if (kind == LeafKind::fixed) {
      put_number(shape, tag);
      leaves.push_back({.kind = kind, .number = reader.fixed()});
    } else if (kind == LeafKind::text) {
      const std::string_view text = reader.text();
      const auto* nested = message_in(&type, field);
      if (!nested) {
        put_number(shape, tag);
        leaves.push_back({.kind = kind, .text = text});
      } else if (is_part(*nested)) {
        put_number(shape, field << 3U | static_cast<uint64_t>(LeafKind::part));
        leaves.push_back({.kind = LeafKind::part, .text = text});
      } else {
        put_number(shape, field << 3U | kNested);
        if (!walk(Reader(text), *nested, depth + 1, shape, leaves)) return false;
        put_number(shape, 0);
      }
    } else if (kind == LeafKind::fixed32) {
      put_number(shape, tag);
      leaves.push_back({.kind = kind, .text = reader.take(4)});
    } else {
      return false;
    }
    if (!reader.ok()) return false;
  }
  return true;
}

std::vector<uint64_t> tags_of(std::string_view shape) {
  std::vector<uint64_t> tags;
  for (Reader reader(shape); !reader.is_at_end();) tags.push_back(reader.number());
  return tags;
}

bool is_leaf(uint64_t tag) { return tag != 0 && (tag & 7U) != kNested; }

class Builder {
 public:
  Builder(std::string_view shape, const std::vector<Leaf>& leaves) : shape_(shape), leaves_(leaves) {}

  // The fields up to the end of the message that they stand in.
  void write(std::string& to) {
    while (!shape_.is_at_end()) {
      const uint64_t tag = shape_.number(), field = tag & ~uint64_t{7};
      if (tag == 0) return;
      if ((tag & 7U) == kNested) {
        put_number(to, field | static_cast<uint64_t>(LeafKind::text));
        const size_t begin = to.size();
        write(to);
        std::string length;
        put_number(length, to.size() - begin);
        to.insert(begin, length);
        continue;
      }
      const Leaf& leaf = leaves_[next_++];
      switch (leaf.kind) {
        case LeafKind::number:
          put_number(to, tag);
          put_number(to, leaf.number);
          break;
        case LeafKind::fixed:
          put_number(to, tag);
          put_fixed(to, leaf.number);
          break;
        case LeafKind::fixed32:
          put_number(to, tag);
          to += leaf.text;
          break;
        case LeafKind::text:
        case LeafKind::part:
          put_number(to, field | static_cast<uint64_t>(LeafKind::text));
          put_text(to, leaf.text);
          break;
      }
    }
  }

 private:
  Reader shape_;
  const std::vector<Leaf>& leaves_;
  size_t next_ = 0;
};

}  // namespace

bool take_apart(std::string_view bytes, const google::protobuf::Descriptor& type, std::string& shape,
                std::vector<Leaf>& leaves) {
  shape.clear();
  leaves.clear();
  return walk(Reader(bytes), type, 0, shape, leaves);
}

Result<std::vector<Leaf>> leaves_of(std::string_view shape) {
  std::vector<Leaf> leaves;
  Reader reader(shape);
  int depth = 0;
  while (!reader.is_at_end()) {
    const uint64_t tag = reader.number();
    if (!reader.ok() || tag > kMostTag) return data_loss("a packed plan has a damaged shape");
    const auto kind = static_cast<LeafKind>(tag & 7U);
    if (tag == 0) {
      if (--depth < 0) return data_loss("a packed plan has a shape that closes what is not open");
    } else if ((tag & 7U) == kNested) {
      if (++depth > kDeepest) return data_loss("a packed plan has a shape that is nested too deep");
    } else if (kind == LeafKind::fixed32) {
      leaves.push_back({.kind = kind, .text = std::string_view("\0\0\0\0", 4)});
    } else if (kind == LeafKind::number || kind == LeafKind::fixed || kind == LeafKind::text ||
               kind == LeafKind::part) {
      leaves.push_back({.kind = kind});
    } else {
      return data_loss("a packed plan has a shape with a field of no known kind");
    }
  }
  if (depth != 0) return data_loss("a packed plan has a shape without an end");
  return leaves;
}

std::vector<Leaf> inherited(std::string_view other, const std::vector<Leaf>& leaves, std::string_view shape) {
  std::vector<Leaf> own = *leaves_of(shape);
  const std::vector<uint64_t> from = tags_of(other), to = tags_of(shape);
  const size_t most = std::min(from.size(), to.size());
  size_t same = 0, copied = 0;
  for (; same < most && from[same] == to[same]; ++same) {
    if (!is_leaf(to[same])) continue;
    own[copied] = leaves[copied];
    ++copied;
  }
  copied = 0;
  for (size_t end = 0; same + end < most && from[from.size() - end - 1] == to[to.size() - end - 1]; ++end) {
    if (!is_leaf(to[to.size() - end - 1])) continue;
    ++copied;
    own[own.size() - copied] = leaves[leaves.size() - copied];
  }
  return own;
}

std::string_view text_of(std::string_view shape, const std::vector<Leaf>& leaves, uint32_t field) {
  size_t at = 0, depth = 0;
  for (const uint64_t tag : tags_of(shape)) {
    if (depth == 0 && tag == (uint64_t{field} << 3U | static_cast<uint64_t>(LeafKind::text))) return leaves[at].text;
    if (tag == 0) {
      --depth;
    } else if (is_leaf(tag)) {
      ++at;
    } else {
      ++depth;
    }
  }
  return {};
}

std::optional<uint64_t> mean_before(const std::vector<Leaf>& leaves, size_t at) {
  uint64_t sum = 0;
  int64_t count = 0;
  for (size_t i = 0; i < at; ++i) {
    if (leaves[i].kind != LeafKind::fixed || leaves[i].number == 0) continue;
    const auto number = whole(leaves[i].number);
    if (!number) return std::nullopt;
    sum += static_cast<uint64_t>(*number);
    ++count;
  }
  if (count == 0) return std::nullopt;
  const auto total = static_cast<int64_t>(sum);
  int64_t mean = total / count, rest = total % count;
  if (rest < 0) {
    rest += count;
    --mean;
  }
  if (2 * rest > count || (2 * rest == count && mean % 2 != 0)) ++mean;
  return fraction_of(mean);
}

std::pair<size_t, size_t> common_ends(std::string_view one, std::string_view other) {
  const size_t most = std::min(one.size(), other.size());
  size_t begin = 0, end = 0;
  while (begin < most && one[begin] == other[begin]) ++begin;
  while (begin + end < most && one[one.size() - end - 1] == other[other.size() - end - 1]) ++end;
  return {begin, end};
}

std::string put_together(std::string_view shape, const std::vector<Leaf>& leaves) {
  std::string bytes;
  Builder(shape, leaves).write(bytes);
  return bytes;
}

}  // namespace drover::scheduler::packing
