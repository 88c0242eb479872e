// Values to JSON text and back.
#include "json_reader.h"

namespace drover::hcl {
namespace {

void append_quoted(std::string& out, std::string_view text, JsonEscapes escapes) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    bool is_html = escapes == JsonEscapes::html_safe && (c == '<' || c == '>' || c == '&');
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\r')
      out += "\\r";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || is_html)
      ((out += "\\u00") += kHex[byte >> 4]) += kHex[byte & 15];
    else
      out += c;
  }
  out += '"';
}

void append(std::string& out, const Value& value, JsonEscapes escapes) {
  switch (value.kind()) {
    case Kind::null:
    case Kind::unknown:
      out += "null";
      return;
    case Kind::boolean:
      out += value.boolean() ? "true" : "false";
      return;
    case Kind::number:
      out += value.number().to_string();
      return;
    case Kind::string:
      append_quoted(out, value.string(), escapes);
      return;
    case Kind::list: {
      out += '[';
      for (const Value& element : value.list()) {
        if (&element != &value.list().front()) out += ',';
        append(out, element, escapes);
      }
      out += ']';
      return;
    }
    case Kind::object: {
      out += '{';
      bool is_first = true;
      for (const auto& [key, member] : value.object()) {
        if (!is_first) out += ',';
        is_first = false;
        append_quoted(out, key, escapes);
        out += ':';
        append(out, member, escapes);
      }
      out += '}';
      return;
    }
  }
}

Value to_value(JsonNode& node) {
  if (node.kind == JsonNode::Kind::scalar) return std::move(node.scalar);
  if (node.kind == JsonNode::Kind::array) {
    List list;
    for (JsonNode& element : node.elements) list.push_back(to_value(element));
    return list;
  }
  Object object;
  for (JsonMember& member : node.members) object.insert_or_assign(std::move(member.name), to_value(member.value));
  return object;
}

}  // namespace

std::string to_json(const Value& value, JsonEscapes escapes) {
  std::string out;
  append(out, value, escapes);
  return out;
}

Result<Value> from_json(std::string_view text) {
  Diagnostics diagnostics;
  std::optional<JsonNode> node = read_json({"JSON", std::string(text), {}}, diagnostics);
  if (!node) return diagnostics.status();
  return to_value(*node);
}

}  // namespace drover::hcl
