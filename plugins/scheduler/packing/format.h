// The packed form of a list of messages. Released bytes keep their meaning: what is here never changes.
//
//   list:    the number of its messages, then each
//   message: pattern, what the pattern's steps need
//   pattern: its number + 1, or 0 and, for a new one: its length, the shape's number, then steps; a shape that is new
//            follows: its length and itself
//   step:    leaves to go on by, Op
//
// Format 2 differs in this:
//
//   known:   the messages of the preset (preset.h) came before
//   plan:    bases, the time after the last change of the first one, then the lists
//   bases:   their number, then of each the first bytes of its identifier and how many indexes after it was made it
//            changed last: evaluations whose rows both sides have; their texts and large numbers are known
//   message: among evaluations a base's number + 1 or 0 precedes it, whose leaves then stand for those of the message
//            before, where the two shapes begin or end alike
//   shape:   a new one follows as the number + 1 of a known one, how many bytes at its beginning and at its end are the
//            same, and what is between; its leaves before are those of the known one there. Or 0, its length, itself
//   step:    eight times the Op and the leaves to go on by, up to seven, in one byte; or 0 of them and their number
//
// A leaf without a step is as in the message of that shape before, or zero or empty where there was none. Ops with
// something in brackets find it among what the message needs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace drover::scheduler::packing {

enum class Format : uint32_t { first = 1, second = 2 };

enum class Op : uint8_t {
  number = 1,      // [zigzag difference]
  fixed = 2,       // [eight bytes]; known from now on
  fixed_again = 3,  // [its number among the known]
  whole = 4,       // [zigzag number] of 2^-32
  fixed32 = 5,     // [four bytes]
  text = 6,        // [length, bytes]; known from now on
  text_again = 7,  // [its number among the known]
  text_next = 8,   // the last number in it is greater by one
  id_next = 9,     // follows it (ids.h)
  id_later = 10,   // [steps]
  node = 11,       // [first bytes of its identifier], which then is known as a text
  node_name = 12,  // of the node in the leaf before
  chosen = 13,     // the node of the message's first part
  part = 14,       // [pattern and so on]; known from now on
  part_again = 15,  // [how many known ones ago]
  part_up = 16,    // the following leaf of the message before
  part_down = 17,  // the preceding one
  // In format 2.
  number_again = 18,  // [its number among the known]
  whole_near = 19,    // [zigzag difference to the one before] of 2^-32
  mean = 20,          // of the message's fractions that precede it and are not zero
  name = 21,          // [index]: the message's job.group[index]
  id_of_eval = 22,    // [number of the base, its own bytes] (ids.h)
};

// The first bytes of a node's identifier that name it, and of an evaluation's.
inline constexpr size_t kNodePrefix = 3;
inline constexpr size_t kEvalPrefix = 5;
// Numbers of a base that are at least so large are known.
inline constexpr uint64_t kLargeNumber = 128;
inline constexpr size_t kIdentifier = 16;
inline constexpr double kWhole = 4294967296.0;  // 2^32

// A step of format 2 has so many bits for the leaves to go on by.
inline constexpr unsigned kNearBits = 3;
inline constexpr size_t kNear = (1U << kNearBits) - 1;
// Fields of an allocation that its name consists of.
inline constexpr uint32_t kJobField = 7, kGroupField = 10;

// Texts that are known from the beginning.
inline constexpr std::array<std::string_view, 24> kKnownTexts = {
    "default", "dc1", "global", "binpack", "job-anti-affinity", "node-reschedule-penalty", "node-affinity",
    "allocation-spread", "devices", "preemption", "service", "batch", "system", "sysbatch", "job-register",
    "node-update", "alloc-failure", "queued-allocs", "alloc is lost since its node is down",
    "alloc not needed due to job update", "alloc is being updated due to job update",
    "alloc not needed as node is tainted", "alloc updating in-place", "all"};

// A message counts so much beside its bytes, and so does each of its leaves. Unpacking stops at the most, so that few
// bytes never become too many.
inline constexpr size_t kMessageCost = 256;
inline constexpr size_t kLeafCost = 16;
inline constexpr size_t kMostUnpacked = size_t{256} << 20U;

// A shape of format 2 that is new counts this.
constexpr size_t cost_of_shape(std::string_view shape, size_t leaves) { return shape.size() + leaves * kLeafCost; }

// The number of 2^-32 that a fraction is, given by its bits; nothing when it is none.
std::optional<int64_t> whole(uint64_t bits);
// The bits of that fraction.
uint64_t fraction_of(int64_t whole);
// job.group[index]
std::string name_of(std::string_view job, std::string_view group, uint64_t index);
// The text with the last number in it greater by one; nothing when there is none that counts on.
std::optional<std::string> text_after(std::string_view text);
// How many indexes after it was made an evaluation changed last, by its row.
uint64_t indexes_until_change(std::string_view eval);
// When that was.
int64_t time_of(std::string_view eval);
// The first field of a message, if it is a text or bytes; else empty.
std::string_view first_text(std::string_view message);

}  // namespace drover::scheduler::packing
