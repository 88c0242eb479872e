// Messages as JSON, printed from their bytes: what stands serialized already is never decoded into a message.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message.h>
#include <google/protobuf/wire_format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "drover/base64.h"
#include "drover/duration.h"
#include "drover/json.h"
#include "drover/time.h"
#include "drover/uuid.h"
#include "json_form.h"
#include "wire_fields.h"

namespace drover {
namespace {

namespace pb = google::protobuf;
using pb::FieldDescriptor;
using pb::internal::WireFormat;
using pb::internal::WireFormatLite;

constexpr int kMaxDepth = 100;  // of messages in messages, as protobuf reads them
constexpr int kAnyDepth = std::numeric_limits<int>::max();

// A value without its field: a number as its bits, or text, bytes, or the bytes of a message.
struct Value {
  uint64_t number = 0;
  std::string_view bytes;
};

// The occurrences of one field in a message.
struct Found {
  Value last;
  uint32_t count = 0;  // of occurrences
  // The part of the message with all of them.
  const char* begin = nullptr;
  const char* end = nullptr;

  std::string_view part() const { return {begin, static_cast<size_t>(end - begin)}; }
};

// Text that grows at its end, in small pieces.
class Text {
 public:
  Text& operator+=(char c) {
    if (size_ == room_.size()) grow(1);
    room_[size_++] = c;
    return *this;
  }
  Text& operator+=(std::string_view text) {
    if (room_.size() - size_ < text.size()) grow(text.size());
    text.copy(room_.data() + size_, text.size());
    size_ += text.size();
    return *this;
  }
  std::string take() {
    room_.resize(size_);
    return std::move(room_);
  }

 private:
  void grow(size_t more) { room_.resize(std::max(2 * room_.size(), size_ + more)); }

  std::string room_;
  size_t size_ = 0;
};

class Writer {
 public:
  Writer(const JsonStyle& style, int max_depth) : pretty_(style.pretty), max_depth_(max_depth) {}

  void message(std::string_view bytes, const TypeForm& type) {
    open('{');
    fields(bytes, type);
    close('}');
  }

  void field_of(std::string_view bytes, const TypeForm& type, const FieldForm& f) {
    const size_t base = find_all(bytes, type);
    field_value(found_[base + static_cast<size_t>(&f - type.fields.data())], f);
    found_.resize(base);
  }

  // Errors: data_loss when the bytes were no message.
  Result<std::string> take(const pb::Descriptor& type) {
    if (is_broken_) return data_loss("not a valid " + type.full_name() + " message");
    if (pretty_) out_ += '\n';
    return out_.take();
  }

 private:
  // Finds the fields of a message in one pass. They stand in `found_` from the place that it returns, in the order of
  // type.fields, until the caller takes them away.
  size_t find_all(std::string_view bytes, const TypeForm& type) {
    const size_t base = found_.size();
    found_.resize(base + type.fields.size());
    WireFields all(bytes);
    for (WireField one; all.next(one);) {
      const FieldForm* f = type.with_number(one.number);
      if (!f || !f->reads(one.type)) continue;
      Found& found = found_[base + static_cast<size_t>(f - type.fields.data())];
      if (found.count++ == 0) found.begin = all.begin();
      found.end = all.at();
      found.last = {one.value, one.bytes};
      if (f->oneof) forget_others(*f, type, base);
    }
    is_broken_ = is_broken_ || all.is_broken();
    return base;
  }

  // The last one of fields that exclude each other stands.
  void forget_others(const FieldForm& f, const TypeForm& type, size_t base) {
    for (size_t i = 0; i < type.fields.size(); ++i) {
      if (type.fields[i].oneof == f.oneof && &type.fields[i] != &f) found_[base + i] = {};
    }
  }

  void fields(std::string_view bytes, const TypeForm& type) {
    if (++nesting_ > max_depth_) is_broken_ = true;
    if (!is_broken_) {
      const size_t base = find_all(bytes, type);
      for (size_t i = 0; i < type.fields.size(); ++i) one_field(found_[base + i], type.fields[i]);
      found_.resize(base);
    }
    --nesting_;
  }

  void one_field(Found found, const FieldForm& f) {
    if (f.type && f.form == Field::SECRET) return;
    if (f.may_be_left_out && is_empty(found, f)) return;
    if (f.is_inline) {
      std::string room;
      return fields(whole(found, f, room), *f.type);
    }
    item();
    out_ += f.key;
    if (pretty_) out_ += ' ';
    field_value(found, f);
  }

  void field_value(Found found, const FieldForm& f) {
    if (f.field->is_map()) {
      map(found, f);
    } else if (f.is_repeated) {
      list(found, f);
    } else {
      single(found, f);
    }
  }

  static bool is_empty(const Found& found, const FieldForm& f) {
    if (found.count == 0) return true;
    return !f.is_repeated && !f.has_presence && found.last.number == 0 && found.last.bytes.empty();
  }

  void list(const Found& found, const FieldForm& f) {
    if (found.count == 0) {
      out_ += f.always ? "[]" : "null";
      return;
    }
    open('[');
    WireFields all(found.part());
    for (WireField one; all.next(one);) {
      if (one.number != f.number || !f.reads(one.type)) continue;
      if (one.type == WireType::bytes && f.wire != WireType::bytes) {
        packed(one.bytes, f);
      } else {
        item();
        value({one.value, one.bytes}, f);
      }
    }
    close(']');
  }

  // Numbers of a list that stand together.
  void packed(std::string_view bytes, const FieldForm& f) {
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    while (at != end) {
      Value one;
      const bool is_read = f.wire == WireType::varint
                               ? read_varint(at, end, one.number)
                               : read_fixed(at, end, f.wire == WireType::fixed64 ? 8 : 4, one.number);
      if (!is_read) {
        is_broken_ = true;
        return;
      }
      item();
      value(one, f);
    }
  }

  // In the order of the names; of several entries with one name the last one stands.
  void map(const Found& found, const FieldForm& f) {
    if (found.count == 0) {
      out_ += f.always ? "{}" : "null";
      return;
    }
    const size_t base = entries_.size();
    WireFields all(found.part());
    for (WireField one; all.next(one);) {
      if (one.number == f.number && f.reads(one.type)) add_entry(one.bytes, *f.type->map_value);
    }
    const auto first = entries_.begin() + static_cast<ptrdiff_t>(base);
    if (entries_.size() > base + 1)
      std::stable_sort(first, entries_.end(), [](const Entry& a, const Entry& b) { return a.name < b.name; });
    open('{');
    for (size_t i = base; i < entries_.size(); ++i) {
      const Entry entry = entries_[i];  // what follows may add others
      if (i + 1 < entries_.size() && entries_[i + 1].name == entry.name) continue;
      item();
      string(entry.name);
      out_ += pretty_ ? ": " : ":";
      value(entry.value, *f.type->map_value);
    }
    close('}');
    entries_.resize(base);
  }

  void add_entry(std::string_view bytes, const FieldForm& value_form) {
    Entry entry;
    WireFields parts(bytes);
    for (WireField one; parts.next(one);) {
      if (one.number == 1) entry.name = one.bytes;
      if (one.number == 2 && value_form.reads(one.type)) entry.value = {one.value, one.bytes};
    }
    is_broken_ = is_broken_ || parts.is_broken();
    entries_.push_back(entry);
  }

  void single(const Found& found, const FieldForm& f) {
    if (f.has_presence && found.count == 0) {
      if (f.type && f.always) {
        message({}, *f.type);
      } else {
        out_ += "null";
      }
      return;
    }
    if (f.type && found.count > 1) {
      std::string room;
      value({0, whole(found, f, room)}, f);
    } else {
      value(found.last, f);
    }
  }

  // A message that stands in several parts is all of them, one behind the other.
  static std::string_view whole(const Found& found, const FieldForm& f, std::string& room) {
    if (found.count < 2) return found.last.bytes;
    WireFields all(found.part());
    for (WireField one; all.next(one);) {
      if (one.number == f.number && f.reads(one.type)) room += one.bytes;
    }
    return room;
  }

  void object(std::string_view bytes, const TypeForm& type) {
    if (type.null_when_empty && bytes.empty()) {
      out_ += "null";
    } else {
      message(bytes, type);
    }
  }

  void value(const Value& v, const FieldForm& f) {
    switch (f.field->type()) {
      case FieldDescriptor::TYPE_MESSAGE:
      case FieldDescriptor::TYPE_GROUP:
        return object(v.bytes, *f.type);
      case FieldDescriptor::TYPE_STRING:
      case FieldDescriptor::TYPE_BYTES:
        return text_value(f, v.bytes);
      case FieldDescriptor::TYPE_BOOL:
        out_ += v.number != 0 ? "true" : "false";
        return;
      case FieldDescriptor::TYPE_ENUM:
        return string(f.word(static_cast<int32_t>(v.number)));
      case FieldDescriptor::TYPE_INT32:
      case FieldDescriptor::TYPE_SFIXED32:
        return number(static_cast<int32_t>(v.number));
      case FieldDescriptor::TYPE_SINT32:
        return number(WireFormatLite::ZigZagDecode32(static_cast<uint32_t>(v.number)));
      case FieldDescriptor::TYPE_UINT32:
      case FieldDescriptor::TYPE_FIXED32:
        return number(static_cast<uint32_t>(v.number));
      case FieldDescriptor::TYPE_UINT64:
      case FieldDescriptor::TYPE_FIXED64:
        return number(v.number);
      case FieldDescriptor::TYPE_INT64:
      case FieldDescriptor::TYPE_SFIXED64:
        return whole_number(static_cast<int64_t>(v.number), f);
      case FieldDescriptor::TYPE_SINT64:
        return whole_number(WireFormatLite::ZigZagDecode64(v.number), f);
      case FieldDescriptor::TYPE_DOUBLE:
        return real(std::bit_cast<double>(v.number));
      case FieldDescriptor::TYPE_FLOAT:
        return real(static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(v.number))));
    }
  }

  void whole_number(int64_t value, const FieldForm& f) {
    if (f.form == Field::DURATION_TEXT) {
      string(value == 0 ? std::string() : format_duration(std::chrono::nanoseconds(value)));
    } else if (f.form != Field::TIME) {
      number(value);
    } else if (value == 0) {
      out_ += "null";
    } else {
      string(format_time(value));
    }
  }

  void text_value(const FieldForm& f, std::string_view value) {
    switch (f.form) {
      case Field::UUID:
        string(value.empty() ? std::string() : Uuid::from_bytes(value).to_string());
        return;
      case Field::SECRET:
        out_ += "\"\"";
        return;
      case Field::RAW:
        out_ += value.empty() ? std::string_view("null") : value;
        return;
      default:
        break;
    }
    if (f.field->type() != FieldDescriptor::TYPE_BYTES) return string(value);
    if (value.empty()) {
      out_ += "null";
    } else {
      string(base64_encode(value));
    }
  }

  void number(std::integral auto value) {
    std::array<char, 24> digits{};
    out_ += {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
  }

  void real(double value) {
    if (!std::isfinite(value)) {
      out_ += "null";
      return;
    }
    std::array<char, 32> buffer{};
    out_ += {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr};
  }

  void string(std::string_view text) {
    const bool is_plain =
        std::ranges::all_of(text, [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; });
    if (is_plain) {
      out_ += '"';
      out_ += text;
      out_ += '"';
    } else {
      out_ += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    }
  }

  void open(char c) {
    out_ += c;
    ++depth_;
    first_ = true;
  }
  void close(char c) {
    --depth_;
    if (!first_) new_line();
    out_ += c;
    first_ = false;
  }
  void item() {
    if (!first_) out_ += ',';
    first_ = false;
    new_line();
  }
  void new_line() {
    if (!pretty_) return;
    out_ += '\n';
    for (int i = 0; i < depth_; ++i) out_ += "    ";
  }

  struct Entry {
    std::string_view name;
    Value value;
  };

  Text out_;
  const bool pretty_;
  const int max_depth_;
  bool first_ = true;
  int depth_ = 0;    // of brackets
  int nesting_ = 0;  // of messages
  bool is_broken_ = false;
  // The fields of all messages around the place of writing, the innermost message last.
  std::vector<Found> found_;
  std::vector<Entry> entries_;
};

// One field of a message, serialized as if it stood there alone.
std::string serialized_field(const pb::Message& owner, const FieldDescriptor& f) {
  std::string bytes;
  WireFormat::FieldByteSize(&f, owner);  // leaves in nested messages the sizes that writing needs
  pb::io::StringOutputStream stream(&bytes);
  pb::io::CodedOutputStream out(&stream);
  WireFormat::SerializeFieldWithCachedSizes(&f, owner, &out);
  out.Trim();
  return bytes;
}

}  // namespace

Result<std::string> serialized_to_json(std::string_view bytes, const pb::Descriptor& type, const JsonStyle& style) {
  Writer writer(style, kMaxDepth);
  writer.message(bytes, form_of(type));
  return writer.take(type);
}

Result<std::string> serialized_to_json(std::string_view bytes, const FieldDescriptor& f, const JsonStyle& style) {
  Writer writer(style, kMaxDepth);
  writer.field_of(bytes, form_of(*f.containing_type()), form_of(f));
  return writer.take(*f.containing_type());
}

std::string message_to_json(const pb::Message& root, const JsonStyle& style) {
  Writer writer(style, kAnyDepth);
  writer.message(root.SerializePartialAsString(), form_of(*root.GetDescriptor()));
  return *writer.take(*root.GetDescriptor());
}

std::string field_to_json(const pb::Message& owner, const FieldDescriptor& f, const JsonStyle& style) {
  Writer writer(style, kAnyDepth);
  writer.field_of(serialized_field(owner, f), form_of(*owner.GetDescriptor()), form_of(f));
  return *writer.take(*owner.GetDescriptor());
}

}  // namespace drover
