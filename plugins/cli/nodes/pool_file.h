// A file that describes a node pool: HCL, or JSON in the API's form. Pure.
#pragma once

#include <string>

#include "drover/result.h"

namespace drover::v1 {
class NodePool;
}  // namespace drover::v1

namespace drover::cli {

// `name`: of the file, for errors. Errors: invalid_argument with the place of all that is wrong.
Result<v1::NodePool> read_pool_file(const std::string& name, const std::string& text);
Result<v1::NodePool> read_pool_json(const std::string& text);

// Examples to start from.
extern const char* const kPoolExample;
extern const char* const kPoolExampleJson;

}  // namespace drover::cli
