// A variable as `var put` is told of it: a file in HCL or JSON, and pairs on the command line. Pure.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover::v1 {
class Variable;
}  // namespace drover::v1

namespace drover::cli {

extern const char* const kVariableExample;
extern const char* const kVariableExampleJson;

struct VariableSpec {
  std::string name_space;
  std::string path;
  uint64_t modify_index = 0;  // that it had when it was read; 0: it is new
  std::map<std::string, std::string> items;
};

// `form`: "hcl" or "json"; `name` is what messages call the text. Errors: invalid_argument with the place, never with
// a value.
Result<VariableSpec> read_variable_spec(const std::string& form, const std::string& name, const std::string& text);

// The arguments of `var put`: [path] [@file or -] [key=value]…
struct PutArguments {
  std::string path;                // empty: the file's
  std::optional<std::string> file;  // "-": standard input
  std::vector<std::pair<std::string, std::string>> pairs;
};
// Errors: invalid_argument, saying which argument is what.
Result<PutArguments> read_put_arguments(const std::vector<std::string>& words);

// Puts the pairs into the items: k=v, k=@file, k=- (standard input), k=\@v for a value that begins so; k= takes the
// item away. `read`: the text of a file, or of "-". Errors: those of reading; invalid_argument.
Status add_pairs(const PutArguments& arguments, const std::function<Result<std::string>(const std::string&)>& read,
                 VariableSpec& spec);

std::string items_json(const std::map<std::string, std::string>& items);
// Nothing for items that are null.
std::map<std::string, std::string> items_of(const v1::Variable& variable);

}  // namespace drover::cli
