// The list of jobs, as several commands print it.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <vector>

namespace drover::v1 {
class JobListStub;
}

namespace drover::cli {

// Rows for format_list, with their header. `with_namespaces`: each with its namespace.
std::vector<std::vector<std::string>> job_rows(const google::protobuf::RepeatedPtrField<v1::JobListStub>& jobs,
                                               bool with_namespaces);

}  // namespace drover::cli
