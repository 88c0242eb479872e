// The packed form of a list of messages, format 1. Released bytes keep their meaning: what is here never changes.
//
//   list:    the number of its messages, then each
//   message: pattern, what the pattern's steps need
//   pattern: its number + 1, or 0 and, for a new one: its length, the shape's number, then steps; a shape that is new
//            follows: its length and itself
//   step:    leaves to go on by, Op
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

inline constexpr uint32_t kFormat = 1;

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
};

// The first bytes of a node's identifier that name it.
inline constexpr size_t kNodePrefix = 3;
inline constexpr size_t kIdentifier = 16;
inline constexpr double kWhole = 4294967296.0;  // 2^32

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

// The text with the last number in it greater by one; nothing when there is none that counts on.
std::optional<std::string> text_after(std::string_view text);
// The first field of a message, if it is a text or bytes; else empty.
std::string_view first_text(std::string_view message);

}  // namespace drover::scheduler::packing
