#include "print.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

namespace drover::text_template {
namespace {

using nlohmann::json;

constexpr int kMaxWidth = 1'000'000;

struct Verb {
  bool minus = false, plus = false, sharp = false, space = false, zero = false;
  bool go_syntax = false;  // %#v
  bool has_width = false, has_precision = false;
  int width = 0, precision = 0;
  uint32_t letter = 'v';
};

size_t characters(std::string_view text) {
  size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(first_character(text).size);
  return count;
}

std::string padded(const Verb& verb, std::string text) {
  size_t length = characters(text), width = verb.has_width ? static_cast<size_t>(verb.width) : 0;
  if (length >= width) return text;
  if (verb.minus) return text.append(width - length, ' ');
  return text.insert(0, width - length, verb.zero ? '0' : ' ');
}

std::string hexadecimal(uint32_t number, size_t digits) {
  std::string text;
  for (; number > 0 || text.size() < digits; number >>= 4) text.insert(0, 1, "0123456789abcdef"[number & 15]);
  return text;
}

std::string quoted(std::string_view text, char mark, bool is_ascii) {
  static constexpr std::string_view kValues = "\a\b\f\n\r\t\v", kLetters = "abfnrtv";
  std::string out(1, mark);
  while (!text.empty()) {
    Character next = first_character(text);
    size_t at = next.point < 0x80 ? kValues.find(static_cast<char>(next.point)) : std::string_view::npos;
    if (!next.is_valid) {
      out += "\\x" + hexadecimal(static_cast<unsigned char>(text[0]), 2);
    } else if (next.point == static_cast<uint32_t>(mark) || next.point == '\\') {
      (out += '\\') += text[0];
    } else if (at != std::string_view::npos) {
      (out += '\\') += kLetters[at];
    } else if (next.point < 0x20 || next.point == 0x7f) {
      out += "\\x" + hexadecimal(next.point, 2);
    } else if (is_ascii && next.point > 0x7f) {
      out += next.point < 0x10000 ? "\\u" + hexadecimal(next.point, 4) : "\\U" + hexadecimal(next.point, 8);
    } else {
      out += text.substr(0, next.size);
    }
    text.remove_prefix(next.size);
  }
  return out + mark;
}

std::string with_base(uint64_t number, int base) {
  char buffer[70];
  auto end = std::to_chars(buffer, buffer + sizeof buffer, number, base).ptr;
  return {buffer, end};
}

// One value under one verb; lists and maps hand the verb on to their elements.
class Printer {
 public:
  Printer(std::string& out, const Verb& verb) : out_(out), verb_(verb) {}

  void value(const json& value, size_t depth = 0) {
    if (value.is_array() || value.is_object()) return container(value, depth);
    if (value.is_null()) {
      if (depth > 0)
        out_ += verb_.go_syntax ? "interface {}(nil)" : "<nil>";
      else if (verb_.letter == 'v')
        out_ += padded(verb_, "<nil>");
      else
        wrong(value);
    } else if (value.is_boolean()) {
      if (verb_.letter == 't' || verb_.letter == 'v')
        out_ += padded(verb_, value.get<bool>() ? "true" : "false");
      else
        wrong(value);
    } else if (value.is_string()) {
      string(value);
    } else if (value.is_number_float()) {
      real(value);
    } else {
      integer(value);
    }
  }

 private:
  void container(const json& value, size_t depth) {
    bool is_map = value.is_object();
    out_ += verb_.go_syntax ? std::string(type_of(value)) + "{" : is_map ? "map[" : "[";
    bool is_first = true;
    for (const auto& [key, element] : value.items()) {
      if (!is_first) out_ += verb_.go_syntax ? ", " : " ";
      is_first = false;
      if (is_map) {
        this->value(json(key), depth + 1);
        out_ += ':';
      }
      this->value(element, depth + 1);
    }
    out_ += verb_.go_syntax ? '}' : ']';
  }

  void wrong(const json& value) {
    out_ += "%!";
    append_character(out_, verb_.letter);
    if (value.is_null()) {
      out_ += "(<nil>)";
      return;
    }
    out_ += "(" + std::string(type_of(value)) + "=";
    Verb plain = verb_;
    plain.letter = 'v';
    Printer(out_, plain).value(value);
    out_ += ')';
  }

  void string(const json& value) {
    std::string_view text = value.get_ref<const std::string&>();
    if (verb_.letter == 'x' || verb_.letter == 'X') return hex_text(text);
    if (verb_.letter != 'v' && verb_.letter != 's' && verb_.letter != 'q') return wrong(value);
    if (verb_.has_precision) {
      size_t end = 0;
      for (int i = 0; i < verb_.precision && end < text.size(); ++i) end += first_character(text.substr(end)).size;
      text = text.substr(0, end);
    }
    if (verb_.letter != 'q' && !verb_.go_syntax) {
      out_ += padded(verb_, std::string(text));
      return;
    }
    bool is_raw = verb_.sharp && verb_.letter == 'q' && can_be_raw(text);
    out_ += padded(verb_, is_raw ? "`" + std::string(text) + "`" : quoted(text, '"', verb_.plus));
  }

  static bool can_be_raw(std::string_view text) {
    return std::ranges::all_of(text, [](char c) {
      auto byte = static_cast<unsigned char>(c);
      return c == '\t' || (byte >= 0x20 && byte < 0x7f && c != '`') || byte >= 0x80;
    });
  }

  void hex_text(std::string_view text) {
    if (verb_.has_precision) text = text.substr(0, static_cast<size_t>(verb_.precision));
    std::string_view digits = verb_.letter == 'x' ? "0123456789abcdef" : "0123456789ABCDEF";
    std::string prefix = !verb_.sharp ? "" : verb_.letter == 'x' ? "0x" : "0X", out;
    for (char c : text) {
      if (out.empty() || verb_.space) out += (out.empty() ? "" : " ") + prefix;
      auto byte = static_cast<unsigned char>(c);
      (out += digits[byte >> 4]) += digits[byte & 15];
    }
    out_ += padded(verb_, std::move(out));
  }

  void integer(const json& value) {
    bool is_negative = value.is_number_integer() && !value.is_number_unsigned() && value.get<int64_t>() < 0;
    uint64_t size = is_negative ? ~static_cast<uint64_t>(value.get<int64_t>()) + 1 : value.get<uint64_t>();
    switch (verb_.letter) {
      case 'v':
      case 'd':
        return digits(size, is_negative, 10, "");
      case 'b':
        return digits(size, is_negative, 2, verb_.sharp ? "0b" : "");
      case 'o':
        return digits(size, is_negative, 8, "");
      case 'O':
        return digits(size, is_negative, 8, "0o");
      case 'x':
        return digits(size, is_negative, 16, verb_.sharp ? "0x" : "");
      case 'X':
        return digits(size, is_negative, 16, verb_.sharp ? "0X" : "");
      case 'U':
        return code_point(is_negative ? ~size + 1 : size);
      case 'c':
      case 'q':
        return character(
            is_negative || size > 0x10ffff || (size >= 0xd800 && size < 0xe000) ? 0xfffd : static_cast<uint32_t>(size));
      default:
        return wrong(value);
    }
  }

  void digits(uint64_t size, bool is_negative, int base, const std::string& prefix) {
    Verb rest = verb_;
    rest.zero = false;
    std::string text = with_base(size, base);
    if (verb_.letter == 'X')
      std::ranges::transform(text, text.begin(), [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
    std::string sign = is_negative ? "-" : verb_.plus ? "+" : verb_.space ? " " : "";
    size_t least = 0;
    if (verb_.has_precision) {
      if (verb_.precision == 0 && size == 0) {
        out_ += padded(rest, "");
        return;
      }
      least = static_cast<size_t>(verb_.precision);
    } else if (verb_.zero && verb_.has_width && !verb_.minus) {
      least = static_cast<size_t>(verb_.width) - std::min<size_t>(sign.size(), static_cast<size_t>(verb_.width));
    }
    if (text.size() < least) text.insert(0, least - text.size(), '0');
    if (verb_.sharp && base == 8 && !text.starts_with('0')) text.insert(0, 1, '0');
    out_ += padded(rest, sign + prefix + text);
  }

  void character(uint32_t point) {
    std::string text;
    append_character(text, point);
    if (verb_.letter == 'q') text = quoted(text, '\'', verb_.plus);
    out_ += padded(verb_, std::move(text));
  }

  void code_point(uint64_t point) {
    std::string text = with_base(point, 16);
    std::ranges::transform(text, text.begin(), [](char c) { return c >= 'a' ? static_cast<char>(c - 32) : c; });
    size_t least = verb_.has_precision ? std::max<size_t>(static_cast<size_t>(verb_.precision), 4) : 4;
    if (text.size() < least) text.insert(0, least - text.size(), '0');
    text.insert(0, "U+");
    if (verb_.sharp && point <= 0x10ffff && point >= 0x20 && point != 0x7f) {
      text += " '";
      append_character(text, static_cast<uint32_t>(point));
      text += '\'';
    }
    Verb rest = verb_;
    rest.zero = false;
    out_ += padded(rest, std::move(text));
  }

  void real(const json& value) {
    char letter = verb_.letter == 'v' ? 'g' : verb_.letter == 'F' ? 'f' : static_cast<char>(verb_.letter);
    if (verb_.letter > 127 || std::string_view("eEfgG").find(letter) == std::string_view::npos) return wrong(value);
    double number = value.get<double>();
    std::string text = digits_of(std::abs(number), letter);
    std::string sign = std::signbit(number) ? "-" : verb_.plus ? "+" : verb_.space ? " " : "";
    if (verb_.zero && verb_.has_width && !verb_.minus) {
      size_t length = sign.size() + text.size(), width = static_cast<size_t>(verb_.width);
      if (length < width) text.insert(0, width - length, '0');
    }
    out_ += padded(verb_, sign + text);
  }

  std::string digits_of(double number, char letter) const {
    char buffer[512];
    bool is_general = letter == 'g' || letter == 'G';
    if (!verb_.has_precision && is_general) {
      bool has_exponent = number != 0 && (number < 1e-4 || number >= 1e6);
      auto form = has_exponent ? std::chars_format::scientific : std::chars_format::fixed;
      std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, number, form).ptr);
      if (letter == 'G') std::ranges::replace(text, 'e', 'E');
      return text;
    }
    std::string format = std::string("%.*") + letter;
    int precision = verb_.has_precision ? std::min(verb_.precision, kMaxWidth) : 6;
    std::string text(static_cast<size_t>(precision) + 400, '\0');
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int length = std::snprintf(text.data(), text.size(), format.c_str(), precision, number);
#pragma GCC diagnostic pop
    text.resize(static_cast<size_t>(std::max(length, 0)));
    return text;
  }

  std::string& out_;
  const Verb verb_;
};

// A format and what it takes from the values.
class Format {
 public:
  Format(std::string_view format, std::span<const Value> values) : rest_(format), values_(values) {}

  std::string run() {
    while (!rest_.empty() && out_.size() <= kMaxTemplateOutput) {
      size_t percent = std::min(rest_.find('%'), rest_.size());
      out_ += rest_.substr(0, percent);
      rest_.remove_prefix(percent);
      if (!rest_.empty()) verb();
    }
    if (!is_reordered_ && next_ < values_.size()) extra();
    return std::move(out_);
  }

 private:
  char peek() const { return rest_.empty() ? '\0' : rest_[0]; }

  void verb() {
    rest_.remove_prefix(1);
    Verb verb;
    has_good_index_ = true;
    flags(verb);
    bool after_index = index();
    if (peek() == '*') {
      rest_.remove_prefix(1);
      verb.has_width = from_value(verb.width);
      if (!verb.has_width) out_ += "%!(BADWIDTH)";
      if (verb.width < 0) {
        verb.width = -verb.width;
        verb.minus = true;
        verb.zero = false;
      }
      after_index = false;
    } else {
      verb.has_width = number(verb.width);
      if (after_index && verb.has_width) has_good_index_ = false;  // %[3]2d
    }
    if (peek() == '.') after_index = precision(verb, after_index);
    if (!after_index) index();
    letter(verb);
  }

  void flags(Verb& verb) {
    for (; !rest_.empty(); rest_.remove_prefix(1)) {
      if (peek() == '#')
        verb.sharp = true;
      else if (peek() == '0')
        verb.zero = !verb.minus;
      else if (peek() == '+')
        verb.plus = true;
      else if (peek() == '-')
        verb.minus = true, verb.zero = false;
      else if (peek() == ' ')
        verb.space = true;
      else
        return;
    }
  }

  bool precision(Verb& verb, bool after_index) {
    rest_.remove_prefix(1);
    if (after_index) has_good_index_ = false;  // %[3].2d
    after_index = index();
    if (peek() == '*') {
      rest_.remove_prefix(1);
      verb.has_precision = from_value(verb.precision);
      if (verb.precision < 0) {
        verb.precision = 0;
        verb.has_precision = false;
      }
      if (!verb.has_precision) out_ += "%!(BADPREC)";
      return false;
    }
    if (!number(verb.precision)) verb.precision = 0;
    verb.has_precision = true;
    return after_index;
  }

  void letter(const Verb& flags) {
    if (rest_.empty()) {
      out_ += "%!(NOVERB)";
      return;
    }
    Verb verb = flags;
    Character character = first_character(rest_);
    verb.letter = character.point;
    if (verb.letter == 'v') {
      verb.go_syntax = verb.sharp;
      verb.sharp = verb.plus = false;
    }
    std::string_view shown = rest_.substr(0, character.size);
    rest_.remove_prefix(character.size);
    if (verb.letter == '%') {
      out_ += '%';
    } else if (!has_good_index_) {
      out_ += "%!" + std::string(shown) + "(BADINDEX)";
    } else if (next_ >= values_.size()) {
      out_ += "%!" + std::string(shown) + "(MISSING)";
    } else {
      const json& value = *values_[next_++];
      if (verb.letter == 'T' && value.is_null()) {
        out_ += padded(verb, "<nil>");
      } else if (verb.letter == 'T') {
        verb.letter = 's';
        Printer(out_, verb).value(json(type_of(value)));
      } else {
        Printer(out_, verb).value(value);
      }
    }
  }

  // Digits, if there are any and not too many.
  bool number(int& out) {
    size_t length = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
    int value = 0;
    auto problem = std::from_chars(rest_.data(), rest_.data() + length, value).ec;
    rest_.remove_prefix(length);
    if (problem != std::errc() || value > kMaxWidth) return false;
    out = value;
    return true;
  }

  bool from_value(int& out) {
    if (next_ >= values_.size()) return false;
    const json& value = *values_[next_++];
    if (!value.is_number_integer() || value > kMaxWidth || value < -kMaxWidth) return false;
    out = value.get<int>();
    return true;
  }

  // [n]: the value to take next.
  bool index() {
    if (peek() != '[') return false;
    is_reordered_ = true;
    size_t end = rest_.find(']');
    int wanted = 0;
    std::string_view digits = rest_.substr(1, end == std::string_view::npos ? 0 : end - 1);
    auto [stop, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), wanted);
    rest_.remove_prefix(end == std::string_view::npos ? 1 : end + 1);
    bool is_good = problem == std::errc() && stop == digits.data() + digits.size() && wanted >= 1 &&
                   static_cast<size_t>(wanted) <= values_.size();
    if (is_good)
      next_ = static_cast<size_t>(wanted) - 1;
    else
      has_good_index_ = false;
    return is_good;
  }

  void extra() {
    out_ += "%!(EXTRA ";
    for (size_t i = next_; i < values_.size(); ++i) {
      if (i > next_) out_ += ", ";
      out_ += values_[i]->is_null() ? "<nil>" : std::string(type_of(*values_[i])) + "=" + printed(*values_[i]);
    }
    out_ += ')';
  }

  std::string_view rest_;
  std::span<const Value> values_;
  std::string out_;
  size_t next_ = 0;
  bool is_reordered_ = false;
  bool has_good_index_ = true;
};

}  // namespace

Character first_character(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4) return {};
  uint32_t point = lead & (0x7fu >> size);
  for (size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    point = point << 6 | (byte(i) & 63);
  }
  bool is_short = point < (size == 2 ? 0x80u : size == 3 ? 0x800u : 0x10000u);
  if (is_short || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return {};
  return {point, size, true};
}

void append_character(std::string& out, uint32_t point) {
  auto tail = [&](uint32_t shift) { out += static_cast<char>(0x80 | (point >> shift & 63)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xc0 | point >> 6);
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xe0 | point >> 12);
    tail(6), tail(0);
  } else {
    out += static_cast<char>(0xf0 | point >> 18);
    tail(12), tail(6), tail(0);
  }
}

std::string_view type_of(const json& value) {
  if (value.is_null()) return "<nil>";
  if (value.is_boolean()) return "bool";
  if (value.is_string()) return "string";
  if (value.is_number_float()) return "float64";
  if (value.is_array()) return "[]interface {}";
  if (value.is_object()) return "map[string]interface {}";
  return "int";
}

std::string printed(const json& value) {
  std::string out;
  Printer(out, Verb()).value(value);
  return out;
}

std::string print_all(std::span<const Value> values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0 && !values[i]->is_string() && !values[i - 1]->is_string()) out += ' ';
    out += printed(*values[i]);
  }
  return out;
}

std::string print_line(std::span<const Value> values) {
  std::string out;
  for (size_t i = 0; i < values.size(); ++i) out += (i > 0 ? " " : "") + printed(*values[i]);
  return out + "\n";
}

std::string print_format(std::string_view format, std::span<const Value> values) {
  return Format(format, values).run();
}

}  // namespace drover::text_template
