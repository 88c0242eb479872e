#include "drover/config.h"

#include <algorithm>
#include <cmath>

#include "config_value.h"
#include "drover/duration.h"

namespace drover {
namespace {

using hcl::Object;
using hcl::Value;

std::optional<uint64_t> parse_bytes(std::string_view text) {
  size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  std::optional<hcl::Number> number = hcl::Number::parse(text.substr(0, digits));
  text.remove_prefix(digits);
  while (text.starts_with(' ')) text.remove_prefix(1);
  if (!number) return std::nullopt;
  double scale = 1;
  if (!text.empty() && text != "B" && text != "b") {
    constexpr std::string_view kPrefixes = "kmgtp";
    char letter = text[0] >= 'A' && text[0] <= 'Z' ? static_cast<char>(text[0] - 'A' + 'a') : text[0];
    size_t power = kPrefixes.find(letter);
    std::string_view rest = text.substr(1);
    bool is_binary = rest == "iB" || rest == "ib" || rest == "i";
    if (power == std::string_view::npos || !(is_binary || rest.empty() || rest == "B" || rest == "b")) {
      return std::nullopt;
    }
    scale = std::pow(is_binary ? 1024.0 : 1000.0, static_cast<double>(power + 1));
  }
  std::optional<hcl::Number> scaled = hcl::Number::real(scale);
  std::optional<hcl::Number> bytes = scaled ? hcl::multiply(*number, *scaled) : std::nullopt;
  if (!bytes || !bytes->as_integer() || *bytes->as_integer() < 0) return std::nullopt;
  return static_cast<uint64_t>(*bytes->as_integer());
}

std::optional<uint64_t> as_bytes(const Value& value) {
  if (value.is_string()) return parse_bytes(value.string());
  std::optional<int64_t> number = hcl::as_integer(value);
  return number && *number >= 0 ? std::optional(static_cast<uint64_t>(*number)) : std::nullopt;
}

std::optional<std::chrono::nanoseconds> as_duration(const Value& value) {
  if (value.is_number() && value.number().as_integer()) return std::chrono::nanoseconds(*value.number().as_integer());
  if (!value.is_string()) return std::nullopt;
  Result<std::chrono::nanoseconds> parsed = parse_duration(value.string());
  return parsed ? std::optional(*parsed) : std::nullopt;
}

std::optional<hcl::List> as_string_list(const Value& value) {
  hcl::List list;
  if (std::optional<std::string> one = hcl::as_string(value)) list.push_back(*std::move(one));
  if (!list.empty()) return list;
  if (!value.is_list()) return std::nullopt;
  for (const Value& element : value.list()) {
    std::optional<std::string> text = hcl::as_string(element);
    if (!text) return std::nullopt;
    list.push_back(*std::move(text));
  }
  return list;
}

std::optional<Object> as_string_map(const Value& value) {
  if (!value.is_object()) return std::nullopt;
  Object map;
  for (const auto& [key, element] : value.object()) {
    std::optional<std::string> text = hcl::as_string(element);
    if (!text) return std::nullopt;
    map.emplace(key, *std::move(text));
  }
  return map;
}

}  // namespace

std::string ConfigPlace::to_string() const { return line > 0 ? file + ":" + std::to_string(line) : file; }

std::string_view to_string(ConfigType type) {
  switch (type) {
    case ConfigType::string:
      return "string";
    case ConfigType::integer:
      return "whole number";
    case ConfigType::number:
      return "number";
    case ConfigType::boolean:
      return "boolean";
    case ConfigType::duration:
      return "duration";
    case ConfigType::string_list:
      return "list of strings";
    case ConfigType::string_map:
      return "map of strings";
    case ConfigType::bytes:
      return "size in bytes";
    case ConfigType::block:
      return "block";
    case ConfigType::labelled_block:
      return "block with a label";
    case ConfigType::repeated_block:
      return "block";
    case ConfigType::any:
      return "value";
  }
  return "value";
}

std::optional<Value> convert_config_value(ConfigType type, const Value& value) {
  auto wrap = [](const auto& converted) -> std::optional<Value> {
    if (!converted) return std::nullopt;
    return Value(*converted);
  };
  switch (type) {
    case ConfigType::string:
      return wrap(hcl::as_string(value));
    case ConfigType::integer:
      return wrap(hcl::as_integer(value));
    case ConfigType::number:
      return wrap(hcl::as_number(value));
    case ConfigType::boolean:
      return wrap(hcl::as_boolean(value));
    case ConfigType::duration: {
      std::optional<std::chrono::nanoseconds> duration = as_duration(value);
      return duration ? std::optional<Value>(duration->count()) : std::nullopt;
    }
    case ConfigType::bytes:
      return wrap(as_bytes(value));
    case ConfigType::string_list:
      return wrap(as_string_list(value));
    case ConfigType::string_map:
      return wrap(as_string_map(value));
    default:
      return value;
  }
}

// ---- reading a block

const Value* ConfigBlock::find(std::string_view option) const {
  auto found = attributes.find(option);
  return found == attributes.end() || found->second.value.is_null() ? nullptr : &found->second.value;
}

std::string ConfigBlock::string(std::string_view option, std::string fallback) const {
  const Value* value = find(option);
  return value ? hcl::as_string(*value).value_or(std::move(fallback)) : fallback;
}

int64_t ConfigBlock::integer(std::string_view option, int64_t fallback) const {
  const Value* value = find(option);
  return value ? hcl::as_integer(*value).value_or(fallback) : fallback;
}

double ConfigBlock::number(std::string_view option, double fallback) const {
  const Value* value = find(option);
  std::optional<hcl::Number> number = value ? hcl::as_number(*value) : std::nullopt;
  return number ? number->as_double() : fallback;
}

bool ConfigBlock::boolean(std::string_view option, bool fallback) const {
  const Value* value = find(option);
  return value ? hcl::as_boolean(*value).value_or(fallback) : fallback;
}

std::chrono::nanoseconds ConfigBlock::duration(std::string_view option, std::chrono::nanoseconds fallback) const {
  const Value* value = find(option);
  return value ? as_duration(*value).value_or(fallback) : fallback;
}

uint64_t ConfigBlock::bytes(std::string_view option, uint64_t fallback) const {
  const Value* value = find(option);
  return value ? as_bytes(*value).value_or(fallback) : fallback;
}

std::vector<std::string> ConfigBlock::string_list(std::string_view option) const {
  std::vector<std::string> result;
  const Value* value = find(option);
  std::optional<hcl::List> list = value ? as_string_list(*value) : std::nullopt;
  if (!list) return result;
  for (const Value& element : *list) result.push_back(element.string());
  return result;
}

std::map<std::string, std::string, std::less<>> ConfigBlock::string_map(std::string_view option) const {
  std::map<std::string, std::string, std::less<>> result;
  const Value* value = find(option);
  std::optional<Object> map = value ? as_string_map(*value) : std::nullopt;
  if (map) {
    for (const auto& [key, element] : *map) result.emplace(key, element.string());
  }
  for (const ConfigBlock* inner : all(option)) {
    for (const auto& [key, attribute] : inner->attributes) {
      if (std::optional<std::string> text = hcl::as_string(attribute.value)) result.insert_or_assign(key, *text);
    }
  }
  return result;
}

const ConfigBlock* ConfigBlock::block(std::string_view block_name) const {
  auto found = std::ranges::find(blocks, block_name, &ConfigBlock::name);
  return found == blocks.end() ? nullptr : &*found;
}

const ConfigBlock* ConfigBlock::block(std::string_view block_name, std::string_view label) const {
  auto found = std::ranges::find_if(
      blocks, [&](const ConfigBlock& b) { return b.name == block_name && !b.labels.empty() && b.labels[0] == label; });
  return found == blocks.end() ? nullptr : &*found;
}

std::vector<const ConfigBlock*> ConfigBlock::all(std::string_view block_name) const {
  std::vector<const ConfigBlock*> result;
  for (const ConfigBlock& inner : blocks) {
    if (inner.name == block_name) result.push_back(&inner);
  }
  return result;
}

// ---- merging

ConfigBlock merge(ConfigBlock base, const ConfigBlock& over) {
  if (base.place.line == 0) base.place = over.place;
  for (const auto& [name, attribute] : over.attributes) {
    auto [known, is_new] = base.attributes.try_emplace(name, attribute);
    if (is_new) continue;
    Value& value = known->second.value;
    if (value.is_object() && attribute.value.is_object()) {
      Object merged = value.object();
      for (const auto& [key, element] : attribute.value.object()) merged.insert_or_assign(key, element);
      value = Value(std::move(merged));
      known->second.place = attribute.place;
    } else {
      known->second = attribute;
    }
  }
  for (const ConfigBlock& block : over.blocks) {
    auto known = std::ranges::find_if(
        base.blocks, [&](const ConfigBlock& b) { return b.name == block.name && b.labels == block.labels; });
    if (known == base.blocks.end())
      base.blocks.push_back(block);
    else
      *known = merge(std::move(*known), block);
  }
  return base;
}

hcl::Value value_of(const ConfigBlock& block) {
  hcl::Object out;
  for (const auto& [name, attribute] : block.attributes) out[name] = attribute.value;
  std::map<std::string, hcl::List> blocks;
  for (const ConfigBlock& inner : block.blocks) {
    hcl::Value value = value_of(inner);
    for (auto label = inner.labels.rbegin(); label != inner.labels.rend(); ++label)
      value = hcl::Object{{*label, std::move(value)}};
    blocks[inner.name].push_back(std::move(value));
  }
  for (auto& [name, list] : blocks) out[name] = std::move(list);
  return out;
}

}  // namespace drover
