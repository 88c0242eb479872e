#include "config/hcl_spec.h"

#include "nomad/plugins/hclspec.pb.h"

namespace drover::docker {

using hclspec::Spec;

void add_block(Spec& object, const std::string& name, const Spec& nested) {
  auto& block = *(*object.mutable_object()->mutable_attributes())[name].mutable_block_value();
  block.set_name(name);
  *block.mutable_nested() = nested;
}

void add_block_list(Spec& object, const std::string& name, const Spec& nested) {
  auto& block = *(*object.mutable_object()->mutable_attributes())[name].mutable_block_list();
  block.set_name(name);
  *block.mutable_nested() = nested;
}

void add_map(Spec& object, const std::string& name, const std::string& type) {
  auto& block = *(*object.mutable_object()->mutable_attributes())[name].mutable_block_attrs();
  block.set_name(name);
  block.set_type(type);
}

}  // namespace drover::docker
