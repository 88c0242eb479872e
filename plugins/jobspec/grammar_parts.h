// The pieces of the grammar that its files share. Constant. [any]
#pragma once

#include "grammar.h"

namespace drover::jobspec {

using Attributes = std::vector<AttributeRule>;
using Blocks = std::vector<BlockRule>;

inline BlockRule object(std::string_view name, std::string_view json, Attributes attributes, Blocks blocks = {}) {
  return {name, json, Shape::object, "", std::move(attributes), std::move(blocks)};
}
inline BlockRule list(std::string_view name, std::string_view json, Attributes attributes, Blocks blocks = {}) {
  return {name, json, Shape::list, "", std::move(attributes), std::move(blocks)};
}
// A list whose items are named by a label.
inline BlockRule labelled(std::string_view name, std::string_view json, std::string_view label, Attributes attributes,
                          Blocks blocks = {}) {
  return {name, json, Shape::list, label, std::move(attributes), std::move(blocks)};
}
inline BlockRule map_block(std::string_view name, std::string_view json) {
  return {name, json, Shape::map, "", {}, {}};
}
inline BlockRule free_block(std::string_view name, std::string_view json) {
  return {name, json, Shape::free_form, "", {}, {}};
}

// Blocks of groups, tasks and devices; `affinity` also in the job.
BlockRule constraint();
BlockRule affinity();
BlockRule restart();
BlockRule network();
BlockRule resources();
BlockRule logs();
BlockRule volume_mount();
BlockRule vault();
BlockRule consul();
// With and without a name; decode.cc tells apart those of a task, where it is called "identities".
BlockRule identity(std::string_view json);
BlockRule scaling(std::string_view json, Shape shape, std::string_view label);

BlockRule service();
BlockRule task();

}  // namespace drover::jobspec
