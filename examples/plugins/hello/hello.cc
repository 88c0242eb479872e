// The driver "hello": tasks that greet somebody and then last until they are stopped. The smallest driver whose tasks
// are processes; the SDK does all but say what runs.
#include "drover/hclspec.h"
#include "drover/process_driver.h"
#include "drover/serve.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace {

class Hello final : public drover::ProcessDriver {
 public:
  Hello() : ProcessDriver("hello") {}

  drover::hclspec::Spec task_config_schema() const override {
    return drover::hclspec::object_of({{"name", "string", true}, {"greeting", "string", false, "\"hello\""}});
  }

  drover::Result<Command> command(const drover::driver::TaskConfig&, drover::TaskOptions& options) override {
    const std::string name = options.text("name"), greeting = options.text("greeting", "hello");
    if (name.empty()) return drover::invalid_argument("name must not be empty");
    // A job's values arrive as arguments and never in the script's text.
    return Command{.program = "/bin/sh", .arguments = {"-c", "echo \"$0, $1\"; exec sleep infinity", greeting, name}};
  }
};

}  // namespace

DROVER_TASK_DRIVER(Hello, "hello", "hello", "1.0.0");
