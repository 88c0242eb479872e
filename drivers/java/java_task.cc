#include "java_task.h"

namespace drover::java {

JavaTask read_task(TaskOptions& options) {
  return {.class_name = options.text("class"),
          .class_path = options.text("class_path"),
          .jar_path = options.text("jar_path"),
          .jvm_options = options.text_list("jvm_options"),
          .arguments = options.text_list("args")};
}

Result<std::vector<std::string>> arguments_of(const JavaTask& task) {
  if (task.class_name.empty() && task.jar_path.empty()) return invalid_argument("jar_path or class must be specified");
  std::vector<std::string> all = task.jvm_options;
  const auto add = [&all](std::initializer_list<std::string> words) { all.insert(all.end(), words); };
  if (!task.class_path.empty()) add({"-cp", task.class_path});
  if (!task.jar_path.empty()) add({"-jar", task.jar_path});
  if (!task.class_name.empty()) add({task.class_name});
  all.insert(all.end(), task.arguments.begin(), task.arguments.end());
  return all;
}

}  // namespace drover::java
