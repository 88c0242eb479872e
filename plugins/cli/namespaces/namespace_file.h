// A file that describes a namespace: HCL, or JSON in the API's form. Pure.
#pragma once

#include <string>

#include "drover/result.h"

namespace drover::v1 {
class NamespaceSpec;
}  // namespace drover::v1

namespace drover::cli {

// `name`: of the file, for errors. Errors: invalid_argument with the place of all that is wrong.
Result<v1::NamespaceSpec> read_namespace_file(const std::string& name, const std::string& text);
Result<v1::NamespaceSpec> read_namespace_json(const std::string& text);

}  // namespace drover::cli
