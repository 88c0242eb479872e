// The questions of template functions to Consul, and what they make of the answers: the semantics of consul-template.
// Pure.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "drover/result.h"
#include "drover/text_template.h"

namespace drover::consul {

// How an answer of Consul becomes a value that functions use.
enum class Form : uint8_t { key, keys, instances, service_names, nodes, node, texts };

struct Question {
  std::string path;  // with its query; empty: there is nothing to ask, and the function's value is `otherwise`
  std::string name;  // as people see it, "kv.block(PATH)"
  Form form = Form::key;
  bool is_about_own_node = false;  // the path ends with the name of the node's Consul, which is to be added
  bool waits = false;              // the template is not written while there is no answer, or an empty one
  text_template::Value otherwise{};  // the function's value while nobody has answered, or there is nothing
  // The function's value by the answer; empty: the answer itself.
  std::function<nlohmann::json(const nlohmann::json& answer)> pick{};
};

// The names of all functions that ask Consul, those that are refused as well.
std::span<const std::string_view> function_names();

// Errors: invalid_argument for arguments that mean nothing; failed_precondition for functions that are not carried out.
Result<Question> question_of(std::string_view function, std::span<const text_template::Value> arguments);

// The value of an answer: its status is 200, or 404 (`is_there` is false). Errors: unavailable for what is no answer.
Result<nlohmann::json> value_in(Form form, const std::string& body, bool is_there);

}  // namespace drover::consul
