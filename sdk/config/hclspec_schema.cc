// The part of hclspec.h with which a plugin says its schema: nothing of HCL itself, so it is small inside a plugin.
#include "drover/hclspec.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::hclspec {

Spec object_of(std::initializer_list<Attribute> attributes) {
  Spec out;
  auto& members = *out.mutable_object()->mutable_attributes();
  for (const Attribute& attribute : attributes) {
    Spec* spec = &members[attribute.name];
    if (!attribute.default_literal.empty()) {
      spec->mutable_default_()->mutable_default_()->mutable_literal()->set_value(attribute.default_literal);
      spec = spec->mutable_default_()->mutable_primary();
    }
    spec->mutable_attr()->set_name(attribute.name);
    spec->mutable_attr()->set_type(attribute.type);
    spec->mutable_attr()->set_required(attribute.is_required);
    spec->mutable_attr()->set_help(attribute.help);
  }
  return out;
}

}  // namespace drover::hclspec
