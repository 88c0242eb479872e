// Fields of serialized messages by their number, without decoding the messages. What is read and written here is what
// protobuf would read and write. [any]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace drover {

// Text, bytes or a message in a field; of several the last one, empty where there is none. Requires: a field of the
// message itself, not repeated.
std::string_view bytes_field(std::string_view bytes, uint32_t field);
// A number, boolean or enumerator in a field; of several the last one, 0 where there is none. Requires: a field of the
// message itself, neither repeated nor signed zigzag nor fixed.
uint64_t number_field(std::string_view bytes, uint32_t field);

// Adds a field: to a list one more, in place of a single value another, and to a single message what that one says.
void append_field(std::string& bytes, uint32_t field, uint64_t number);
void append_field(std::string& bytes, uint32_t field, std::string_view value);
// Adds the fields of another message of the same type, all but that one.
void append_without(std::string& to, std::string_view bytes, uint32_t field);

}  // namespace drover
