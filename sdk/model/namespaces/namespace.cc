#include "drover/model/namespace.h"

#include <string>

#include "drover/keys.h"
#include "drover/object_name.h"
#include "drover/schema.h"
#include "drover/v1/namespace.pb.h"

namespace drover {

bool is_namespace_name(std::string_view name) { return is_object_name(name); }

v1::Namespace default_namespace() {
  v1::Namespace row;
  row.set_name(std::string(kDefaultNamespace));
  row.set_description("Default shared namespace");
  row.set_create_index(1);  // the cluster's beginning
  row.set_modify_index(1);
  return row;
}

std::optional<v1::Namespace> find_namespace(const ReadView& view, const std::optional<TableId>& table,
                                            std::string_view name) {
  if (table) {
    if (auto row = Table<v1::Namespace>(*table).get(view, namespace_key(name))) return row;
  }
  if (name == kDefaultNamespace) return default_namespace();
  return std::nullopt;
}

bool has_namespace(const ReadView& view, const std::optional<TableId>& table, std::string_view name) {
  return name == kDefaultNamespace || (table && view.get(*table, namespace_key(name)));
}

KeyRange of_namespace(std::string_view name) { return KeyRange::prefix(KeyBuilder().text(name).view()); }

}  // namespace drover
