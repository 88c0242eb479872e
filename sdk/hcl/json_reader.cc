#include "json_reader.h"

#include "unicode.h"

namespace drover::hcl {
namespace {

class JsonReader {
 public:
  JsonReader(const Source& source, Diagnostics& diagnostics)
      : text_(source.text), file_(source.name), diagnostics_(diagnostics), at_(source.origin) {
    at_.byte = 0;
  }

  std::optional<JsonNode> run() {
    if (text_.size() > kMaxSourceBytes) {
      fail("the text is larger than " + std::to_string(kMaxSourceBytes >> 20) + " MiB");
      return std::nullopt;
    }
    if (text_.starts_with("\xef\xbb\xbf")) at_.byte = 3;
    JsonNode node;
    skip_space();
    if (!value(node)) return std::nullopt;
    skip_space();
    if (at_.byte < text_.size()) {
      fail("expected the end of the JSON text");
      return std::nullopt;
    }
    return node;
  }

 private:
  char peek() const { return at_.byte < text_.size() ? text_[at_.byte] : '\0'; }

  void advance(size_t bytes) {
    for (size_t end = at_.byte + bytes; at_.byte < end; ++at_.byte) {
      auto c = static_cast<unsigned char>(text_[at_.byte]);
      if (c == '\n') {
        ++at_.line;
        at_.column = 1;
      } else if ((c & 0xc0) != 0x80) {
        ++at_.column;
      }
    }
  }

  void skip_space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') advance(1);
  }

  bool fail(std::string message) {
    Position end = at_;
    ++end.column, ++end.byte;
    diagnostics_.error(file_, {at_, end}, std::move(message));
    return false;
  }

  bool value(JsonNode& node) {
    node.range.start = at_;
    bool good = false;
    if (peek() == '{' || peek() == '[') {
      if (depth_ == kMaxNesting) {
        return fail("this is nested more than " + std::to_string(kMaxNesting) + " levels deep");
      }
      ++depth_;
      good = peek() == '{' ? object(node) : array(node);
      --depth_;
    } else if (peek() == '"') {
      std::string text;
      good = string(text);
      node.scalar = Value(std::move(text));
    } else if (word("true")) {
      node.scalar = true;
      good = true;
    } else if (word("false")) {
      node.scalar = false;
      good = true;
    } else if (word("null")) {
      good = true;
    } else {
      good = number(node);
    }
    node.range.end = at_;
    return good;
  }

  bool word(std::string_view text) {
    if (!text_.substr(at_.byte).starts_with(text)) return false;
    advance(text.size());
    return true;
  }

  bool number(JsonNode& node) {
    size_t end = text_.find_first_not_of("+-.0123456789eE", at_.byte);
    std::string_view literal = text_.substr(at_.byte, std::min(end, text_.size()) - at_.byte);
    if (literal.empty()) {
      return fail(at_.byte < text_.size() ? "expected a JSON value" : "the JSON text ends too early");
    }
    std::optional<Number> parsed = literal.starts_with('+') ? std::nullopt : Number::parse(literal);
    if (!parsed) return fail("\"" + std::string(literal.substr(0, 40)) + "\" is not a JSON number");
    node.scalar = *parsed;
    advance(literal.size());
    return true;
  }

  bool array(JsonNode& node) {
    node.kind = JsonNode::Kind::array;
    advance(1);
    skip_space();
    if (peek() == ']') return advance(1), true;
    while (true) {
      skip_space();
      if (!value(node.elements.emplace_back())) return false;
      skip_space();
      if (peek() == ']') return advance(1), true;
      if (peek() != ',') return fail("expected , or ] in this array");
      advance(1);
    }
  }

  bool object(JsonNode& node) {
    node.kind = JsonNode::Kind::object;
    advance(1);
    skip_space();
    if (peek() == '}') return advance(1), true;
    while (true) {
      skip_space();
      JsonMember& member = node.members.emplace_back();
      member.name_range.start = at_;
      if (peek() != '"') return fail("expected the name of a property in double quotes");
      if (!string(member.name)) return false;
      member.name_range.end = at_;
      skip_space();
      if (peek() != ':') return fail("expected : behind the name of a property");
      advance(1);
      skip_space();
      if (!value(member.value)) return false;
      skip_space();
      if (peek() == '}') return advance(1), true;
      if (peek() != ',') return fail("expected , or } in this object");
      advance(1);
    }
  }

  bool string(std::string& text) {
    advance(1);
    while (true) {
      if (at_.byte >= text_.size()) return fail("this string has no closing quote");
      char c = peek();
      if (c == '"') return advance(1), true;
      if (c == '\\') {
        if (!escape(text)) return false;
        continue;
      }
      if (static_cast<unsigned char>(c) < 0x20) return fail("a control character in a string is written as an escape");
      CodePoint point = decode_utf8(text_.substr(at_.byte));
      if (point.bytes == 0) return fail("this byte is not valid UTF-8");
      text += text_.substr(at_.byte, point.bytes);
      advance(point.bytes);
    }
  }

  bool escape(std::string& text) {
    char c = at_.byte + 1 < text_.size() ? text_[at_.byte + 1] : '\0';
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    if (size_t i = kFrom.find(c); c != '\0' && i != std::string_view::npos) {
      text += kTo[i];
      advance(2);
      return true;
    }
    uint32_t first = 0;
    if (!hex_escape(first)) return fail("this escape is not known in JSON");
    if (first >= 0xd800 && first < 0xdc00) {
      uint32_t second = 0;
      Position before = at_;
      if (hex_escape(second) && second >= 0xdc00 && second < 0xe000) {
        first = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
      } else {
        at_ = before;  // a lone surrogate becomes U+FFFD
      }
    }
    append_utf8(text, first);
    return true;
  }

  // \uXXXX
  bool hex_escape(uint32_t& value) {
    std::string_view text = text_.substr(at_.byte);
    if (text.size() < 6 || !text.starts_with("\\u")) return false;
    value = 0;
    for (char c : text.substr(2, 4)) {
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0) return false;
      value = value * 16 + static_cast<uint32_t>(digit);
    }
    advance(6);
    return true;
  }

  std::string_view text_;
  std::string_view file_;
  Diagnostics& diagnostics_;
  Position at_;
  size_t depth_ = 0;
};

}  // namespace

std::optional<JsonNode> read_json(const Source& source, Diagnostics& diagnostics) {
  return JsonReader(source, diagnostics).run();
}

}  // namespace drover::hcl
