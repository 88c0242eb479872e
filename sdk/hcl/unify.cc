// The types of values, and the one type that several of them have in common: cty's rules, which HCL's conditions and
// conversions follow.
#include <algorithm>
#include <iterator>
#include <utility>

#include "drover/hcl_type.h"

namespace drover::hcl {
namespace {

using K = Type::Kind;
using Types = std::vector<Type>;

bool is_scalar(const Type& type) { return type.kind == K::boolean || type.kind == K::number || type.kind == K::string; }
bool is_sequence(const Type& type) { return type.kind == K::list || type.kind == K::set || type.kind == K::tuple; }

Type collection(K kind, Type element) {
  Type type{.kind = kind};
  type.elements.push_back(std::move(element));
  return type;
}

// Less than zero when `a` is the more general of the two, greater when `b` is, zero when neither is known to be.
int compare(const Type& a, const Type& b) {
  if (a.kind == K::any || b.kind == K::any) return (a.kind == K::any) - (b.kind == K::any);
  if (is_scalar(a) && is_scalar(b)) return (b.kind == K::string) - (a.kind == K::string);
  const bool same = a.kind == b.kind;
  if (same && (a.kind == K::list || a.kind == K::set || a.kind == K::map)) return compare(a.elements[0], b.elements[0]);
  const auto rank = [](const Type& type) { return type.kind == K::list ? 0 : type.kind == K::set ? 1 : 2; };
  if (!same && is_sequence(a) && is_sequence(b)) return rank(a) - rank(b);
  if (a.kind == K::map && b.kind == K::object) return -1;
  if (a.kind == K::object && b.kind == K::map) return 1;
  return 0;  // objects and tuples are taken apart before they are compared
}

// True when some values of the type can become values of the other: "5" a number, a map an object.
bool can_convert(const Type& from, const Type& to) {
  if (from.kind == K::any || to.kind == K::any) return true;
  if (is_scalar(from) && is_scalar(to)) {
    return from.kind == to.kind || from.kind == K::string || to.kind == K::string;
  }
  const auto each_to = [](const Types& elements, const Type& type) {
    if (type.kind == K::any) return elements.empty() || unify(elements).has_value();  // some one type
    return std::ranges::all_of(elements, [&](const Type& element) { return can_convert(element, type); });
  };
  if ((to.kind == K::list || to.kind == K::set) && is_sequence(from)) return each_to(from.elements, to.elements[0]);
  if (to.kind == K::tuple && from.kind == K::tuple) {
    return std::ranges::equal(from.elements, to.elements, can_convert);
  }
  if (to.kind == K::map && from.kind == K::map) return can_convert(from.elements[0], to.elements[0]);
  if (to.kind == K::map && from.kind == K::object) {
    Types elements;
    for (const auto& attribute : from.attributes) elements.push_back(attribute.second);
    return each_to(elements, to.elements[0]);
  }
  if (to.kind != K::object || (from.kind != K::object && from.kind != K::map)) return false;
  return std::ranges::all_of(to.attributes, [&](const auto& attribute) {
    if (from.kind == K::map) return can_convert(from.elements[0], attribute.second);
    auto given = from.attributes.find(attribute.first);
    return given != from.attributes.end() && can_convert(given->second, attribute.second);
  });
}

class Unifier {
 public:
  std::optional<Type> unify(Types types) {
    if (types.empty()) return std::nullopt;
    if (!spend(types.size())) return std::nullopt;
    drop_repeated(types);
    if (types.size() == 1) return std::move(types.front());
    const auto count = [&](K kind) { return static_cast<size_t>(std::ranges::count(types, kind, &Type::kind)); };
    const size_t all = types.size(), anys = count(K::any);
    const size_t maps = count(K::map), objects = count(K::object), lists = count(K::list), tuples = count(K::tuple);
    for (K kind : {K::map, K::list, K::set}) {
      if (count(kind) > 0 && count(kind) + anys == all) return anys > 0 ? Type{} : of_elements(types, kind);
    }
    if (maps > 0 && maps + objects + anys == all) {
      if (auto type = in_place_of(types, K::object, K::map)) return type;
    } else if (lists > 0 && lists + tuples + anys == all) {
      if (auto type = in_place_of(types, K::tuple, K::list)) return type;
    } else if (objects > 0 && objects + anys == all) {
      return anys > 0 ? Type{} : of_objects(types);
    } else if (tuples > 0 && tuples + anys == all) {
      return anys > 0 ? Type{} : of_tuples(types);
    }
    return most_general(types);
  }

 private:
  // Types inside types are looked at again on each level; types that exceed the budget have no type in common.
  bool spend(size_t steps) {
    steps_ += steps;
    return steps_ <= kMaxTypeParts;
  }

  static constexpr size_t kMaxDifferent = 20;  // far more than in files that people write

  void drop_repeated(Types& types) {
    Types different;
    for (Type& type : types) {
      if (different.size() < kMaxDifferent && std::ranges::find(different, type) != different.end()) continue;
      different.push_back(std::move(type));
    }
    types = std::move(different);
  }

  static Types elements_of(const Types& types) {
    Types elements;
    for (const Type& type : types) {
      std::ranges::copy(type.elements, std::back_inserter(elements));
      for (const auto& attribute : type.attributes) elements.push_back(attribute.second);
    }
    return elements;
  }

  std::optional<Type> of_elements(const Types& types, K kind) {
    std::optional<Type> element = unify(elements_of(types));
    return element ? std::optional(collection(kind, *std::move(element))) : std::nullopt;
  }

  // All as collections, those of the structural kind unified before.
  std::optional<Type> in_place_of(const Types& types, K structural, K kind) {
    Types of_kind, others;
    for (const Type& type : types) (type.kind == structural ? of_kind : others).push_back(type);
    std::optional<Type> unified = of_elements(of_kind, kind);
    if (!unified) return std::nullopt;
    others.push_back(*std::move(unified));
    std::optional<Type> type = unify(std::move(others));
    return type && type->kind == kind ? type : std::nullopt;
  }

  std::optional<Type> of_objects(const Types& types) {
    const auto same_name = [](const auto& a, const auto& b) { return a.first == b.first; };
    for (const Type& type : types) {
      if (!std::ranges::equal(type.attributes, types[0].attributes, same_name)) return of_elements(types, K::map);
    }
    Type result{.kind = K::object};
    for (const auto& attribute : types[0].attributes) {
      Types across;
      for (const Type& type : types) across.push_back(type.attributes.find(attribute.first)->second);
      std::optional<Type> type = unify(std::move(across));
      if (!type) return std::nullopt;
      result.attributes.emplace(attribute.first, *std::move(type));
    }
    return result;
  }

  std::optional<Type> of_tuples(const Types& types) {
    for (const Type& type : types) {
      if (type.elements.size() != types[0].elements.size()) return of_elements(types, K::list);
    }
    Type result{.kind = K::tuple};
    for (size_t i = 0; i < types[0].elements.size(); ++i) {
      Types across;
      for (const Type& type : types) across.push_back(type.elements[i]);
      std::optional<Type> type = unify(std::move(across));
      if (!type) return std::nullopt;
      result.elements.push_back(*std::move(type));
    }
    return result;
  }

  std::optional<Type> most_general(Types& types) {
    if (types.size() > kMaxDifferent) return std::nullopt;
    // compare() orders some pairs only: insertion keeps what is more general in front.
    Types ordered;
    for (Type& type : types) {
      auto at = std::ranges::find_if(ordered, [&](const Type& other) { return compare(type, other) < 0; });
      ordered.insert(at, std::move(type));
    }
    auto found = std::ranges::find_if(ordered, [&](const Type& wanted) {
      return std::ranges::all_of(ordered, [&](const Type& type) { return can_convert(type, wanted); });
    });
    return found == ordered.end() ? std::nullopt : std::optional(std::move(*found));
  }

  size_t steps_ = 0;
};

class Typing {
 public:
  std::optional<Type> of(const Value& value) {
    if (left_ == 0) return std::nullopt;
    --left_;
    switch (value.kind()) {
      case Kind::boolean:
        return Type{.kind = K::boolean};
      case Kind::number:
        return Type{.kind = K::number};
      case Kind::string:
        return Type{.kind = K::string};
      case Kind::list:
        return of_list(value);
      case Kind::object:
        return of_object(value);
      default:
        return Type{};
    }
  }

 private:
  std::optional<Type> of_list(const Value& value) {
    Type type{.kind = K::tuple};
    for (const Value& element : value.list()) {
      std::optional<Type> part = of(element);
      if (!part) return std::nullopt;
      add(type.elements, *std::move(part), value.shape());
    }
    if (value.shape() == Shape::structural) return type;
    return collection(value.shape() == Shape::set ? K::set : K::list, of_one(std::move(type.elements)));
  }

  std::optional<Type> of_object(const Value& value) {
    Type type{.kind = K::object};
    Types elements;
    for (const auto& [name, element] : value.object()) {
      std::optional<Type> part = of(element);
      if (!part) return std::nullopt;
      if (value.shape() == Shape::structural) {
        type.attributes.emplace_hint(type.attributes.end(), name, *std::move(part));
      } else {
        add(elements, *std::move(part), value.shape());
      }
    }
    if (value.shape() == Shape::structural) return type;
    return collection(K::map, of_one(std::move(elements)));
  }

  // The elements of a collection have one type, so mostly that of the one before.
  static void add(Types& types, Type type, Shape shape) {
    if (shape != Shape::structural && (type.kind == K::any || (!types.empty() && types.back() == type))) return;
    types.push_back(std::move(type));
  }

  static Type of_one(Types types) { return unify(std::move(types)).value_or(Type{}); }

  size_t left_ = kMaxTypeParts;
};

}  // namespace

std::optional<Type> type_of(const Value& value) { return Typing().of(value); }

std::optional<Type> unify(std::vector<Type> types) { return Unifier().unify(std::move(types)); }

}  // namespace drover::hcl
