#include "drover/json.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/reflection.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "drover/base64.h"
#include "drover/duration.h"
#include "drover/options.pb.h"
#include "drover/time.h"
#include "drover/uuid.h"
#include "json_form.h"

namespace drover {
namespace {

namespace pb = google::protobuf;
using Json = nlohmann::json;
using pb::FieldDescriptor;

std::string_view kind_of(const Json& value) { return value.is_number() ? "number" : value.type_name(); }

// A place in the text, made into words for errors only. Those it stands in outlive it.
class Place {
 public:
  Place() = default;
  Place member(std::string_view name) const { return {this, name, Kind::member}; }
  Place entry(std::string_view key) const { return {this, key, Kind::entry}; }
  Place item(size_t index) const {
    Place place{this, {}, Kind::item};
    place.index_ = index;
    return place;
  }

  std::string text() const {
    std::string text = within_ ? within_->text() : "";
    switch (kind_) {
      case Kind::whole:
        return text;
      case Kind::member:
        return text.append(text.empty() ? "" : ".").append(name_);
      case Kind::entry:
        return text.append("[\"").append(name_).append("\"]");
      case Kind::item:
        return text + "[" + std::to_string(index_) + "]";
    }
    return text;
  }

 private:
  enum class Kind : uint8_t { whole, member, entry, item };
  Place(const Place* within, std::string_view name, Kind kind) : within_(within), name_(name), kind_(kind) {}

  const Place* within_ = nullptr;
  std::string_view name_;
  size_t index_ = 0;
  Kind kind_ = Kind::whole;
};

class Reader {
 public:
  explicit Reader(UnknownWords words) : words_(words) {}
  Status object(const Json& json, const TypeForm& type, pb::Message& m, const Place& place) {
    if (!json.is_object()) return mismatch(place, "an object", json);
    for (const auto& [name, value] : json.get_ref<const Json::object_t&>()) {
      if (value.is_null()) continue;
      if (const FieldForm* f = type.find(name)) DROVER_RETURN_IF_ERROR(field(value, *f, m, place.member(f->name)));
    }
    for (const FieldForm& f : type.fields) {
      if (!f.is_inline) continue;
      DROVER_RETURN_IF_ERROR(object(json, *f.type, *m.GetReflection()->MutableMessage(&m, f.field), place));
    }
    return ok_status();
  }

 private:
  static Status mismatch(const Place& place, std::string_view wanted, const Json& got) {
    const std::string where = place.text();
    return invalid_argument((where.empty() ? "the body" : where) + ": expected " + std::string(wanted) + ", found " +
                            std::string(kind_of(got)));
  }

  Status field(const Json& value, const FieldForm& form, pb::Message& m, const Place& place) {
    const FieldDescriptor& f = *form.field;
    const pb::Reflection& r = *m.GetReflection();
    if (f.is_map()) {
      if (!value.is_object()) return mismatch(place, "an object", value);
      for (const auto& [name, entry_value] : value.get_ref<const Json::object_t&>()) {
        if (entry_value.is_null()) continue;
        pb::Message* entry = r.AddMessage(&m, &f);
        entry->GetReflection()->SetString(entry, form.type->map_key->field, name);
        DROVER_RETURN_IF_ERROR(single(entry_value, *form.type->map_value, *entry, place.entry(name), false));
      }
      return ok_status();
    }
    if (f.is_repeated()) {
      if (!value.is_array()) return mismatch(place, "a list", value);
      for (size_t i = 0; i < value.size(); ++i) {
        if (value[i].is_null()) continue;
        DROVER_RETURN_IF_ERROR(single(value[i], form, m, place.item(i), true));
      }
      return ok_status();
    }
    return single(value, form, m, place, false);
  }

  Status single(const Json& value, const FieldForm& form, pb::Message& m, const Place& place, bool add) {
    const FieldDescriptor& f = *form.field;
    const pb::Reflection& r = *m.GetReflection();
    switch (f.cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        return object(value, *form.type, add ? *r.AddMessage(&m, &f) : *r.MutableMessage(&m, &f), place);
      case FieldDescriptor::CPPTYPE_STRING: {
        DROVER_TRY(std::string text, text_of(value, form, place));
        add ? r.AddString(&m, &f, std::move(text)) : r.SetString(&m, &f, std::move(text));
        return ok_status();
      }
      case FieldDescriptor::CPPTYPE_BOOL:
        if (!value.is_boolean()) return mismatch(place, "true or false", value);
        add ? r.AddBool(&m, &f, value.get<bool>()) : r.SetBool(&m, &f, value.get<bool>());
        return ok_status();
      case FieldDescriptor::CPPTYPE_ENUM: {
        if (!value.is_string()) return mismatch(place, "a string", value);
        const auto& wanted = value.get_ref<const std::string&>();
        for (int i = 0; i < f.enum_type()->value_count(); ++i) {
          if (form.words[static_cast<size_t>(i)].second != wanted) continue;
          add ? r.AddEnum(&m, &f, f.enum_type()->value(i)) : r.SetEnum(&m, &f, f.enum_type()->value(i));
          return ok_status();
        }
        if (words_ == UnknownWords::left_out) return ok_status();
        return invalid_argument(place.text() + ": \"" + wanted + "\" is not one of its values");
      }
      case FieldDescriptor::CPPTYPE_DOUBLE:
      case FieldDescriptor::CPPTYPE_FLOAT:
        if (!value.is_number()) return mismatch(place, "a number", value);
        add ? r.AddDouble(&m, &f, value.get<double>()) : r.SetDouble(&m, &f, value.get<double>());
        return ok_status();
      default:
        return integer(value, form, m, place, add);
    }
  }

  static Result<std::string> text_of(const Json& value, const FieldForm& form, const Place& place) {
    if (form.form == Field::RAW) return value.dump(-1, ' ', false, Json::error_handler_t::replace);
    if (!value.is_string()) return mismatch(place, "a string", value);
    const auto& text = value.get_ref<const std::string&>();
    if (form.field->type() != FieldDescriptor::TYPE_BYTES) return text;
    if (form.form == Field::UUID || form.form == Field::SECRET) {
      if (text.empty()) return text;
      if (auto id = Uuid::parse(text)) return id->bytes();
      return invalid_argument(place.text() + ": \"" + text + "\" is not an identifier");
    }
    if (auto bytes = base64_decode(text); bytes.ok()) return *std::move(bytes);
    return invalid_argument(place.text() + ": not base64");
  }

  static Status integer(const Json& value, const FieldForm& shown, pb::Message& m, const Place& place, bool add) {
    const FieldDescriptor& f = *shown.field;
    const pb::Reflection& r = *m.GetReflection();
    const auto out_of_range = [&] { return invalid_argument(place.text() + ": " + value.dump() + " is out of range"); };
    if (f.cpp_type() == FieldDescriptor::CPPTYPE_UINT64 || f.cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
      if (!value.is_number_integer()) return mismatch(place, "a whole number", value);
      if (!value.is_number_unsigned()) return out_of_range();
      const auto n = value.get<uint64_t>();
      if (f.cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
        add ? r.AddUInt64(&m, &f, n) : r.SetUInt64(&m, &f, n);
        return ok_status();
      }
      if (n > std::numeric_limits<uint32_t>::max()) return out_of_range();
      add ? r.AddUInt32(&m, &f, static_cast<uint32_t>(n)) : r.SetUInt32(&m, &f, static_cast<uint32_t>(n));
      return ok_status();
    }
    int64_t n = 0;
    const Field::Form form = shown.form;
    if (form == Field::DURATION_TEXT && value == "") {
      n = 0;
    } else if (value.is_string() && (form == Field::DURATION || form == Field::DURATION_TEXT)) {
      auto parsed = parse_duration(value.get<std::string>());
      if (!parsed) return parsed.status().with_context(place.text());
      n = parsed->count();
    } else if (value.is_string() && form == Field::TIME) {
      auto parsed = parse_time(value.get<std::string>());
      if (!parsed) return parsed.status().with_context(place.text());
      n = *parsed;
    } else if (!value.is_number_integer()) {
      return mismatch(place, "a whole number", value);
    } else if (value.is_number_unsigned() &&
               value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return out_of_range();
    } else {
      n = value.get<int64_t>();
    }
    if (f.cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
      add ? r.AddInt64(&m, &f, n) : r.SetInt64(&m, &f, n);
      return ok_status();
    }
    if (n < std::numeric_limits<int32_t>::min() || n > std::numeric_limits<int32_t>::max()) return out_of_range();
    add ? r.AddInt32(&m, &f, static_cast<int32_t>(n)) : r.SetInt32(&m, &f, static_cast<int32_t>(n));
    return ok_status();
  }

  const UnknownWords words_;
};

// Parses and keeps the first syntax error as text with its place; refuses what is nested deeper than anything we read.
class Parsed : public nlohmann::json_sax<Json> {
 public:
  static constexpr int kMaxDepth = 200;
  static Result<Json> parse(std::string_view text) {
    if (depth(text) > kMaxDepth)
      return invalid_argument("JSON is nested deeper than " + std::to_string(kMaxDepth) + " levels");
    Json json = Json::parse(text.begin(), text.end(), nullptr, false);
    if (!json.is_discarded()) return json;
    return invalid_argument(describe(text));
  }

 private:
  static int depth(std::string_view text) {
    int depth = 0;
    int deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (c == '"') {
        in_string = !in_string;
      } else if (in_string) {
        if (c == '\\') ++i;
      } else if (c == '{' || c == '[') {
        deepest = std::max(deepest, ++depth);
      } else if (c == '}' || c == ']') {
        --depth;
      }
    }
    return deepest;
  }

  // Runs the parser again to learn where it stopped; only on the error path.
  static std::string describe(std::string_view text) {
    struct Sax : nlohmann::json_sax<Json> {
      size_t where = 0;
      std::string what;
      bool null() override { return true; }
      bool boolean(bool) override { return true; }
      bool number_integer(number_integer_t) override { return true; }
      bool number_unsigned(number_unsigned_t) override { return true; }
      bool number_float(number_float_t, const string_t&) override { return true; }
      bool string(string_t&) override { return true; }
      bool binary(binary_t&) override { return true; }
      bool start_object(std::size_t) override { return true; }
      bool key(string_t&) override { return true; }
      bool end_object() override { return true; }
      bool start_array(std::size_t) override { return true; }
      bool end_array() override { return true; }
      bool parse_error(std::size_t position, const std::string& token, const nlohmann::detail::exception&) override {
        where = position;
        what = token;
        return false;
      }
    } sax;
    Json::sax_parse(text.begin(), text.end(), &sax);
    size_t line = 1;
    size_t column = 1;
    for (size_t i = 0; i + 1 < sax.where && i < text.size(); ++i) {
      if (text[i] == '\n') {
        ++line;
        column = 1;
      } else {
        ++column;
      }
    }
    return "invalid JSON at line " + std::to_string(line) + ", column " + std::to_string(column) +
           (sax.where > text.size()
                ? ": unexpected end"
                : ": unexpected " + Json(sax.what).dump(-1, ' ', true, Json::error_handler_t::replace));
  }
};

}  // namespace

Status json_to_message(std::string_view json, pb::Message& target, UnknownWords words) {
  DROVER_TRY(Json parsed, Parsed::parse(json));
  return Reader(words).object(parsed, form_of(*target.GetDescriptor()), target, Place());
}

Status text_to_field(std::string_view value_text, const FieldDescriptor& f, pb::Message& m) {
  const pb::Reflection& r = *m.GetReflection();
  const auto bad = [&](std::string_view wanted) {
    return invalid_argument(f.name() + ": \"" + std::string(value_text) + "\" is not " + std::string(wanted));
  };
  if (f.cpp_type() == FieldDescriptor::CPPTYPE_BOOL) {
    const std::string word = lower(value_text);
    if (word.empty() || word == "1" || word == "t" || word == "true") {
      r.SetBool(&m, &f, true);
    } else if (word == "0" || word == "f" || word == "false") {
      r.SetBool(&m, &f, false);
    } else {
      return bad("true or false");
    }
    return ok_status();
  }
  if (f.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    std::string value(value_text);
    if (form_of(f).form == Field::UUID) {
      auto id = Uuid::parse(value_text);
      if (!id) return bad("an identifier");
      value = id->bytes();
    }
    f.is_repeated() ? r.AddString(&m, &f, std::move(value)) : r.SetString(&m, &f, std::move(value));
    return ok_status();
  }
  int64_t number = 0;
  auto [end, error] = std::from_chars(value_text.data(), value_text.data() + value_text.size(), number);
  if (error != std::errc() || end != value_text.data() + value_text.size()) return bad("a whole number");
  switch (f.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      r.SetInt64(&m, &f, number);
      return ok_status();
    case FieldDescriptor::CPPTYPE_INT32:
      if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max())
        return bad("in range");
      r.SetInt32(&m, &f, static_cast<int32_t>(number));
      return ok_status();
    case FieldDescriptor::CPPTYPE_UINT64:
      if (number < 0) return bad("in range");
      r.SetUInt64(&m, &f, static_cast<uint64_t>(number));
      return ok_status();
    case FieldDescriptor::CPPTYPE_UINT32:
      if (number < 0 || number > std::numeric_limits<uint32_t>::max()) return bad("in range");
      r.SetUInt32(&m, &f, static_cast<uint32_t>(number));
      return ok_status();
    default:
      return invalid_argument(f.name() + ": cannot be given as a parameter");
  }
}

}  // namespace drover
