// The driver "hello": tasks that greet somebody again and again. The smallest driver whose tasks are processes; the
// SDK does all but say what runs.
#include <chrono>

#include "drover/hclspec.h"
#include "drover/process_driver.h"
#include "drover/serve.h"
#include "nomad/plugins/driver.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace {

using namespace std::chrono_literals;

class Hello final : public drover::ProcessDriver {
 public:
  Hello() : ProcessDriver("hello") {}

  drover::hclspec::Spec task_config_schema() const override {
    return drover::hclspec::object_of({{"name", "string", true}, {"every", "string", false, "\"10s\""}});
  }

  drover::Result<Command> command(const drover::driver::TaskConfig&, drover::TaskOptions& options) override {
    const std::string name = options.text("name");
    const auto every = options.duration("every", 10s);
    if (every < 1s) return drover::invalid_argument("every must be at least 1s");
    // What a job says arrives as an argument and never in the script's text.
    const std::string script = "while echo \"hello, $0\"; do sleep \"$1\"; done";
    return Command{.program = "/bin/sh", .arguments = {"-c", script, name, std::to_string(every / 1s)}};
  }
};

}  // namespace

DROVER_TASK_DRIVER(Hello, "hello", "hello", "1.0.0");
