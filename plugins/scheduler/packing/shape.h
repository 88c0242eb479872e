// A serialized message as its shape and its values: messages of one kind mostly share the shape, which then is said
// once. Pure.
//
//   bytes ──take_apart──▶ shape: fields and their nesting + leaves: numbers and texts, in their order
//   shape, leaves ──put_together──▶ the same bytes
//
// A shape is a sequence of tags: a message's fields follow it up to a zero. It says of each field how it is written,
// so that putting together needs no descriptor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/result.h"

namespace google::protobuf {
class Descriptor;
}  // namespace google::protobuf

namespace drover::scheduler::packing {

// How a leaf is written; the low bits of its tag in a shape.
enum class LeafKind : uint8_t {
  number = 0,   // a varint
  fixed = 1,    // eight bytes
  text = 2,     // or bytes
  part = 6,     // a message that repeats in others: the rating of one node
  fixed32 = 5,  // four bytes
};
// Opens a message; no leaf.
inline constexpr uint8_t kNested = 3;

struct Leaf {
  LeafKind kind;
  uint64_t number = 0;
  std::string_view text = {};
  bool operator==(const Leaf& other) const = default;
};

// The leaves point into the bytes. False when these are no message, or one that nests too deep. Requires: if they are
// one, it is of that type and serialize() made it.
bool take_apart(std::string_view bytes, const google::protobuf::Descriptor& type, std::string& shape,
                std::vector<Leaf>& leaves);

// The leaves of a shape, each zero or empty. Errors: data_loss when it is no shape, or one of messages nested too deep.
Result<std::vector<Leaf>> leaves_of(std::string_view shape);

// The leaves of `shape`, as those of `other` are where the two begin or end alike; the others zero or empty. Requires:
// both were looked at by leaves_of(), or come from take_apart(); `leaves` are of `other`.
std::vector<Leaf> inherited(std::string_view other, const std::vector<Leaf>& leaves, std::string_view shape);
// The text in that field of the message itself, none of its parts; empty when there is none. Requires: as before.
std::string_view text_of(std::string_view shape, const std::vector<Leaf>& leaves, uint32_t field);

// The mean of the fractions before that leaf that are not zero, to the nearest 2^-32, given by its bits; nothing when
// there is none, or one is no number of 2^-32.
std::optional<uint64_t> mean_before(const std::vector<Leaf>& leaves, size_t at);

// How many bytes two texts have in common at their beginnings, and, of the rest, at their ends.
std::pair<size_t, size_t> common_ends(std::string_view one, std::string_view other);

// Requires: the shape was looked at by leaves_of(), or comes from take_apart(); leaves of its kinds.
std::string put_together(std::string_view shape, const std::vector<Leaf>& leaves);

}  // namespace drover::scheduler::packing
