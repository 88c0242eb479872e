#include "csi/protocol/redact.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <vector>

#include "drover/base64.h"
#include "drover/printable.h"

namespace drover::csi {
namespace {

namespace pb = google::protobuf;

constexpr std::string_view kInstead = "[REDACTED]";

// In every form in which a plugin may say them, the longest first: one may begin with another.
std::vector<std::string> secrets_of(const pb::Message& request) {
  std::vector<std::string> found;
  const pb::FieldDescriptor* field = request.GetDescriptor()->FindFieldByName("secrets");
  if (!field || !field->is_map()) return found;
  const pb::Reflection& reflection = *request.GetReflection();
  for (int i = 0; i < reflection.FieldSize(request, field); ++i) {
    const pb::Message& entry = reflection.GetRepeatedMessage(request, field, i);
    std::string value = entry.GetReflection()->GetString(entry, field->message_type()->map_value());
    if (value.empty()) continue;
    found.push_back(base64_encode(value));
    found.push_back(printable(value));
    found.push_back(std::move(value));
  }
  std::ranges::sort(found, [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  return found;
}

}  // namespace

std::string without_secrets(std::string_view text, const pb::Message& request) {
  const std::vector<std::string> secrets = secrets_of(request);
  std::string out;
  while (!text.empty()) {
    const auto said = std::ranges::find_if(secrets, [&](const std::string& each) { return text.starts_with(each); });
    out += said == secrets.end() ? text.substr(0, 1) : kInstead;
    text.remove_prefix(said == secrets.end() ? 1 : said->size());
  }
  return printable(out);
}

}  // namespace drover::csi
