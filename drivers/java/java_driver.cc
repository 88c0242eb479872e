#include "java_driver.h"

#include "drover/program.h"
#include "java_task.h"
#include "java_version.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace drover::java {
namespace {

using namespace std::chrono_literals;

constexpr auto kVersionLimit = 10s;

Result<std::string> find_java() { return find_machine_program("java").with_context("failed to find java binary"); }

Result<JavaVersion> ask_version() {
  DROVER_TRY(const std::string java, find_java());
  DROVER_TRY(const ProgramEnd end, run_program({.program = java, .arguments = {"-version"}, .time = kVersionLimit}));
  if (end.code != 0) return unavailable(java + " -version failed, with exit code " + std::to_string(end.code));
  return parse_version(end.output + end.errors);
}

}  // namespace

hclspec::Spec JavaDriver::task_config_schema() const {
  return with(IsolatedDriver::task_config_schema(), hclspec::object_of({{.name = "class", .type = "string"},
                                                                        {.name = "class_path", .type = "string"},
                                                                        {.name = "jar_path", .type = "string"},
                                                                        {.name = "jvm_options", .type = "list(string)"},
                                                                        {.name = "args", .type = "list(string)"}}));
}

driver::FingerprintResponse JavaDriver::fingerprint() {
  driver::FingerprintResponse print = IsolatedDriver::fingerprint();
  if (print.health() != driver::FingerprintResponse::HEALTHY) return print;
  const auto version = ask_version();
  if (!version) return undetected(version.status().message());
  auto& attributes = *print.mutable_attributes();
  attributes["driver.java.version"].set_string_val(version->version);
  attributes["driver.java.runtime"].set_string_val(version->runtime);
  attributes["driver.java.vm"].set_string_val(version->vm);
  return print;
}

Result<ProcessDriver::Command> JavaDriver::program(const driver::TaskConfig&, TaskOptions& options) {
  DROVER_TRY(std::vector<std::string> arguments, arguments_of(read_task(options)));
  DROVER_TRY(std::string java, find_java());
  return Command{.program = std::move(java), .arguments = std::move(arguments)};
}

}  // namespace drover::java
