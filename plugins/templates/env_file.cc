#include "env_file.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "drover/text_template.h"
#include "drover/trim.h"

namespace drover::templates {
namespace {

constexpr std::string_view kSpaces = " \t\r\n\v\f";
constexpr size_t kMostInLine = 64 * 1024;

std::string_view trimmed(std::string_view text) { return trim(text, kSpaces); }

bool begins_key(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_of_key(char c) { return begins_key(c) || (c >= '0' && c <= '9') || c == '.' || c == '/'; }

std::string quoted(char c) { return std::string("'") + c + "'"; }

Result<std::string> key_of(std::string_view text) {
  std::string_view key = trimmed(text);
  if (key.starts_with("export ")) key = trimmed(key.substr(7));
  if (key.empty()) return invalid_argument("empty key");
  if (!begins_key(key.front()))
    return invalid_argument("key must start with [A-Za-z_] but found " + quoted(key.front()));
  for (const char c : key) {
    if (!is_of_key(c)) return invalid_argument("key characters must be [A-Za-z0-9_./] but found " + quoted(c));
  }
  return std::string(key);
}

class LineValue {
 public:
  explicit LineValue(std::string_view text) : rest_(trimmed(text)) {}

  Result<std::string> read() {
    while (!rest_.empty()) {
      const char c = rest_.front();
      if (c == '#') break;
      if (c == '\'') {
        DROVER_RETURN_IF_ERROR(raw());
      } else if (c == '"') {
        DROVER_RETURN_IF_ERROR(escaped());
      } else {
        DROVER_RETURN_IF_ERROR(plain());
      }
    }
    return std::move(out_);
  }

 private:
  Status add(char c) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      return invalid_argument(std::string("0x") + kDigits[byte >> 4] + kDigits[byte & 15] +
                              " is an invalid value character");
    }
    out_ += c;
    return ok_status();
  }

  // Up to a quote, a comment or the end; blanks in front of a comment are none of the value.
  Status plain() {
    const size_t end = std::min(rest_.find_first_of("'\"#"), rest_.size());
    std::string_view part = rest_.substr(0, end);
    if (end < rest_.size() && rest_[end] == '#') part = part.substr(0, part.find_last_not_of(kSpaces) + 1);
    for (const char c : part) DROVER_RETURN_IF_ERROR(add(c));
    rest_.remove_prefix(end);
    return ok_status();
  }

  Status raw() {
    const size_t end = rest_.find('\'', 1);
    if (end == std::string_view::npos) return invalid_argument("unmatched '");
    for (const char c : rest_.substr(1, end - 1)) DROVER_RETURN_IF_ERROR(add(c));
    return close(end);
  }

  Status escaped() {
    for (size_t at = 1; at < rest_.size();) {
      const char c = rest_[at];
      if (c == '"') return close(at);
      if (c != '\\') {
        DROVER_RETURN_IF_ERROR(add(c));
        ++at;
        continue;
      }
      DROVER_RETURN_IF_ERROR(escape(at));
    }
    return invalid_argument("unmatched \"");
  }

  // Goes on behind the quote. Blanks there count only when more of the value follows.
  Status close(size_t quote) {
    rest_.remove_prefix(quote + 1);
    return ok_status();
  }

  // The four digits behind \u at `at`.
  Result<uint32_t> unit(size_t at) const {
    if (at + 6 > rest_.size()) return invalid_argument("incomplete hex sequence");
    uint32_t value = 0;
    for (const char c : rest_.substr(at + 2, 4)) {
      const char low = static_cast<char>(c | 0x20);
      const bool is_digit = c >= '0' && c <= '9', is_letter = low >= 'a' && low <= 'f';
      if (!is_digit && !is_letter) return invalid_argument("incomplete hex sequence");
      value = value * 16 + static_cast<uint32_t>(is_digit ? c - '0' : low - 'a' + 10);
    }
    return value;
  }

  // Writes what the escape at `at` stands for, and moves behind it.
  Status escape(size_t& at) {
    if (at + 1 >= rest_.size()) return invalid_argument("incomplete escape sequence");
    const char c = rest_[at + 1];
    constexpr std::string_view kLetters = "\"\\/bfrnt", kValues = "\"\\/\b\f\r\n\t";
    if (const size_t found = kLetters.find(c); found != std::string_view::npos) {
      out_ += kValues[found];
      at += 2;
      return ok_status();
    }
    if (c != 'u') {
      if (static_cast<unsigned char>(c) >= 0x80) {
        return invalid_argument("multibyte characters disallowed in escape sequences");
      }
      return invalid_argument(std::string("invalid escape sequence: \"\\") + c + "\"");
    }
    DROVER_TRY(uint32_t point, unit(at));
    at += 6;
    if (point >= 0xd800 && point < 0xdc00) {
      if (!rest_.substr(at).starts_with("\\u")) return invalid_argument("incomplete Unicode surrogate pair");
      DROVER_TRY(const uint32_t low, unit(at));
      if (low < 0xdc00 || low > 0xdfff) return invalid_argument("incomplete Unicode surrogate pair");
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
      at += 6;
    } else if (point >= 0xdc00 && point < 0xe000) {
      return invalid_argument("incomplete Unicode surrogate pair");
    }
    text_template::append_character(out_, point);
    return ok_status();
  }

  std::string_view rest_;
  std::string out_;
};

Status read_line(std::string_view line, Variables& out) {
  if (line.size() > kMostInLine) return invalid_argument("the line is longer than 64 KiB");
  const std::string_view text = trimmed(line);
  if (text.empty() || text.front() == '#') return ok_status();
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return invalid_argument("missing =");
  DROVER_TRY(std::string key, key_of(text.substr(0, equals)));
  DROVER_TRY(std::string value, LineValue(text.substr(equals + 1)).read());
  out.insert_or_assign(std::move(key), std::move(value));
  return ok_status();
}

}  // namespace

Result<Variables> parse_env_file(std::string_view text) {
  Variables variables;
  for (size_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    DROVER_RETURN_IF_ERROR(
        read_line(text.substr(0, end), variables).with_context("error on line " + std::to_string(number)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return variables;
}

}  // namespace drover::templates
