// Fields of any message by a path: a.b, list[0].c, map["key"].d, list[*].e for each element.
//
// A path that does not fit the message ends the process: it is a mistake in a table of this folder. Not thread-safe on
// one message.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace drover::faulty {

// The text of the first field of the path: strings as they are, others as protobuf writes them, a message without its
// braces. Nothing where there is no such element or message.
std::optional<std::string> field_text(google::protobuf::Message& message, const std::string& path);
// Counts a list's elements or a string's bytes; the whole message's bytes for an empty path.
size_t field_size(google::protobuf::Message& message, const std::string& path);
bool has_field(google::protobuf::Message& message, const std::string& path);

// Sets every field of the path, to a text as field_text() gives; adds to a list that is named as a whole.
void set_field(google::protobuf::Message& message, const std::string& path, const std::string& text);
// Removes it, an element from its list.
void clear_field(google::protobuf::Message& message, const std::string& path);

}  // namespace drover::faulty
