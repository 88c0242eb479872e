// YAML. Reading: the YAML 1.1 words (yes, on), numbers, timestamps as RFC 3339 text, merge keys. The only file of the
// language that includes yaml-cpp.
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "drover/base64.h"
#include "functions.h"
#include "number.h"
#include "unicode.h"

namespace drover::hcl {
namespace {

constexpr size_t kMaxText = 1 << 20;  // the parser takes some hundred bytes for each of the text
constexpr size_t kStepsPerDocument = 2000;
constexpr std::string_view kTag = "tag:yaml.org,2002:";

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, text) != words.end();
}

bool all_of(std::string_view text, std::string_view characters) {
  return !text.empty() && text.find_first_not_of(characters) == std::string_view::npos;
}

std::optional<Number> whole(std::string_view text) {
  std::string_view body = text;
  bool is_negative = body.starts_with('-');
  if (is_negative || body.starts_with('+')) body.remove_prefix(1);
  int base = body.starts_with("0x") ? 16 : body.starts_with("0o") ? 8 : 10;
  if (base != 10) body.remove_prefix(2);
  std::string digits(body);
  std::erase(digits, '_');
  if (!all_of(digits, base == 16 ? "0123456789abcdefABCDEF" : base == 8 ? "01234567" : "0123456789"))
    return std::nullopt;
  if (is_negative) digits.insert(0, "-");
  return base == 10 ? Number::parse(digits) : parse_whole(digits, base);
}

std::optional<Number> number(std::string_view text) {
  if (auto integer = whole(text)) return integer;
  // Digits may be missing on one side of the point.
  std::string full(text);
  size_t point = full.find('.');
  if (point != std::string::npos) {
    bool before = point > 0 && full[point - 1] >= '0' && full[point - 1] <= '9';
    bool behind = point + 1 < full.size() && full[point + 1] >= '0' && full[point + 1] <= '9';
    if (!before && !behind) return std::nullopt;
    if (!behind) full.insert(point + 1, "0");
    if (!before) full.insert(point, "0");
  }
  return Number::parse(full);
}

// 2001-1-2, "2001-1-2 3:4:5", 2001-1-2T3:4:5Z as RFC 3339, without fractions.
std::optional<std::string> timestamp(std::string_view text) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, used = 0;
  std::string copy(text);
  if (copy.size() < 8 || copy.find_first_not_of("0123456789") != 4 || copy[4] != '-') return std::nullopt;
  std::string zone = "Z";
  if (std::sscanf(copy.c_str(), "%4d-%2d-%2d%n", &year, &month, &day, &used) != 3) return std::nullopt;
  std::string rest = copy.substr(static_cast<size_t>(used));
  if (!rest.empty()) {
    char mark = rest[0];
    if (mark != 'T' && mark != 't' && mark != ' ') return std::nullopt;
    if (std::sscanf(rest.c_str() + 1, "%2d:%2d:%2d%n", &hour, &minute, &second, &used) != 3) return std::nullopt;
    rest = rest.substr(static_cast<size_t>(used) + 1);
    if (rest.starts_with('.')) rest = rest.substr(std::min(rest.find_first_not_of("0123456789", 1), rest.size()));
    bool has_offset = rest.size() == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':' &&
                      all_of(rest.substr(1, 2) + rest.substr(4), "0123456789");
    if (mark == ' ' ? !rest.empty() : rest != "Z" && !has_offset) return std::nullopt;
    if (has_offset) zone = rest;
  }
  bool is_good = month >= 1 && month <= 12 && day >= 1 && day <= 31 && hour <= 23 && minute <= 59 && second <= 59;
  if (!is_good) return std::nullopt;
  char out[64];
  std::snprintf(out, sizeof out, "%04d-%02d-%02dT%02d:%02d:%02d", year, month, day, hour, minute, second);
  return out + zone;
}

class YamlReader {
 public:
  // Every node takes a byte of text; more of them come from aliases, which may repeat a little only.
  explicit YamlReader(size_t text_size) : most_nodes_(std::max<size_t>(1000, text_size)) {}

  Result<Value> read(const YAML::Node& node, size_t depth) {
    if (depth >= kMaxValueDepth) return invalid_argument("the document is nested too deep, or contains itself");
    if (++nodes_ > most_nodes_) return resource_exhausted("the document is too large");
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null:
        return Value();
      case YAML::NodeType::Scalar:
        return scalar(node.Scalar(), node.Tag());
      case YAML::NodeType::Sequence:
        return sequence(node, depth);
      case YAML::NodeType::Map:
        return mapping(node, depth);
    }
    return Value();
  }

 private:
  static Result<Value> scalar(const std::string& text, std::string tag) {
    if (!is_utf8(text)) return invalid_argument("a value is not UTF-8 text");
    if (tag == "!") return Value(text);  // quoted
    if (tag == "?") tag.clear();
    if (tag.starts_with(kTag)) tag.erase(0, kTag.size());
    if (tag == "str") return Value(text);
    if (tag == "binary") {
      if (!base64_decode(text).ok()) return invalid_argument("\"" + text + "\" is not base64");
      return Value(text);
    }
    if (tag == "null" || (tag.empty() && is_one_of(text, {"", "~", "null", "Null", "NULL"}))) return Value();
    if (tag.empty() || tag == "bool") {
      if (is_one_of(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"}))
        return Value(true);
      if (is_one_of(text, {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"}))
        return Value(false);
    }
    if (tag.empty() || tag == "timestamp") {
      if (auto time = timestamp(text)) return Value(*std::move(time));
    }
    if (tag.empty() || tag == "int" || tag == "float") {
      if (auto value = number(text)) return Value(*value);
      if (is_one_of(text, {".nan", ".NaN", ".NAN", ".inf", ".Inf", ".INF", "+.inf", "-.inf", "+.Inf", "-.Inf"}))
        return invalid_argument("\"" + text + "\" is no number that this language has");
    }
    if (tag.empty()) return Value(text);
    if (!is_one_of(tag, {"bool", "int", "float", "timestamp"})) return invalid_argument("unknown tag \"" + tag + "\"");
    return invalid_argument("\"" + text + "\" is no " + tag);
  }

  Result<Value> sequence(const YAML::Node& node, size_t depth) {
    List list;
    for (const YAML::Node& element : node) {
      DROVER_TRY(Value value, read(element, depth + 1));
      DROVER_RETURN_IF_ERROR(count(value));
      list.push_back(std::move(value));
    }
    return Value(std::move(list));
  }

  Result<Value> mapping(const YAML::Node& node, size_t depth) {
    std::string tag = node.Tag();
    if (tag != "?" && !tag.empty() && tag != std::string(kTag) + "map") {
      return invalid_argument("a mapping cannot be " + tag);
    }
    Object object;
    for (const auto& entry : node) {
      if (!entry.first.IsScalar() && !entry.first.IsNull()) return invalid_argument("only text can be a key");
      bool is_merge = entry.first.IsScalar() && entry.first.Scalar() == "<<" && entry.first.Tag() != "!";
      DROVER_TRY(Value value, read(entry.second, depth + 1));
      DROVER_RETURN_IF_ERROR(count(value));
      if (is_merge) {
        DROVER_RETURN_IF_ERROR(merge(value, object));
        continue;
      }
      DROVER_TRY(Value key, read(entry.first, depth + 1));
      if (key.is_null()) return invalid_argument("null cannot be a key");
      object.insert_or_assign(*as_string(key), std::move(value));
    }
    return Value(std::move(object));
  }

  static Status merge(const Value& value, Object& object) {
    if (value.is_list()) {
      for (const Value& element : value.list()) DROVER_RETURN_IF_ERROR(merge(element, object));
      return ok_status();
    }
    if (!value.is_object()) return invalid_argument("only a mapping can be merged with <<");
    for (const auto& [key, element] : value.object()) object.insert_or_assign(key, element);
    return ok_status();
  }

  // Aliases repeat what they name, so a small document can describe a huge value.
  Status count(const Value& value) {
    if (value.weight() > kMaxValueWeight) return resource_exhausted("the document describes too large a value");
    return ok_status();
  }

  size_t most_nodes_;
  size_t nodes_ = 0;
};

Result<Value> yaml_decode(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  if (text.size() > kMaxText) return resource_exhausted("the text is larger than 1 MiB");
  try {  // yaml-cpp reports by exceptions
    std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.empty()) return invalid_argument("there is no YAML document");
    if (documents.size() > 1) return invalid_argument("there is more than one YAML document");
    return YamlReader(text.size()).read(documents.front(), 0);
  } catch (const YAML::Exception& problem) {
    std::string where = problem.mark.is_null() ? "" : "line " + std::to_string(problem.mark.line + 1) + ": ";
    return invalid_argument(where + problem.msg);
  }
}

// ---- writing: block style, sorted keys, every string quoted or a literal block

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      ((out += "\\x") += "0123456789ABCDEF"[byte >> 4]) += "0123456789ABCDEF"[byte & 15];
    } else {
      out += c;
    }
  }
  return out += '"';
}

// True when a literal block holds exactly this text.
bool fits_a_block(std::string_view text) {
  if (text.find('\n') == std::string_view::npos || text[0] == ' ' || text[0] == '\n') return false;
  if (text.find(" \n") != std::string_view::npos || text.ends_with(' ')) return false;
  return std::ranges::all_of(text, [](char c) {
    auto byte = static_cast<unsigned char>(c);
    return c == '\n' || (byte >= 0x20 && byte != 0x7f);
  });
}

class YamlWriter {
 public:
  // `indent` is where nested lines begin; the writer stands behind "key:" or "-" or at the beginning.
  void value(const Value& value, size_t indent, bool is_root) {
    if (value.is_object() && !value.object().empty()) return mapping(value.object(), indent, is_root);
    if (value.is_list() && !value.list().empty()) return sequence(value.list(), indent, is_root);
    if (!is_root) out_ += ' ';
    if (value.is_string() && fits_a_block(value.string())) {
      block(value.string(), is_root ? 2 : indent);
    } else {
      out_ += value.is_string()   ? quoted(value.string())
              : value.is_null()   ? "null"
              : value.is_object() ? "{}"
              : value.is_list()   ? "[]"
                                  : *as_string(value);
      out_ += '\n';
    }
  }
  std::string take() { return std::move(out_); }

 private:
  void mapping(const Object& object, size_t indent, bool is_inline) {
    if (!is_inline) out_ += '\n';
    bool is_first = is_inline;
    for (const auto& [key, element] : object) {
      if (!is_first) out_.append(indent, ' ');
      is_first = false;
      out_ += quoted(key) + ":";
      bool is_list = element.is_list() && !element.list().empty();
      value(element, is_list ? indent : indent + 2, false);
    }
  }

  void sequence(const List& list, size_t indent, bool is_inline) {
    if (!is_inline) out_ += '\n';
    bool is_first = is_inline;
    for (const Value& element : list) {
      if (!is_first) out_.append(indent, ' ');
      is_first = false;
      out_ += '-';
      bool is_nested =
          (element.is_object() && !element.object().empty()) || (element.is_list() && !element.list().empty());
      if (is_nested) {
        out_ += ' ';
        value(element, indent + 2, true);
      } else {
        value(element, indent + 2, false);
      }
    }
  }

  void block(std::string_view text, size_t indent) {
    out_ += text.ends_with("\n\n") ? "|+\n" : text.ends_with('\n') ? "|\n" : "|-\n";
    bool ends = text.ends_with('\n');
    if (ends) text.remove_suffix(1);
    while (true) {
      size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) out_.append(indent, ' ').append(text.substr(0, end));
      out_ += '\n';
      if (end == text.size()) return;
      text.remove_prefix(end + 1);
    }
  }

  std::string out_;
};

Result<Value> yaml_encode(Arguments arguments) {
  if (arguments[0].weight() > kMaxValueWeight / 16) return resource_exhausted("the value is too large");
  YamlWriter writer;
  writer.value(arguments[0], 0, true);
  return Value(writer.take());
}

}  // namespace

void add_yaml_functions(Functions& functions) {
  functions["yamldecode"] = Function(with_count(1, 1, yaml_decode)).with_steps(kStepsPerDocument);
  functions["yamlencode"] = with_count(1, 1, yaml_encode);
}

}  // namespace drover::hcl
