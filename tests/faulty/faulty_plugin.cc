// A reference plugin as a program, with the fault that a check must notice or, for any other word, without:
// `faulty_plugin [KIND] [CHECK [N]]`, N for another than the first fault of that check. The kind is `driver` where it
// is not said.
#include <unistd.h>

#include "instance.h"
#include "sdk/serve/program.h"

int main(int argc, char** argv) {
  using namespace drover;
  using namespace drover::faulty;
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string kind = "driver";
  if (!words.empty() && kind_of_word(words[0])) {
    kind = words[0];
    words.erase(words.begin());
  }
  const Fault* const fault =
      words.empty() ? nullptr : fault_of(kind, words[0], words.size() > 1 ? std::stoul(words[1]) : 0);
  if (fault) apply_at("start", *fault);
  static std::unique_ptr<FaultyInstance> instance;  // until the process ends
  const auto make = [&](const std::string& told) {
    instance = std::make_unique<FaultyInstance>(kind, fault, std::make_shared<World>(), kind == "driver" ? "" : told,
                                                serve::request_end);
    if (fault) apply_at("serving", *fault);
    return instance->methods();
  };
  const std::string version = "1.0.0";
  return serve::serve(
      {.kind = "reference", .name = own_name(kind), .version = version, .make = make, .stop = [] { instance->stop(); }},
      {argv, 1}, STDOUT_FILENO);
}
