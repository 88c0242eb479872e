// format and formatlist.
#include <algorithm>
#include <charconv>

#include "functions.h"
#include "number.h"
#include "unicode.h"

namespace drover::hcl {
namespace {

struct Verb {
  bool left = false, plus = false, zero = false, space = false, alternate = false;
  int width = 0;
  int precision = -1;
  char letter = 0;
};

constexpr int kMaxWidth = 1000;

class Formatter {
 public:
  explicit Formatter(Arguments arguments) : arguments_(arguments) {}

  Result<Value> run(std::string_view text) {
    std::string out;
    while (!text.empty()) {
      size_t percent = std::min(text.find('%'), text.size());
      out += text.substr(0, percent);
      text.remove_prefix(percent);
      if (text.empty()) break;
      Verb verb;
      if (!read(text, verb)) return invalid_argument("the format has an incomplete or unknown verb");
      if (verb.letter == '%') {
        out += '%';
        continue;
      }
      if (next_ == 0 || next_ >= arguments_.size()) {
        return invalid_argument(std::string("there is no argument for %") + verb.letter);
      }
      DROVER_TRY(std::string piece, print(verb, arguments_[next_]));
      was_used_ = std::max(was_used_, next_++);
      out += piece;
      if (out.size() > kMaxValueWeight) return resource_exhausted("the result is too large");
    }
    if (was_used_ + 1 < arguments_.size()) return invalid_argument("there are more arguments than verbs");
    return Value(std::move(out));
  }

 private:
  static bool read_count(std::string_view& text, int& count) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error == std::errc::invalid_argument) return true;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return error == std::errc() && count >= 0 && count <= kMaxWidth;
  }

  bool read(std::string_view& text, Verb& verb) {
    text.remove_prefix(1);
    for (; !text.empty(); text.remove_prefix(1)) {
      if (text[0] == '-')
        verb.left = true;
      else if (text[0] == '+')
        verb.plus = true;
      else if (text[0] == '0')
        verb.zero = true;
      else if (text[0] == ' ')
        verb.space = true;
      else if (text[0] == '#')
        verb.alternate = true;
      else
        break;
    }
    if (text.starts_with('[')) {
      int index = 0;
      text.remove_prefix(1);
      if (!read_count(text, index) || !text.starts_with(']') || index < 1) return false;
      text.remove_prefix(1);
      next_ = static_cast<size_t>(index);
    }
    if (!text.empty() && text[0] >= '1' && text[0] <= '9' && !read_count(text, verb.width)) return false;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      verb.precision = 0;
      if (!read_count(text, verb.precision)) return false;
    }
    if (text.empty() || std::string_view("%sqvtdboxXeEfgG").find(text[0]) == std::string_view::npos) return false;
    verb.letter = text[0];
    text.remove_prefix(1);
    return true;
  }

  static Result<std::string> print(const Verb& verb, const Value& value) {
    std::optional<std::string> text;
    switch (verb.letter) {
      case 's':
      case 'q':
        text = as_string(value);
        if (text && verb.precision > 0) text = cut(*text, verb.precision);
        if (text && verb.letter == 'q') text = to_json(Value(*text));
        if (text) text = pad(verb, *std::move(text));
        break;
      case 'v':
        text = pad(verb, value.is_string() && !verb.alternate   ? value.string()
                         : value.is_number() && !verb.alternate ? formatted(value.number(), 'g', -1)
                                                                : to_json(value));
        break;
      case 't':
        if (std::optional<bool> truth = as_boolean(value)) text = *truth ? "true" : "false";
        break;
      default:
        if (std::optional<Number> number = as_number(value)) {
          bool is_real = std::string_view("efEgG").find(verb.letter) != std::string_view::npos;
          text = is_real ? real(verb, *number) : integer(verb, *number);
        }
    }
    if (!text) {
      return invalid_argument("%" + std::string(1, verb.letter) + " cannot print a value of type " +
                              std::string(to_string(value.kind())));
    }
    return *std::move(text);
  }

  static std::string cut(std::string_view text, int points) {
    size_t at = 0;
    for (; points > 0 && at < text.size(); --points) at += std::max<size_t>(decode_utf8(text.substr(at)).bytes, 1);
    return std::string(text.substr(0, at));
  }

  static std::string sign_of(const Verb& verb, std::string& digits) {
    if (digits.starts_with('-')) {
      digits.erase(0, 1);
      return "-";
    }
    return verb.plus ? "+" : verb.space ? " " : "";
  }

  // A sign and what goes with it, zeros, digits; spaces where they are asked for.
  static std::string padded(const Verb& verb, const std::string& sign, std::string digits, bool may_have_zeros) {
    size_t length = sign.size() + digits.size(), width = static_cast<size_t>(verb.width);
    size_t missing = width > length ? width - length : 0;
    if (verb.left) return sign + digits + std::string(missing, ' ');
    if (verb.zero && may_have_zeros) return sign + std::string(missing, '0') + digits;
    return std::string(missing, ' ') + sign + digits;
  }

  static std::optional<std::string> integer(const Verb& verb, const Number& number) {
    int base = verb.letter == 'd' ? 10 : verb.letter == 'b' ? 2 : verb.letter == 'o' ? 8 : 16;
    std::optional<std::string> text = whole_text(number, base);
    if (!text) return std::nullopt;
    std::string sign = sign_of(verb, *text);
    if (verb.alternate && base != 10) sign += base == 2 ? "0b" : base == 8 ? "0" : verb.letter == 'x' ? "0x" : "0X";
    if (verb.letter == 'X') {
      std::ranges::transform(*text, text->begin(),
                             [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    }
    if (*text == "0" && verb.precision == 0) return "";
    if (verb.precision > 0) text->insert(0, std::max<size_t>(verb.precision, text->size()) - text->size(), '0');
    return padded(verb, sign, *std::move(text), verb.precision < 0);
  }

  static std::string real(const Verb& verb, const Number& number) {
    bool is_general = verb.letter == 'g' || verb.letter == 'G';
    std::string text = formatted(number, verb.letter, verb.precision < 0 && !is_general ? 6 : verb.precision);
    std::string sign = sign_of(verb, text);
    return padded(verb, sign, std::move(text), true);
  }

  static std::string pad(const Verb& verb, std::string text) {
    auto points = static_cast<int>(
        std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
    if (points >= verb.width) return text;
    auto missing = static_cast<size_t>(verb.width - points);
    if (verb.left) return text.append(missing, verb.zero ? '0' : ' ');
    return text.insert(0, missing, verb.zero ? '0' : ' ');
  }

  Arguments arguments_;
  size_t next_ = 1;
  size_t was_used_ = 0;
};

// format("%s is %d", …): %s %q %v %t %d %b %o %x %X %e %f %g %%, with flags, width, precision and [n] indexes.
Result<Value> format_one(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  return Formatter(arguments).run(text);
}

// One result for each element of the lists among the arguments, which have one length; the others are repeated.
Result<Value> format_list(Arguments arguments) {
  std::optional<size_t> length;
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (!arguments[i].is_list()) continue;
    size_t size = arguments[i].list().size();
    if (length && *length != size) {
      return invalid_argument("argument " + std::to_string(i + 1) + " has " + std::to_string(size) +
                              " elements, a list before it has " + std::to_string(*length));
    }
    length = size;
  }
  List results;
  size_t weight = 0;
  for (size_t row = 0; row < length.value_or(1); ++row) {
    List own(arguments.begin(), arguments.end());
    for (size_t i = 1; i < own.size(); ++i) {
      if (arguments[i].is_list()) own[i] = arguments[i].list()[row];
    }
    DROVER_TRY(Value text, format_one(own));
    weight += text.weight();
    if (weight > kMaxValueWeight) return resource_exhausted("the result is too large");
    results.push_back(std::move(text));
  }
  return Value(std::move(results), Shape::collection);
}

}  // namespace

void add_format_functions(Functions& functions) {
  functions["format"] = with_count(1, kAnyCount, format_one);
  functions["formatlist"] = with_count(1, kAnyCount, format_list);
}

}  // namespace drover::hcl
