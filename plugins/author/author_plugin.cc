// For authors of plugins: `drover plugin new|test|run`.
#include "commands.h"
#include "drover/module.h"

namespace drover::author {
namespace {

class AuthorPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    for (Command* command : {static_cast<Command*>(&new_), static_cast<Command*>(&test_), static_cast<Command*>(&run_),
                             static_cast<Command*>(&serve_)})
      DROVER_RETURN_IF_ERROR(declare.extend<Command>(command->name(), *command));
    return ok_status();
  }
  Status start(Host&) override { return ok_status(); }
  void stop(SteadyTime) override {}

 private:
  NewCommand new_;
  TestCommand test_;
  RunCommand run_;
  ServeCommand serve_;
};

}  // namespace
}  // namespace drover::author

DROVER_MODULE(drover::author::AuthorPlugin, "module", "author", "0.1.0");
