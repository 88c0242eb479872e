// Texts of a plugin, without the secrets that it was given. [any]
#pragma once

#include <string>
#include <string_view>

namespace google::protobuf {
class Message;
}

namespace drover::csi {

// The text with "[REDACTED]" where it says a value of the request's secrets, as it is or in base64, and fit for a
// terminal and a log.
std::string without_secrets(std::string_view text, const google::protobuf::Message& request);

}  // namespace drover::csi
