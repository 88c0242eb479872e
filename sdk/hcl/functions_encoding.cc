// Functions between values and encoded text: JSON, base64, URLs, CSV.
#include <set>

#include "drover/base64.h"
#include "functions.h"
#include "unicode.h"

namespace drover::hcl {
namespace {

Result<Value> json_encode(Arguments arguments) {
  if (arguments[0].weight() > kMaxValueWeight / 6) return resource_exhausted("the value is too large");
  return Value(to_json(arguments[0], JsonEscapes::html_safe));
}

Result<Value> json_decode(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  return from_json(text);
}

Result<Value> encode_base64(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  return Value(base64_encode(text));
}

Result<Value> decode_base64(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  DROVER_TRY(std::string bytes, base64_decode(text));
  if (!is_utf8(bytes)) return invalid_argument("the decoded bytes are not UTF-8 text");
  return Value(std::move(bytes));
}

Result<Value> url_encode(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                    (c != '\0' && std::string_view("-_.~").find(c) != std::string_view::npos);
    if (is_plain)
      out += c;
    else if (c == ' ')
      out += '+';
    else
      ((out += '%') += kHex[byte >> 4]) += kHex[byte & 15];
  }
  return Value(std::move(out));
}

// Comma-separated values (RFC 4180): records of fields; a quoted field may hold commas, line ends and doubled quotes.
class CsvReader {
 public:
  explicit CsvReader(std::string_view text) : text_(text) {}

  // Nothing at the end. Empty lines are skipped.
  Result<std::optional<std::vector<std::string>>> record() {
    while (at_ < text_.size() && skip_line_end()) {
    }
    if (at_ >= text_.size()) return std::optional<std::vector<std::string>>();
    std::vector<std::string> fields;
    for (;;) {
      std::string field;
      DROVER_RETURN_IF_ERROR(peek() == '"' ? quoted(field) : plain(field));
      fields.push_back(std::move(field));
      if (at_ < text_.size() && text_[at_] == ',') {
        ++at_;
        continue;
      }
      skip_line_end();
      return std::optional(std::move(fields));
    }
  }
  int line() const { return line_; }

 private:
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  bool skip_line_end() {
    size_t bytes = text_.substr(at_).starts_with("\r\n") ? 2 : peek() == '\n' ? 1 : 0;
    if (bytes > 0) ++line_;
    at_ += bytes;
    return bytes > 0;
  }

  bool at_field_end() const {
    std::string_view rest = text_.substr(at_);
    return rest.empty() || rest[0] == ',' || rest[0] == '\n' || rest.starts_with("\r\n");
  }

  Status plain(std::string& field) {
    while (!at_field_end()) {
      if (text_[at_] == '"') return problem("a quote inside of a field that is not quoted");
      field += text_[at_++];
    }
    return ok_status();
  }

  Status quoted(std::string& field) {
    ++at_;
    for (;;) {
      if (at_ >= text_.size()) return problem("a quoted field does not end");
      if (text_.substr(at_).starts_with("\"\"")) {
        field += '"';
        at_ += 2;
      } else if (text_[at_] == '"') {
        ++at_;
        return at_field_end() ? ok_status() : problem("text behind the end of a quoted field");
      } else if (skip_line_end()) {
        field += '\n';
      } else {
        field += text_[at_++];
      }
    }
  }

  Status problem(std::string_view what) const {
    return invalid_argument("line " + std::to_string(line_) + ": " + std::string(what));
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

// The first record names the columns; each further one becomes an object.
Result<Value> csv_decode(Arguments arguments) {
  DROVER_TRY(std::string text, text_argument(arguments, 0));
  CsvReader reader(text);
  DROVER_TRY(auto header, reader.record());
  if (!header) return invalid_argument("there is no line with the names of the columns");
  std::set<std::string_view> names;
  for (const std::string& name : *header) {
    if (!names.insert(name).second) return invalid_argument("the column \"" + name + "\" is named twice");
  }
  List rows;
  Growth growth;
  for (;;) {
    int line = reader.line();
    DROVER_TRY(auto fields, reader.record());
    if (!fields) return Value(std::move(rows), Shape::collection);
    if (fields->size() != header->size()) {
      return invalid_argument("line " + std::to_string(line) + " has " + std::to_string(fields->size()) +
                              " fields instead of " + std::to_string(header->size()));
    }
    Object row;
    for (size_t i = 0; i < header->size(); ++i) {
      Value field(std::move((*fields)[i]));
      if (!growth.fits(field, (*header)[i])) return resource_exhausted("the result is too large");
      row.emplace((*header)[i], std::move(field));
    }
    rows.push_back(std::move(row));
  }
}

}  // namespace

void add_encoding_functions(Functions& functions) {
  functions["jsonencode"] = with_count(1, 1, json_encode);
  functions["jsondecode"] = with_count(1, 1, json_decode);
  functions["base64encode"] = with_count(1, 1, encode_base64);
  functions["base64decode"] = with_count(1, 1, decode_base64);
  functions["urlencode"] = with_count(1, 1, url_encode);
  functions["csvdecode"] = with_count(1, 1, csv_decode);
}

}  // namespace drover::hcl
