#include "fields.h"

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "drover/result.h"

namespace drover::faulty {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

// A field of one message: as a whole, or one element of it.
constexpr int kWhole = -1;
struct Place {
  Message& message;
  const FieldDescriptor* field;
  int index;

  const google::protobuf::Reflection& reflection() const { return *message.GetReflection(); }
  bool is_list() const { return field->is_repeated() && index == kWhole; }
};

struct Step {
  std::string name;
  std::optional<std::string> index;  // a number, a key in quotes or "*"
};

std::vector<Step> steps_of(const std::string& path) {
  std::vector<Step> steps(1);
  bool is_index = false, is_quoted = false;
  for (const char c : path) {
    if (c == '"') is_quoted = !is_quoted;
    if (is_index && !(c == ']' && !is_quoted)) {
      *steps.back().index += c;
    } else if (c == '[') {
      is_index = true;
      steps.back().index.emplace();
    } else if (c == ']') {
      is_index = false;
    } else if (c == '.') {
      steps.emplace_back();
    } else {
      steps.back().name += c;
    }
  }
  return steps;
}

int entry_with(Message& message, const FieldDescriptor* map, const std::string& key) {
  const auto& reflection = *message.GetReflection();
  const FieldDescriptor* key_field = map->message_type()->map_key();
  const int size = reflection.FieldSize(message, map);
  for (int i = 0; i < size; ++i) {
    const Message& entry = reflection.GetRepeatedMessage(message, map, i);
    if (entry.GetReflection()->GetString(entry, key_field) == key) return i;
  }
  Message& entry = *reflection.AddMessage(&message, map);
  entry.GetReflection()->SetString(&entry, key_field, key);
  return size;
}

using Visit = std::function<void(const Place&)>;

// `makes`: messages on the way that are not there.
void visit(Message& message, const std::vector<Step>& steps, size_t at, bool makes, const Visit& leaf) {
  const Step& step = steps[at];
  const FieldDescriptor* field = message.GetDescriptor()->FindFieldByName(step.name);
  if (!field) {
    std::fprintf(stderr, "%s has no field %s\n", message.GetTypeName().c_str(), step.name.c_str());
    std::abort();
  }
  const auto& reflection = *message.GetReflection();
  const bool is_last = at + 1 == steps.size();
  if (!step.index) {
    if (is_last) return leaf({message, field, kWhole});
    if (makes || reflection.HasField(message, field))
      visit(*reflection.MutableMessage(&message, field), steps, at + 1, makes, leaf);
    return;
  }
  int from = 0, to = reflection.FieldSize(message, field);
  if (field->is_map() && step.index->starts_with('"')) {
    from = entry_with(message, field, step.index->substr(1, step.index->size() - 2));
    to = from + 1;
  } else if (*step.index != "*") {
    from = std::stoi(*step.index);
    to = std::min(to, from + 1);
  }
  for (int i = from; i < to; ++i) {
    if (field->is_map()) {
      Message& entry = *reflection.MutableRepeatedMessage(&message, field, i);
      const FieldDescriptor* value = field->message_type()->map_value();
      if (is_last)
        leaf({entry, value, kWhole});
      else
        visit(*entry.GetReflection()->MutableMessage(&entry, value), steps, at + 1, makes, leaf);
    } else if (is_last) {
      leaf({message, field, i});
    } else {
      visit(*reflection.MutableRepeatedMessage(&message, field, i), steps, at + 1, makes, leaf);
    }
  }
}

std::string text_at(const Place& place) {
  const auto& reflection = place.reflection();
  if (place.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
    return place.index == kWhole ? reflection.GetString(place.message, place.field)
                                 : reflection.GetRepeatedString(place.message, place.field, place.index);
  }
  std::string text;
  TextFormat::PrintFieldValueToString(place.message, place.field, place.index, &text);
  return text;
}

}  // namespace

std::optional<std::string> field_text(Message& message, const std::string& path) {
  std::optional<std::string> text;
  visit(message, steps_of(path), 0, false, [&](const Place& place) {
    if (!text && !place.is_list()) text = text_at(place);
  });
  return text;
}

size_t field_size(Message& message, const std::string& path) {
  if (path.empty()) return message.ByteSizeLong();
  size_t size = 0;
  visit(message, steps_of(path), 0, false, [&](const Place& place) {
    size = place.is_list() ? static_cast<size_t>(place.reflection().FieldSize(place.message, place.field))
                           : text_at(place).size();
  });
  return size;
}

bool has_field(Message& message, const std::string& path) {
  bool has = false;
  visit(message, steps_of(path), 0, false, [&](const Place& place) {
    has = has || place.field->is_repeated() || place.reflection().HasField(place.message, place.field);
  });
  return has;
}

void set_field(Message& message, const std::string& path, const std::string& text) {
  visit(message, steps_of(path), 0, true, [&](const Place& place) {
    if (place.field->cpp_type() == FieldDescriptor::CPPTYPE_STRING && !place.field->is_repeated())
      return place.reflection().SetString(&place.message, place.field, text);
    const bool is_message = place.field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    DROVER_CHECK(place.index == kWhole && TextFormat::Parser().ParseFieldValueFromString(
                                              is_message ? "{" + text + "}" : text, place.field, &place.message));
  });
}

void clear_field(Message& message, const std::string& path) {
  visit(message, steps_of(path), 0, false, [&](const Place& place) {
    const auto& reflection = place.reflection();
    if (place.index == kWhole) return reflection.ClearField(&place.message, place.field);
    reflection.SwapElements(&place.message, place.field, place.index,
                            reflection.FieldSize(place.message, place.field) - 1);
    reflection.RemoveLast(&place.message, place.field);
  });
}

}  // namespace drover::faulty
