// The kinds of objects that a search looks through: where they lie, how they are found, and who may see them. [any]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "drover/methods.h"

namespace drover::search {

struct Object {
  std::string name_space;  // empty: it belongs to none
  std::string id;
  std::string name;  // as people call it
};

// Where a context's objects lie, and what their keys say.
enum class Shape : uint8_t {
  named,    // (namespace, identifier)
  word,     // (identifier)
  id,       // sixteen bytes; their row says the namespace
  row,      // the row alone says it
  plugins,  // of storage: in an index of nodes
};

enum class Right : uint8_t { read_job, scaling_policy, volume, host_volume, variable, name_space, node, plugin };

struct Context {
  std::string_view name;
  std::string_view table;
  Shape shape;
  Right right;
  bool has_names;  // else a fuzzy search looks at the beginnings of identifiers
  void (*read)(std::string_view row, Object& object);  // adds what the key does not say; null: the key says it all
};

// In the order in which a search asks them. "jobs" is one of them.
std::span<const Context> contexts();

// False: whoever asks for objects of the context in that namespace ("*": in any) gets none for certain.
bool may_ask(const Permissions& permissions, Right right, std::string_view name_space);

// Looks at the objects of the call's namespace that its caller may see and whose identifiers begin with the prefix, in
// the order of their keys, until `visit` says no or too many rows were looked at. False: there may be more.
using Visit = std::function<bool(const Object& object, std::string_view row)>;
bool walk(const Context& context, TableId table, const Call& call, const std::string& prefix, const Visit& visit);

}  // namespace drover::search
