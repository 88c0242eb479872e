#include "drover/task_options.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <nlohmann/json.hpp>

#include "drover/duration.h"
#include "drover/nearest.h"

namespace drover {
namespace {

using Json = nlohmann::json;

constexpr int kMaxDepth = 100;  // of lists and maps inside one another; the decoder takes stack for each

// Reads along and says no to what is deeper.
class DepthGuard final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(size_t) override { return ++depth_ <= kMaxDepth; }
  bool start_array(size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  int depth_ = 0;
};

bool is_valid_msgpack(std::string_view bytes) {
  DepthGuard guard;
  return Json::sax_parse(bytes.begin(), bytes.end(), &guard, Json::input_format_t::msgpack);
}

// Scalars as a job file would write them; absent when the value is a list or a map.
std::optional<std::string> as_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_binary()) return std::string(value.get_binary().begin(), value.get_binary().end());
  if (value.is_number() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

// Job files arrive as HCL, where a block is a list of one map.
const Json* body(const Json& json) {
  if (json.is_array() && json.size() == 1 && json.front().is_object()) return &json.front();
  return json.is_object() ? &json : nullptr;
}

}  // namespace

struct TaskOptions::Values {
  Json json = Json::object();
  std::vector<std::string> known;
  Status problem;

  const Json* find(std::string_view option) {
    if (std::ranges::find(known, option) == known.end()) known.emplace_back(option);
    auto at = json.find(option);
    return at == json.end() || at->is_null() ? nullptr : &*at;
  }
  void wrong(std::string_view option, std::string_view wanted) {
    if (problem.ok())
      problem = invalid_argument("config option \"" + std::string(option) + "\" must be " + std::string(wanted));
  }
};

TaskOptions::TaskOptions(std::unique_ptr<Values> values) : values_(std::move(values)) {}
TaskOptions::~TaskOptions() = default;
TaskOptions::TaskOptions(TaskOptions&&) noexcept = default;
TaskOptions& TaskOptions::operator=(TaskOptions&&) noexcept = default;

Result<TaskOptions> TaskOptions::from_msgpack(std::string_view bytes) {
  auto values = std::make_unique<Values>();
  if (!bytes.empty()) {
    if (!is_valid_msgpack(bytes))
      return invalid_argument("the driver's config is not valid msgpack, or is deeper than " +
                              std::to_string(kMaxDepth) + " lists and maps");
    const Json json = Json::from_msgpack(bytes.begin(), bytes.end(), true, false);
    const Json* map = body(json);
    if (!map && !json.is_null()) return invalid_argument("the driver's config must be a map of options");
    if (map) values->json = *map;
  }
  return TaskOptions(std::move(values));
}

Result<std::string> TaskOptions::to_msgpack(std::string_view json) {
  DROVER_TRY(const TaskOptions options, from_json(json));
  const std::vector<uint8_t> bytes = Json::to_msgpack(options.values_->json);
  return std::string(bytes.begin(), bytes.end());
}

Result<TaskOptions> TaskOptions::from_json(std::string_view text) {
  auto values = std::make_unique<Values>();
  if (!text.empty()) {
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded()) return invalid_argument("the driver's config is not valid JSON");
    const Json* map = body(json);
    if (!map && !json.is_null()) return invalid_argument("the driver's config must be a map of options");
    if (map) values->json = *map;
  }
  return TaskOptions(std::move(values));
}

bool TaskOptions::has(std::string_view option) { return values_->find(option) != nullptr; }

std::string TaskOptions::text(std::string_view option, std::string fallback) {
  const Json* value = values_->find(option);
  if (!value) return fallback;
  std::optional<std::string> text = as_text(*value);
  if (!text) values_->wrong(option, "a text");
  return text.value_or(std::move(fallback));
}

int64_t TaskOptions::integer(std::string_view option, int64_t fallback) {
  const Json* value = values_->find(option);
  if (!value) return fallback;
  if (value->is_number_unsigned()) {
    uint64_t number = value->get<uint64_t>();
    if (number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return static_cast<int64_t>(number);
  } else if (value->is_number_integer()) {
    return value->get<int64_t>();
  } else if (value->is_number_float()) {
    double number = value->get<double>();
    if (number >= -9e15 && number <= 9e15 && number == static_cast<double>(static_cast<int64_t>(number)))
      return static_cast<int64_t>(number);
  } else if (value->is_string()) {
    std::string text = value->get<std::string>();
    int64_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
  }
  values_->wrong(option, "a whole number");
  return fallback;
}

bool TaskOptions::boolean(std::string_view option, bool fallback) {
  const Json* value = values_->find(option);
  if (!value) return fallback;
  std::string text = as_text(*value).value_or("");
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  values_->wrong(option, "true or false");
  return fallback;
}

std::chrono::nanoseconds TaskOptions::duration(std::string_view option, std::chrono::nanoseconds fallback) {
  const Json* value = values_->find(option);
  if (!value) return fallback;
  if (value->is_number()) return std::chrono::nanoseconds(integer(option));
  if (value->is_string()) {
    const std::string text = value->get<std::string>();
    if (Result<std::chrono::nanoseconds> parsed = parse_duration(text)) return *parsed;
    // A number that a schema has made text of.
    if (!text.empty() && text.find_first_not_of("0123456789") == std::string::npos)
      return std::chrono::nanoseconds(integer(option));
  }
  values_->wrong(option, "a duration such as \"30s\"");
  return fallback;
}

std::vector<std::string> TaskOptions::text_list(std::string_view option) {
  std::vector<std::string> list;
  const Json* value = values_->find(option);
  if (!value) return list;
  if (!value->is_array()) {
    values_->wrong(option, "a list of texts");
    return list;
  }
  for (const Json& item : *value) {
    std::optional<std::string> text = as_text(item);
    if (!text) {
      values_->wrong(option, "a list of texts");
      return {};
    }
    list.push_back(std::move(*text));
  }
  return list;
}

std::map<std::string, int64_t> TaskOptions::integer_map(std::string_view option) {
  std::map<std::string, int64_t> all;
  const Json* const value = values_->find(option);
  if (!value) return all;
  for (const Json& block : value->is_array() ? *value : Json::array({*value})) {
    if (!block.is_object()) {
      values_->wrong(option, "a block of whole numbers");
      return {};
    }
    TaskOptions inside(std::make_unique<Values>());
    inside.values_->json = block;
    for (const auto& [name, number] : block.items()) all[name] = inside.integer(name);
    if (!inside.values_->problem.ok()) values_->wrong(option, "a block of whole numbers");
  }
  return all;
}

std::optional<TaskOptions> TaskOptions::block(std::string_view option) {
  const Json* value = values_->find(option);
  if (!value || (value->is_array() && value->empty())) return {};
  const Json* const map = body(*value);
  if (!map) {
    values_->wrong(option, "one block");
    return {};
  }
  auto inside = std::make_unique<Values>();
  inside->json = *map;
  return TaskOptions(std::move(inside));
}

Status TaskOptions::finish() const {
  if (!values_->problem.ok()) return values_->problem;
  const std::vector<std::string_view> known(values_->known.begin(), values_->known.end());
  for (const auto& [name, value] : values_->json.items()) {
    if (std::ranges::find(known, name) != known.end()) continue;
    std::string text = "unknown config option \"" + name + "\"";
    if (std::string hint = nearest_hint(name, known); !hint.empty()) text += "; " + hint;
    return invalid_argument(std::move(text));
  }
  return ok_status();
}

}  // namespace drover
