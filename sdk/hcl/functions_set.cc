// Functions on sets. A set is a list without repetitions, in the order that as_set gives it.
#include <algorithm>
#include <set>

#include "functions.h"

namespace drover::hcl {
namespace {

Result<std::vector<List>> sets_of(Arguments arguments) {
  std::vector<List> sets;
  bool has_string = false, has_other = false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    DROVER_TRY(List list, list_argument(arguments, i));
    for (const Value& value : list) (value.is_string() ? has_string : has_other) = true;
    sets.push_back(std::move(list));
  }
  // Sets of different scalars meet as sets of strings.
  for (List& list : sets) {
    for (Value& value : list) {
      if (!has_string || !has_other) continue;
      if (auto text = as_string(value)) value = *std::move(text);
    }
    list = as_set(std::move(list));
  }
  return sets;
}

constexpr size_t kMaxProduct = 1'000'000;  // elements of all combinations

Result<Value> set_union(Arguments arguments) {
  DROVER_TRY(std::vector<List> sets, sets_of(arguments));
  List all;
  for (List& list : sets) std::ranges::move(list, std::back_inserter(all));
  return Value(as_set(std::move(all)), Shape::set);
}

Result<Value> set_intersection(Arguments arguments) {
  DROVER_TRY(std::vector<List> sets, sets_of(arguments));
  List common = std::move(sets.front());
  for (size_t i = 1; i < sets.size(); ++i) {
    std::set<std::string> other;
    for (const Value& value : sets[i]) other.insert(to_json(value));
    std::erase_if(common, [&](const Value& value) { return !other.contains(to_json(value)); });
  }
  return Value(std::move(common), Shape::set);
}

// Every combination with one element of each list, the last list varying fastest.
Result<Value> set_product(Arguments arguments) {
  std::vector<List> sets;
  size_t total = 1;
  for (size_t i = 0; i < arguments.size(); ++i) {
    DROVER_TRY(List list, list_argument(arguments, i));
    if (!list.empty() && total > kMaxProduct / arguments.size() / list.size())
      return resource_exhausted("the result is too large");
    total *= list.size();
    sets.push_back(std::move(list));
  }
  List results;
  Growth growth;
  for (size_t n = 0; n < total; ++n) {
    List combination(sets.size());
    size_t rest = n;
    for (size_t i = sets.size(); i-- > 0; rest /= sets[i].size()) {
      const Value& element = sets[i][rest % sets[i].size()];
      if (!growth.fits(element)) return resource_exhausted("the result is too large");
      combination[i] = element;
    }
    results.push_back(std::move(combination));
  }
  const bool has_set = std::ranges::any_of(arguments, [](const Value& value) { return value.shape() == Shape::set; });
  return Value(std::move(results), has_set ? Shape::set : Shape::collection);
}

}  // namespace

List as_set(List values) {
  std::set<std::string> seen;
  std::erase_if(values, [&](const Value& value) { return !seen.insert(to_json(value)).second; });
  if (std::ranges::all_of(values, &Value::is_string)) {
    std::ranges::sort(values, {}, &Value::string);
  } else if (std::ranges::all_of(values, &Value::is_number)) {
    std::ranges::sort(values, {}, &Value::number);
  }
  return values;
}

void add_set_functions(Functions& functions) {
  functions["setunion"] = with_count(1, kAnyCount, set_union);
  functions["setintersection"] = with_count(1, kAnyCount, set_intersection);
  functions["setproduct"] = with_count(2, kAnyCount, set_product);
}

}  // namespace drover::hcl
