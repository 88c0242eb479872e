// A task of the driver "java" and the command line that runs it. Pure.
#pragma once

#include <string>
#include <vector>

#include "drover/task_options.h"

namespace drover::java {

struct JavaTask {
  std::string class_name, class_path, jar_path;  // empty: not named
  std::vector<std::string> jvm_options, arguments;
};
// Errors of a value of the wrong type come with the options' finish().
JavaTask read_task(TaskOptions& options);

// The arguments of java. With a jar the class is the first argument of the jar's main. Errors: invalid_argument for a
// task that names neither.
Result<std::vector<std::string>> arguments_of(const JavaTask& task);

}  // namespace drover::java
