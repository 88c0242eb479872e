#include "json_form.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "drover/json.h"
#include "drover/mutex.h"

namespace drover {

namespace pb = google::protobuf;

namespace {

WireType wire_type(const pb::FieldDescriptor& member) {
  switch (member.type()) {
    case pb::FieldDescriptor::TYPE_DOUBLE:
    case pb::FieldDescriptor::TYPE_FIXED64:
    case pb::FieldDescriptor::TYPE_SFIXED64:
      return WireType::fixed64;
    case pb::FieldDescriptor::TYPE_FLOAT:
    case pb::FieldDescriptor::TYPE_FIXED32:
    case pb::FieldDescriptor::TYPE_SFIXED32:
      return WireType::fixed32;
    case pb::FieldDescriptor::TYPE_STRING:
    case pb::FieldDescriptor::TYPE_BYTES:
    case pb::FieldDescriptor::TYPE_MESSAGE:
    case pb::FieldDescriptor::TYPE_GROUP:
      return WireType::bytes;
    default:
      return WireType::varint;
  }
}

}  // namespace

// Every type that was asked for, with all that it reaches.
class Forms {
 public:
  const TypeForm& of(const pb::Descriptor& type) {
    {
      const ReaderLock lock(mutex_);
      if (const auto found = forms_.find(&type); found != forms_.end()) return *found->second;
    }
    const WriterLock lock(mutex_);
    return make(type);
  }

 private:
  const TypeForm& make(const pb::Descriptor& type) DROVER_REQUIRES(mutex_) {
    auto [at, is_new] = forms_.try_emplace(&type);
    if (!is_new) return *at->second;
    at->second = std::make_unique<TypeForm>();
    TypeForm& form = *at->second;  // known before its fields are: types may contain themselves
    const Message& options = type.options().GetExtension(drover::message);
    form.null_when_empty = options.null_when_empty();
    for (int i = 0; i < type.field_count(); ++i) form.fields.push_back(make(*type.field(i), options));
    for (const FieldForm& member : form.fields) {
      if (member.is_inline) continue;
      form.by_name_.emplace(member.name, &member);
      form.by_lower_name_.emplace(lower(member.name), &member);
    }
    if (type.options().map_entry()) {
      form.map_key = &form.fields[0];
      form.map_value = &form.fields[1];
    }
    return form;
  }

  FieldForm make(const pb::FieldDescriptor& member, const Message& owner) DROVER_REQUIRES(mutex_) {
    const Field& options = member.options().GetExtension(drover::field);
    FieldForm form{.field = &member, .name = json_name(member)};
    form.number = static_cast<uint32_t>(member.number());
    form.wire = wire_type(member);
    form.is_repeated = member.is_repeated();
    form.has_presence = member.has_presence();
    form.oneof = member.real_containing_oneof();
    form.key = '"' + form.name + "\":";
    form.form = options.form();
    form.always = options.always();
    form.is_inline = options.inline_();
    form.may_be_left_out = (owner.omit_empty() || options.omit_empty()) && !options.always() && !options.keep();
    if (member.message_type()) form.type = &make(*member.message_type());
    if (const pb::EnumDescriptor* words = member.enum_type()) {
      for (int i = 0; i < words->value_count(); ++i)
        form.words.emplace_back(words->value(i)->number(), json_word(*words->value(i)));
    }
    return form;
  }

  SharedMutex mutex_;
  std::unordered_map<const pb::Descriptor*, std::unique_ptr<TypeForm>> forms_ DROVER_GUARDED_BY(mutex_);
};

const TypeForm& form_of(const pb::Descriptor& type) {
  static Forms forms;  // facts of the program's own declarations, the same for everybody
  return forms.of(type);
}

const FieldForm& form_of(const pb::FieldDescriptor& member) {
  return form_of(*member.containing_type()).fields[static_cast<size_t>(member.index())];
}

std::string_view FieldForm::word(int value) const {
  const auto found = std::ranges::find(words, value, &std::pair<int, std::string>::first);
  return found == words.end() ? std::string_view() : found->second;
}

const FieldForm* TypeForm::find(std::string_view name) const {
  if (const auto exact = by_name_.find(name); exact != by_name_.end()) return exact->second;
  const auto other = by_lower_name_.find(lower(name));
  return other == by_lower_name_.end() ? nullptr : other->second;
}

std::string lower(std::string_view word) {
  std::string out(word);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

std::string json_word(const pb::EnumValueDescriptor& value) {
  if (value.options().HasExtension(drover::text)) return value.options().GetExtension(drover::text);
  // JOB_STATUS_RUNNING of JobStatus is "running".
  std::string prefix;
  for (char c : value.type()->name()) {
    if (c >= 'A' && c <= 'Z' && !prefix.empty()) prefix += '_';
    prefix += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  prefix += '_';
  std::string name = value.name();
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  return lower(name);
}

std::string json_name(const pb::FieldDescriptor& member) {
  if (member.has_json_name()) return member.json_name();
  std::string name = member.camelcase_name();
  if (!name.empty()) name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

}  // namespace drover
