// How the fields of a message look as JSON, found once for each type: the declarations' options and the names that are
// made of the fields' own. For json.cc.
#pragma once

#include <google/protobuf/descriptor.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drover/options.pb.h"

namespace drover {

struct TypeForm;

struct FieldForm {
  const google::protobuf::FieldDescriptor* field = nullptr;
  std::string name;  // "TaskGroups"
  std::string key;   // the same in quotes, with its colon
  Field::Form form = Field::PLAIN;
  bool may_be_left_out = false;  // when it is empty
  bool always = false;
  bool is_inline = false;
  const TypeForm* type = nullptr;                  // of a message
  std::vector<std::pair<int, std::string>> words;  // of an enumeration, by number

  std::string_view word(int number) const;
};

struct TypeForm {
  bool null_when_empty = false;
  std::vector<FieldForm> fields;
  // The two fields of a map's entries; null in other types.
  const FieldForm* map_key = nullptr;
  const FieldForm* map_value = nullptr;

  // By the name in JSON, in whatever case: the exact name stands before others. Null: none.
  const FieldForm* find(std::string_view name) const;

 private:
  friend class Forms;
  std::map<std::string, const FieldForm*, std::less<>> by_name_, by_lower_name_;
};

// Finds the form of a generated type; it lives for ever. [any]
const TypeForm& form_of(const google::protobuf::Descriptor& type);
const FieldForm& form_of(const google::protobuf::FieldDescriptor& field);

std::string lower(std::string_view text);

}  // namespace drover
