#include "schemas.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <nlohmann/json.hpp>

#include "drover/api_descriptors.h"
#include "drover/json.h"
#include "drover/options.pb.h"

namespace drover::api {
namespace {

namespace pb = google::protobuf;
using nlohmann::json;
using pb::FieldDescriptor;

template <typename Descriptor>
std::string comment_of(const Descriptor* declared) {
  pb::SourceLocation place;
  if (!declared || !declared->GetSourceLocation(&place)) return {};
  std::string line, text = place.leading_comments + place.trailing_comments;
  for (const char c : text) {
    const bool is_gap = c == ' ' || c == '\n';
    if (!is_gap) line += c;
    if (is_gap && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string name_of(const pb::Descriptor& type) {
  constexpr std::string_view kOwn = "drover.v1.";
  return type.full_name().starts_with(kOwn) ? type.full_name().substr(kOwn.size()) : type.full_name();
}

json words_of(const pb::EnumDescriptor& type) {
  json words = json::array();
  for (int i = 0; i < type.value_count(); ++i) words.push_back(json_word(*type.value(i)));
  return {{"type", "string"}, {"enum", words}};
}

json text_of(const FieldDescriptor& field, Field::Form form) {
  switch (form) {
    case Field::RAW:
      return {{"nullable", true}};  // any JSON
    case Field::UUID:
      return {{"type", "string"}, {"pattern", "^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})?$"}};
    case Field::SECRET:
      return {{"type", "string"}, {"writeOnly", true}};
    default:
      break;
  }
  if (field.type() == FieldDescriptor::TYPE_BYTES) return {{"type", "string"}, {"format", "byte"}, {"nullable", true}};
  return {{"type", "string"}};
}

json number_of(const FieldDescriptor& field, Field::Form form) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return {{"type", "number"}, {"format", "double"}};
    case FieldDescriptor::CPPTYPE_INT32:
      return {{"type", "integer"}, {"format", "int32"}};
    case FieldDescriptor::CPPTYPE_INT64:
      if (form == Field::TIME) return {{"type", "string"}, {"format", "date-time"}, {"nullable", true}};
      if (form == Field::DURATION_TEXT) return {{"type", "string"}, {"description", "As in \"1h30m\"."}};
      if (form == Field::DURATION)
        return {{"type", "integer"},
                {"format", "int64"},
                {"description", "Nanoseconds. A request may say \"30s\" as well."}};
      return {{"type", "integer"}, {"format", "int64"}};
    default:
      return {{"type", "integer"}, {"minimum", 0}};
  }
}

}  // namespace

Comments::Comments() : pool_(std::make_unique<pb::DescriptorPool>()) {
  pb::FileDescriptorSet files;
  const std::string_view bytes = api_descriptors();
  if (!files.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return;
  for (const auto& file : files.file()) pool_->BuildFile(file);
}
Comments::~Comments() = default;

std::string Comments::of(const pb::Descriptor& type) const {
  return comment_of(pool_->FindMessageTypeByName(type.full_name()));
}
std::string Comments::of(const FieldDescriptor& field) const {
  return comment_of(pool_->FindFieldByName(field.full_name()));
}
std::string Comments::of(const pb::MethodDescriptor& method) const {
  return comment_of(pool_->FindMethodByName(method.full_name()));
}

json Schemas::value(const FieldDescriptor& field) {
  const Field::Form form = field.options().GetExtension(drover::field).form();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return reference(*field.message_type());
    case FieldDescriptor::CPPTYPE_ENUM:
      return words_of(*field.enum_type());
    case FieldDescriptor::CPPTYPE_BOOL:
      return {{"type", "boolean"}};
    case FieldDescriptor::CPPTYPE_STRING:
      return text_of(field, form);
    default:
      return number_of(field, form);
  }
}

json Schemas::parameter(const FieldDescriptor& field) {
  json schema = value(field);
  schema.erase("nullable");
  return field.is_repeated() ? json{{"type", "array"}, {"items", schema}} : schema;
}

json Schemas::field(const FieldDescriptor& field) {
  const bool always = field.options().GetExtension(drover::field).always();
  json schema;
  if (field.is_map()) {
    schema = {{"type", "object"}, {"additionalProperties", value(*field.message_type()->map_value())}};
  } else if (field.is_repeated()) {
    schema = {{"type", "array"}, {"items", value(field)}};
  } else {
    schema = value(field);
    if (schema.contains("$ref"))
      schema = {{"allOf", json::array({schema})}};  // what stands beside a reference is ignored
  }
  const bool may_be_absent = field.is_repeated() || field.has_presence();
  if (may_be_absent && !always) schema["nullable"] = true;
  if (std::string comment = comments_.of(field); !comment.empty()) {
    const std::string form = schema.value("description", "");
    schema["description"] = form.empty() ? comment : comment + ". " + form;
  }
  return schema;
}

json Schemas::properties(const pb::Descriptor& type) {
  json all = json::object();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& each = *type.field(i);
    if (each.options().GetExtension(drover::field).inline_()) {
      all.update(properties(*each.message_type()));
    } else {
      all[json_name(each)] = field(each);
    }
  }
  return all;
}

json Schemas::reference(const pb::Descriptor& type) {
  const std::string name = name_of(type);
  if (done_.try_emplace(name).second) {
    json schema = {{"type", "object"}, {"properties", properties(type)}};
    if (type.options().GetExtension(drover::message).null_when_empty()) schema["nullable"] = true;
    if (std::string comment = comments_.of(type); !comment.empty()) schema["description"] = comment;
    done_[name] = schema.dump();
  }
  return {{"$ref", "#/components/schemas/" + name}};
}

json Schemas::all() const {
  json all = json::object();
  for (const auto& [name, text] : done_) all[name] = json::parse(text);
  return all;
}

}  // namespace drover::api
