// How the fields of a message look as JSON, found once for each type: the declarations' options and the names that are
// made of the fields' own. For json.cc and json_write.cc.
#pragma once

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/options.pb.h"
#include "wire_fields.h"

namespace drover {

struct TypeForm;

struct FieldForm {
  const google::protobuf::FieldDescriptor* field = nullptr;
  uint32_t number = 0;
  WireType wire = WireType::varint;  // of one value in a serialized message
  bool is_repeated = false;
  bool has_presence = false;
  const google::protobuf::OneofDescriptor* oneof = nullptr;  // the fields that exclude this one; null: none
  std::string name;                                          // "TaskGroups"
  std::string key;                                           // the same in quotes, with its colon
  Field::Form form = Field::PLAIN;
  bool may_be_left_out = false;  // when it is empty
  bool always = false;
  bool is_inline = false;
  const TypeForm* type = nullptr;                  // of a message
  std::vector<std::pair<int, std::string>> words;  // of an enumeration, by number

  std::string_view word(int value) const;
  // True when values of this field may stand as a wire field of that type: numbers of a list, packed, as bytes.
  bool reads(WireType found) const { return found == wire || (found == WireType::bytes && is_repeated); }
};

struct TypeForm {
  bool null_when_empty = false;
  std::vector<FieldForm> fields;
  // The two fields of a map's entries; null in other types.
  const FieldForm* map_key = nullptr;
  const FieldForm* map_value = nullptr;

  // By the name in JSON, in whatever case: the exact name stands before others. Null: none.
  const FieldForm* find(std::string_view name) const;
  // By the field's number. Null: none.
  const FieldForm* with_number(uint32_t number) const {
    // Most messages count their fields from one on.
    if (number <= fields.size() && fields[number - 1].number == number) return &fields[number - 1];
    const auto found = std::ranges::find(fields, number, &FieldForm::number);
    return found == fields.end() ? nullptr : &*found;
  }

 private:
  friend class Forms;
  std::map<std::string, const FieldForm*, std::less<>> by_name_, by_lower_name_;
};

// Finds the form of a generated type; it lives for ever. [any]
const TypeForm& form_of(const google::protobuf::Descriptor& type);
const FieldForm& form_of(const google::protobuf::FieldDescriptor& field);

std::string lower(std::string_view text);

}  // namespace drover
