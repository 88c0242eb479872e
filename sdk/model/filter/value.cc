#include "value.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "drover/json.h"
#include "drover/options.pb.h"
#include "drover/uuid.h"

namespace drover::filter {
namespace {

namespace pb = google::protobuf;
using pb::FieldDescriptor;
using Json = nlohmann::json;
using Kind = Value::Kind;

Field::Form form_of(const FieldDescriptor& field) { return field.options().GetExtension(drover::field).form(); }

// The field of that name, also one of a part that stands inline. Null where there is none, or it is a secret.
const FieldDescriptor* find_field(const pb::Descriptor& type, const std::string& name) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (form_of(field) != Field::SECRET && !field.options().GetExtension(drover::field).inline_() &&
        json_name(field) == name) {
      return &field;
    }
  }
  return nullptr;
}

// The message's own part that has the field, where its fields stand inline.
const pb::Message* inline_part(const pb::Message& message, const std::string& name) {
  const pb::Descriptor& type = *message.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!field.options().GetExtension(drover::field).inline_()) continue;
    const pb::Message& part = message.GetReflection()->GetMessage(message, &field);
    if (find_field(*part.GetDescriptor(), name)) return &part;
  }
  return nullptr;
}

Value text_value(std::string text) {
  Value value{.kind = Kind::text};
  value.text = std::move(text);
  return value;
}

Value bytes_value(const std::string& bytes, Field::Form form) {
  if (form != Field::UUID) {
    Value value = text_value(bytes);
    value.kind = Kind::bytes;
    value.size = bytes.size();
    return value;
  }
  return text_value(bytes.size() == 16 ? Uuid::from_bytes(bytes).to_string() : "");
}

Value json_value(const Json& json) {
  Value value;
  switch (json.type()) {
    case Json::value_t::string:
      return text_value(json.get<std::string>());
    case Json::value_t::boolean:
      value.kind = Kind::boolean;
      value.boolean = json.get<bool>();
      return value;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
      value.kind = Kind::integer;
      value.integer = json.get<int64_t>();
      return value;
    case Json::value_t::number_float:
      value.kind = Kind::real;
      value.real = json.get<double>();
      return value;
    case Json::value_t::array:
      value.kind = Kind::list;
      value.size = json.size();
      for (const Json& item : json) {
        value.of_objects = value.of_objects || item.is_structured();
        value.items.push_back(json_value(item));
      }
      return value;
    case Json::value_t::object:
      value.kind = Kind::map;
      value.size = json.size();
      for (const auto& [key, item] : json.items()) value.keys.push_back(key);
      return value;
    default:
      value.kind = Kind::nothing;
      return value;
  }
}

class Walk {
 public:
  explicit Walk(const std::vector<Step>& selector) : steps_(selector) {}

  Result<Value> in_message(const pb::Message& message, size_t at) {
    if (at == steps_.size()) return Value{.kind = Kind::object};
    const Step& step = steps_[at];
    const pb::Descriptor* type = message.GetDescriptor();
    auto known = step.fields.find(type);
    if (known == step.fields.end()) known = step.fields.emplace(type, find_field(*type, step.name)).first;
    if (!known->second) {
      if (const pb::Message* part = inline_part(message, step.name)) return in_message(*part, at);
      return lost(at, "couldn't find key: struct field with name \"" + step.name + "\"");
    }
    return in_field(message, *known->second, at + 1);
  }

 private:
  Status lost(size_t at, const std::string& why) const {
    std::string path;
    for (const Step& step : steps_) path += "/" + step.name;
    return invalid_argument("error finding value in datum: " + path + " at part " + std::to_string(at) + ": " + why);
  }
  Status nil_on_the_way(size_t at) const {
    std::string path;
    for (const Step& step : steps_) path += "/" + step.name;
    return invalid_argument("error finding value in datum: " + path + ": at part " + std::to_string(at) +
                            ", invalid value kind: invalid");
  }

  Result<Value> in_field(const pb::Message& message, const FieldDescriptor& field, size_t at) {
    const pb::Reflection& reflection = *message.GetReflection();
    if (field.is_map()) return in_map(message, field, at);
    if (field.is_repeated()) return in_list(message, field, at);
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      const bool is_there =
          reflection.HasField(message, &field) || field.options().GetExtension(drover::field).always();
      if (is_there) return in_message(reflection.GetMessage(message, &field), at);
      if (at < steps_.size()) return nil_on_the_way(at);
      return Value{.kind = Kind::nothing};
    }
    return in_scalar(message, field, -1, at);
  }

  Result<Value> in_scalar(const pb::Message& message, const FieldDescriptor& field, int index, size_t at) {
    if (form_of(field) == Field::RAW) return in_json_text(raw_text(message, field, index), at);
    if (at < steps_.size()) return lost(at, "invalid value kind: " + scalar(message, field, index).name());
    return scalar(message, field, index);
  }

  static std::string raw_text(const pb::Message& message, const FieldDescriptor& field, int index) {
    const pb::Reflection& reflection = *message.GetReflection();
    return index < 0 ? reflection.GetString(message, &field) : reflection.GetRepeatedString(message, &field, index);
  }

  static Value scalar(const pb::Message& message, const FieldDescriptor& field, int index) {
    const pb::Reflection& r = *message.GetReflection();
    const bool one = index < 0;
    Value value;
    switch (field.cpp_type()) {
      case FieldDescriptor::CPPTYPE_STRING: {
        const std::string text = raw_text(message, field, index);
        return field.type() == FieldDescriptor::TYPE_BYTES ? bytes_value(text, form_of(field)) : text_value(text);
      }
      case FieldDescriptor::CPPTYPE_ENUM:
        return text_value(json_word(*(one ? r.GetEnum(message, &field) : r.GetRepeatedEnum(message, &field, index))));
      case FieldDescriptor::CPPTYPE_BOOL:
        value.kind = Kind::boolean;
        value.boolean = one ? r.GetBool(message, &field) : r.GetRepeatedBool(message, &field, index);
        return value;
      case FieldDescriptor::CPPTYPE_INT32:
        value.kind = Kind::integer;
        value.integer = one ? r.GetInt32(message, &field) : r.GetRepeatedInt32(message, &field, index);
        return value;
      case FieldDescriptor::CPPTYPE_INT64:
        value.kind = form_of(field) == Field::TIME ? Kind::object : Kind::integer;
        value.integer = one ? r.GetInt64(message, &field) : r.GetRepeatedInt64(message, &field, index);
        return value;
      case FieldDescriptor::CPPTYPE_UINT32:
        value.kind = Kind::natural;
        value.natural = one ? r.GetUInt32(message, &field) : r.GetRepeatedUInt32(message, &field, index);
        return value;
      case FieldDescriptor::CPPTYPE_UINT64:
        value.kind = Kind::natural;
        value.natural = one ? r.GetUInt64(message, &field) : r.GetRepeatedUInt64(message, &field, index);
        return value;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        value.kind = Kind::real;
        value.real = one ? r.GetDouble(message, &field) : r.GetRepeatedDouble(message, &field, index);
        return value;
      default:
        value.kind = Kind::object;
        return value;
    }
  }

  Result<size_t> index_at(size_t at, size_t size) const {
    const std::string& text = steps_[at].name;
    size_t index = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), index);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size()) {
      return lost(at, "couldn't convert value \"" + text + "\" to index");
    }
    if (index >= size) {
      return lost(at, "index " + text + " is out of range (length = " + std::to_string(size) + ")");
    }
    return index;
  }

  Result<Value> in_list(const pb::Message& message, const FieldDescriptor& field, size_t at) {
    const pb::Reflection& reflection = *message.GetReflection();
    const int size = reflection.FieldSize(message, &field);
    const bool of_messages = field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (at < steps_.size()) {
      DROVER_TRY(const size_t index, index_at(at, static_cast<size_t>(size)));
      const int i = static_cast<int>(index);
      if (of_messages) return in_message(reflection.GetRepeatedMessage(message, &field, i), at + 1);
      return in_scalar(message, field, i, at + 1);
    }
    Value value{.kind = Kind::list};
    value.size = static_cast<size_t>(size);
    value.of_objects = of_messages;
    for (int i = 0; i < size && !of_messages; ++i) value.items.push_back(scalar(message, field, i));
    return value;
  }

  Result<Value> in_map(const pb::Message& message, const FieldDescriptor& field, size_t at) {
    const pb::Reflection& reflection = *message.GetReflection();
    const FieldDescriptor& key = *field.message_type()->map_key();
    const FieldDescriptor& mapped = *field.message_type()->map_value();
    Value value{.kind = Kind::map};
    const int size = reflection.FieldSize(message, &field);
    value.size = static_cast<size_t>(size);
    for (int i = 0; i < size; ++i) {
      const pb::Message& entry = reflection.GetRepeatedMessage(message, &field, i);
      std::string name = entry.GetReflection()->GetString(entry, &key);
      if (at == steps_.size()) {
        value.keys.push_back(std::move(name));
      } else if (name == steps_[at].name) {
        return in_field(entry, mapped, at + 1);
      }
    }
    if (at == steps_.size()) return value;
    return missing_key(at);
  }

  Result<Value> missing_key(size_t at) const {
    if (at + 1 == steps_.size()) return Value{};
    return lost(at, "couldn't find key \"" + steps_[at].name + "\"");
  }

  Result<Value> in_json_text(const std::string& text, size_t at) {
    const Json json = text.empty() ? Json() : Json::parse(text, nullptr, /*allow_exceptions=*/false);
    return in_json(json, at);
  }

  Result<Value> in_json(const Json& json, size_t at) {
    if (at == steps_.size()) return json_value(json);
    if (json.is_object()) {
      const auto found = json.find(steps_[at].name);
      return found == json.end() ? missing_key(at) : in_json(*found, at + 1);
    }
    if (json.is_array()) {
      DROVER_TRY(const size_t index, index_at(at, json.size()));
      return in_json(json[index], at + 1);
    }
    if (json.is_null() || json.is_discarded()) return nil_on_the_way(at);
    return lost(at, "invalid value kind: " + json_value(json).name());
  }

  const std::vector<Step>& steps_;
};

}  // namespace

std::string Value::name() const {
  switch (kind) {
    case Kind::text:
      return "string";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::natural:
      return "uint64";
    case Kind::real:
      return "float64";
    case Kind::list:
      return "slice";
    case Kind::map:
      return "map";
    case Kind::bytes:
      return "[]uint8";
    case Kind::object:
      return "struct";
    default:
      return "invalid";
  }
}

Result<Value> find(const pb::Message& row, const std::vector<Step>& selector) {
  return Walk(selector).in_message(row, 0);
}

}  // namespace drover::filter
