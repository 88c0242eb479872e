#include <algorithm>

#include "drover/hcl_value.h"
#include "unicode.h"

namespace drover::hcl {

struct Value::Container {
  List list;
  Object object;
  size_t depth = 1;
  size_t weight = 2;
  bool has_unknown = false;
  Shape shape = Shape::structural;

  void count(const Value& element) {
    depth = std::max(depth, element.depth() + 1);
    weight += element.weight() + 1;
    has_unknown = has_unknown || element.has_unknown();
  }
};

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::unknown:
      return "unknown";
    case Kind::boolean:
      return "bool";
    case Kind::number:
      return "number";
    case Kind::string:
      return "string";
    case Kind::list:
      return "list";
    case Kind::object:
      return "object";
  }
  return "unknown";
}

Value Value::unknown() {
  Value value;
  value.kind_ = Kind::unknown;
  return value;
}

Value::Value(std::string value) : kind_(Kind::string), data_(to_nfc(std::move(value))) {}

Value::Value(List value, Shape shape) : kind_(Kind::list) {
  auto container = std::make_shared<Container>();
  container->shape = shape;
  container->list = std::move(value);
  for (const Value& element : container->list) container->count(element);
  data_ = std::shared_ptr<const Container>(std::move(container));
}

Value::Value(Object value, Shape shape) : kind_(Kind::object) {
  auto container = std::make_shared<Container>();
  container->shape = shape;
  container->object = std::move(value);
  for (const auto& [key, element] : container->object) {
    container->count(element);
    container->weight += key.size() + 3;
  }
  data_ = std::shared_ptr<const Container>(std::move(container));
}

bool Value::boolean() const {
  DROVER_CHECK(kind_ == Kind::boolean);
  return *std::get_if<bool>(&data_);
}

const Number& Value::number() const {
  DROVER_CHECK(kind_ == Kind::number);
  return *std::get_if<Number>(&data_);
}

const std::string& Value::string() const {
  DROVER_CHECK(kind_ == Kind::string);
  return *std::get_if<std::string>(&data_);
}

const List& Value::list() const {
  DROVER_CHECK(kind_ == Kind::list);
  return (*std::get_if<std::shared_ptr<const Container>>(&data_))->list;
}

const Object& Value::object() const {
  DROVER_CHECK(kind_ == Kind::object);
  return (*std::get_if<std::shared_ptr<const Container>>(&data_))->object;
}

const Value* Value::find(std::string_view key) const {
  if (!is_object()) return nullptr;
  auto found = object().find(key);
  return found == object().end() ? nullptr : &found->second;
}

Shape Value::shape() const {
  const auto* container = std::get_if<std::shared_ptr<const Container>>(&data_);
  return container ? (*container)->shape : Shape::structural;
}

size_t Value::depth() const {
  const auto* container = std::get_if<std::shared_ptr<const Container>>(&data_);
  return container ? (*container)->depth : 0;
}

size_t Value::weight() const {
  if (const auto* container = std::get_if<std::shared_ptr<const Container>>(&data_)) return (*container)->weight;
  if (const auto* text = std::get_if<std::string>(&data_)) return text->size() + 2;
  if (const auto* number = std::get_if<Number>(&data_)) return number->as_integer() ? 5 : 8 * number->text_size();
  return 5;
}

bool Value::has_unknown() const {
  if (kind_ == Kind::unknown) return true;
  const auto* container = std::get_if<std::shared_ptr<const Container>>(&data_);
  return container && (*container)->has_unknown;
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case Kind::null:
    case Kind::unknown:
      return true;
    case Kind::boolean:
      return a.boolean() == b.boolean();
    case Kind::number:
      return a.number() == b.number();
    case Kind::string:
      return a.string() == b.string();
    case Kind::list:
      return &a.list() == &b.list() || a.list() == b.list();
    case Kind::object:
      return &a.object() == &b.object() || a.object() == b.object();
  }
  return false;
}

std::optional<std::string> as_string(const Value& value) {
  if (value.is_string()) return value.string();
  if (value.is_number()) return value.number().to_string();
  if (value.is_boolean()) return value.boolean() ? "true" : "false";
  return std::nullopt;
}

std::optional<Number> as_number(const Value& value) {
  if (value.is_number()) return value.number();
  if (value.is_string()) return Number::parse(value.string());
  return std::nullopt;
}

std::optional<int64_t> as_integer(const Value& value) {
  std::optional<Number> number = as_number(value);
  return number ? number->as_integer() : std::nullopt;
}

std::optional<bool> as_boolean(const Value& value) {
  if (value.is_boolean()) return value.boolean();
  if (!value.is_string()) return std::nullopt;
  const std::string& text = value.string();
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

}  // namespace drover::hcl
