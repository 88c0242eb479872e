// A template's question about variables: one of them, or a list. Pure.
#pragma once

#include <string>
#include <string_view>

#include "watch/server_watch.h"

namespace drover::templates {

// The task that reads, in the words by which the servers decide what it may.
struct VariableReader {
  std::string name_space, job, group, task;
};

struct VariableQuery {
  std::string name_space;  // empty: the allocation's
  std::string path;        // of a list: the prefix
  bool is_list = false;
};

// "path[@namespace[.region]]". Errors: invalid_argument; another region is not read.
Result<VariableQuery> read_variable_query(std::string_view text, bool is_list, std::string_view region);

// Answers are the items with what is said of the variable, or the list; an empty list counts as not found.
ServerQuestion question_of(const VariableReader& reader, const VariableQuery& query);

}  // namespace drover::templates
