// Schemas with blocks in them, for this driver's configuration and that of its tasks. Pure.
#pragma once

#include <initializer_list>
#include <string>

#include "drover/hclspec.h"

namespace drover::docker {

// Adds a block of that name to the schema of an object: one, or several.
void add_block(hclspec::Spec& object, const std::string& name, const hclspec::Spec& nested);
void add_block_list(hclspec::Spec& object, const std::string& name, const hclspec::Spec& nested);
// Adds a block of free names, `labels { a = "b" }`, which may be written as an attribute, too.
void add_map(hclspec::Spec& object, const std::string& name, const std::string& type);

}  // namespace drover::docker
