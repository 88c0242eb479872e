// Messages as bytes that are the same on every machine: fields in order, map entries sorted by key. Rows, commands and
// whatever is compared or hashed are written this way. [any]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace google::protobuf {
class MessageLite;
}

namespace drover {

std::string serialize(const google::protobuf::MessageLite& message);

// A number, boolean or enumerator of a serialized message, by its field number, without decoding the rest; 0 where the
// message does not have it. Requires: a field of the message itself, neither repeated nor signed zigzag nor fixed.
uint64_t number_field(std::string_view bytes, int field);

}  // namespace drover
