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

}  // namespace drover
