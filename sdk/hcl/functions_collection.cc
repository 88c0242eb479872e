// Functions on lists and objects.
#include <algorithm>
#include <set>

#include "drover/hcl_type.h"
#include "functions.h"

namespace drover::hcl {
namespace {

constexpr size_t kMaxRange = 1024;  // as in HCL

Type any_list() { return {.kind = Type::Kind::list, .elements = {Type{}}}; }

Result<Value> length(Arguments arguments) {
  const Value& value = arguments[0];
  if (value.is_list()) return Value(value.list().size());
  if (value.is_object()) return Value(value.object().size());
  if (value.is_string()) return standard_functions().find("strlen")->second(arguments);
  return invalid_argument("argument 1 must be a list, an object or a string, not " +
                          std::string(to_string(value.kind())));
}

// Arguments that are all collections give a collection.
Shape shape_of_all(Arguments arguments) {
  const bool is_structural =
      std::ranges::any_of(arguments, [](const Value& value) { return value.shape() == Shape::structural; });
  return is_structural ? Shape::structural : Shape::collection;
}

Result<Value> concat(Arguments arguments) {
  List result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    DROVER_TRY(List list, list_argument(arguments, i));
    std::ranges::move(list, std::back_inserter(result));
  }
  return Value(std::move(result), shape_of_all(arguments));
}

Result<Value> merge(Arguments arguments) {
  Object result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].is_null()) continue;
    DROVER_TRY(Object object, object_argument(arguments, i));
    for (auto& [key, value] : object) result.insert_or_assign(key, std::move(value));
  }
  return Value(std::move(result), shape_of_all(arguments));
}

Result<Value> lookup(Arguments arguments) {
  DROVER_TRY(Object object, object_argument(arguments, 0));
  DROVER_TRY(std::string key, text_argument(arguments, 1));
  if (auto found = object.find(key); found != object.end()) return found->second;
  if (arguments.size() == 3) return arguments[2];
  return invalid_argument("the object has no element \"" + key + "\" and no default is given");
}

Result<Value> contains(Arguments arguments) {
  DROVER_TRY(List list, list_argument(arguments, 0));
  return Value(std::ranges::find(list, arguments[1]) != list.end());
}

// list[0] and map["key"] as a function, not the position of a value.
Result<Value> index(Arguments arguments) {
  const Value &collection = arguments[0], &key = arguments[1];
  if (collection.is_object()) {
    if (!key.is_string()) return invalid_argument("the key of an object must be a string");
    auto found = collection.object().find(key.string());
    if (found == collection.object().end())
      return invalid_argument("the object has no element \"" + key.string() + "\"");
    return found->second;
  }
  DROVER_TRY(List list, list_argument(arguments, 0));
  if (collection.shape() == Shape::set) return invalid_argument("a set has no order");
  if (!key.is_number()) return invalid_argument("the key of a list must be a number");
  DROVER_TRY(int64_t position, integer_argument(arguments, 1));
  if (position < 0 || position >= static_cast<int64_t>(list.size())) {
    return invalid_argument("the list has no element " + std::to_string(position));
  }
  return list[static_cast<size_t>(position)];
}

Result<Value> keys(Arguments arguments) {
  DROVER_TRY(Object object, object_argument(arguments, 0));
  List result;
  for (const auto& entry : object) result.push_back(entry.first);
  return Value(std::move(result), arguments[0].shape());
}

Result<Value> values(Arguments arguments) {
  DROVER_TRY(Object object, object_argument(arguments, 0));
  List result;
  for (auto& entry : object) result.push_back(std::move(entry.second));
  return Value(std::move(result), arguments[0].shape());
}

Result<Value> zipmap(Arguments arguments) {
  DROVER_TRY(List names, list_argument(arguments, 0));
  DROVER_TRY(List list, list_argument(arguments, 1));
  if (names.size() != list.size()) return invalid_argument("the two lists have different lengths");
  Object result;
  for (size_t i = 0; i < names.size(); ++i) {
    DROVER_TRY(std::string name, text_argument(names, i));
    result.insert_or_assign(std::move(name), list[i]);
  }
  return Value(std::move(result), shape_of_all(arguments.subspan(1, 1)));
}

// range(limit), range(start, limit), range(start, limit, step)
Result<Value> range(Arguments arguments) {
  Number start, limit;
  std::optional<Number> step;
  if (arguments.size() == 1) {
    DROVER_TRY(limit, number_argument(arguments, 0));
  } else {
    DROVER_TRY(start, number_argument(arguments, 0));
    DROVER_TRY(limit, number_argument(arguments, 1));
  }
  if (arguments.size() == 3) {
    DROVER_TRY(step, number_argument(arguments, 2));
  } else {
    step = Number::integer(limit < start ? -1 : 1);
  }
  if (*step == Number()) return invalid_argument("the step may not be zero");
  bool is_rising = *step > Number();
  if (is_rising != (limit > start) && limit != start) return invalid_argument("the step leads away from the limit");
  List result;
  for (std::optional<Number> at = start; at && (is_rising ? *at < limit : *at > limit); at = add(*at, *step)) {
    if (result.size() == kMaxRange) {
      return invalid_argument("more than " + std::to_string(kMaxRange) + " values were generated");
    }
    result.push_back(*at);
  }
  return Value(std::move(result), Shape::collection);
}

// The first argument that is not null, as a string when the arguments are scalars of different kinds.
Result<Value> coalesce(Arguments arguments) {
  DROVER_TRY(Value values, convert(Value(List(arguments.begin(), arguments.end())), any_list()));
  for (const Value& value : values.list()) {
    if (!value.is_null()) return value;
  }
  return invalid_argument("all arguments are null");
}

Result<Value> coalesce_list(Arguments arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].is_null()) continue;
    DROVER_TRY(List list, list_argument(arguments, i));
    if (!list.empty()) return Value(std::move(list), arguments[i].shape());
  }
  return invalid_argument("all lists are null or empty");
}

// The index wraps around.
Result<Value> element(Arguments arguments) {
  DROVER_TRY(List list, list_argument(arguments, 0));
  DROVER_TRY(int64_t index, integer_argument(arguments, 1));
  if (list.empty()) return invalid_argument("the list is empty");
  auto size = static_cast<int64_t>(list.size());
  int64_t wrapped = index % size;
  return list[static_cast<size_t>(wrapped < 0 ? wrapped + size : wrapped)];
}

bool flatten_into(const List& list, List& result, size_t& budget) {
  for (const Value& value : list) {
    if (budget-- == 0) return false;
    if (!value.is_list())
      result.push_back(value);
    else if (!flatten_into(value.list(), result, budget))
      return false;  // depth is bounded by kMaxValueDepth
  }
  return true;
}

Result<Value> flatten(Arguments arguments) {
  DROVER_TRY(List list, list_argument(arguments, 0));
  List result;
  size_t budget = kMaxEvaluationSteps;
  if (!flatten_into(list, result, budget)) return resource_exhausted("the result is too large");
  return Value(std::move(result));
}

Result<Value> compact(Arguments arguments) {
  Type strings{.kind = Type::Kind::list, .elements = {Type{.kind = Type::Kind::string}}};
  DROVER_TRY(Value converted, convert(arguments[0], strings));
  if (!converted.is_list()) return invalid_argument("argument 1 must be a list");
  List list = converted.list();
  std::erase_if(list, [](const Value& v) { return v.is_null() || (v.is_string() && v.string().empty()); });
  return Value(std::move(list), Shape::collection);
}

Result<Value> distinct(Arguments arguments) {
  DROVER_TRY(Value converted, convert(arguments[0], any_list()));
  if (!converted.is_list()) return invalid_argument("argument 1 must be a list");
  List list = converted.list();
  std::set<std::string> seen;
  std::erase_if(list, [&](const Value& value) { return !seen.insert(to_json(value)).second; });
  return Value(std::move(list), Shape::collection);
}

// Lists of at most `size` elements each; a size of zero means one list with all.
Result<Value> chunk_list(Arguments arguments) {
  DROVER_TRY(Value converted, convert(arguments[0], any_list()));
  if (!converted.is_list()) return invalid_argument("argument 1 must be a list");
  List list = converted.list();
  DROVER_TRY(int64_t size, integer_argument(arguments, 1));
  if (size < 0) return invalid_argument("argument 2 may not be negative");
  List chunks, chunk;
  for (Value& value : list) {
    chunk.push_back(std::move(value));
    if (static_cast<int64_t>(chunk.size()) == size)
      chunks.push_back(Value(std::exchange(chunk, {}), Shape::collection));
  }
  if (!chunk.empty()) chunks.push_back(Value(std::move(chunk), Shape::collection));
  return Value(std::move(chunks), Shape::collection);
}

Result<Value> slice(Arguments arguments) {
  DROVER_TRY(List list, list_argument(arguments, 0));
  DROVER_TRY(int64_t begin, integer_argument(arguments, 1));
  DROVER_TRY(int64_t end, integer_argument(arguments, 2));
  if (begin < 0 || end < begin || end > static_cast<int64_t>(list.size())) {
    return invalid_argument("the range is outside of the list");
  }
  return Value(List(list.begin() + begin, list.begin() + end), shape_of_all(arguments.first(1)));
}

Result<Value> sort(Arguments arguments) {
  DROVER_TRY(List list, list_argument(arguments, 0));
  std::vector<std::string> texts;
  for (size_t i = 0; i < list.size(); ++i) {
    DROVER_TRY(std::string text, text_argument(list, i));
    texts.push_back(std::move(text));
  }
  std::ranges::sort(texts);
  return Value(List(texts.begin(), texts.end()), Shape::collection);
}

}  // namespace

void add_collection_functions(Functions& functions) {
  functions["length"] = with_count(1, 1, length);
  functions["concat"] = with_count(1, kAnyCount, concat);
  functions["merge"] = with_count(0, kAnyCount, merge);
  functions["lookup"] = with_count(2, 3, lookup);
  functions["contains"] = with_count(2, 2, contains);
  functions["index"] = with_count(2, 2, index);
  functions["keys"] = with_count(1, 1, keys);
  functions["values"] = with_count(1, 1, values);
  functions["zipmap"] = with_count(2, 2, zipmap);
  functions["range"] = with_count(1, 3, range);
  functions["coalesce"] = with_count(1, kAnyCount, coalesce);
  functions["coalescelist"] = with_count(1, kAnyCount, coalesce_list);
  functions["element"] = with_count(2, 2, element);
  functions["flatten"] = with_count(1, 1, flatten);
  functions["compact"] = with_count(1, 1, compact);
  functions["chunklist"] = with_count(2, 2, chunk_list);
  functions["distinct"] = with_count(1, 1, distinct);
  functions["slice"] = with_count(3, 3, slice);
  functions["sort"] = with_count(1, 1, sort);
}

}  // namespace drover::hcl
