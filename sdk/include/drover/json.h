// Messages as JSON in the API's forms: names in capital camel case, integers as numbers, durations in nanoseconds,
// identifiers as text, absent lists, maps and objects as null. Field options in drover/options.proto say what deviates.
// Reading is forgiving as the API's is: names in any case, unknown names ignored, null as absent. [any]
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace google::protobuf {
class Descriptor;
class EnumValueDescriptor;
class FieldDescriptor;
class Message;
}  // namespace google::protobuf

namespace drover {

struct JsonStyle {
  bool pretty = false;  // four spaces and a final newline
};

// Prints a message of that type that stands there serialized, without decoding it; with a field, that field alone, as
// the answer of a list endpoint is a list. Errors: data_loss when the bytes are no message,
// or one that is nested more than a hundred deep.
Result<std::string> serialized_to_json(std::string_view bytes, const google::protobuf::Descriptor& type,
                                       const JsonStyle& style = {});
Result<std::string> serialized_to_json(std::string_view bytes, const google::protobuf::FieldDescriptor& field,
                                       const JsonStyle& style = {});
// The same of messages.
std::string message_to_json(const google::protobuf::Message& message, const JsonStyle& style = {});
std::string field_to_json(const google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
                          const JsonStyle& style = {});

// A word that is none of its enumeration is refused; a reader of answers leaves it out, since the other side may be
// newer.
enum class UnknownWords : uint8_t { refused, left_out };

// Merges the JSON object into `message`. Errors: invalid_argument naming the path ("Job.TaskGroups[0].Count: …") or the
// line and column of a syntax error; `message` is unspecified then.
Status json_to_message(std::string_view json, google::protobuf::Message& message,
                       UnknownWords words = UnknownWords::refused);

// Sets one field from a query parameter or path part: numbers, booleans ("", "1" and "true" are true), text,
// identifiers.
Status text_to_field(std::string_view text, const google::protobuf::FieldDescriptor& field,
                     google::protobuf::Message& message);

// The field's name in JSON.
std::string json_name(const google::protobuf::FieldDescriptor& field);
// The enumerator's form in JSON: its declared text, or its name in lower case without the type's.
std::string json_word(const google::protobuf::EnumValueDescriptor& value);

}  // namespace drover
