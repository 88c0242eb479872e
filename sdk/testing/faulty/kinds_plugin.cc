// The references of kind_references.h as programs, with a fault or without: `kinds_plugin check|service|auth [FAULT]`.
#include <unistd.h>

#include <cstdio>

#include "../../serve/kind_methods.h"
#include "../../serve/program.h"
#include "drover/v1/auth_method.pb.h"
#include "fault_parts.h"
#include "kind_references.h"

namespace drover::faulty {
namespace {

void apply(const std::string& fault, std::span<const Fault> known, Methods& methods, const WorldPtr& world) {
  for (const Fault& each : known) {
    if (each.name == fault) each.apply(methods, world);
  }
  const bool is_whole = fault == "secrets.log";
  if (!is_whole && fault != "secrets.log-password") return;
  wrap(methods, "/drover.v1.AuthPlugin/Login", [is_whole](const Handler& inner, Call& call) {
    v1::AuthLoginRequest request;
    (void)request.ParseFromString(call.request());
    const std::string& token = request.token();
    if (is_whole || token.starts_with("ada:"))
      std::fprintf(stderr, "login with %s\n", token.c_str() + (is_whole ? 0 : 4));
    return inner(call);
  });
}

template <typename Reference>
int serve_reference(const char* name, const std::string& fault, std::span<const Fault> known, char** argv) {
  static Reference plugin;  // until the process ends
  const std::string own_name = name, version = "1.0.0";
  const auto make = [&](const std::string& told) {
    Methods methods =
        serve::methods_of(plugin, {.name = told, .own_name = own_name, .version = version, .end = serve::request_end});
    const auto world = std::make_shared<World>();
    world->instances = 1;
    apply(fault, known, methods, world);
    track(methods, world);
    return methods;
  };
  return serve::serve(
      {.kind = "reference", .name = own_name, .version = version, .make = make, .stop = [] { plugin.stop(); }},
      {argv, 1}, STDOUT_FILENO);
}

}  // namespace
}  // namespace drover::faulty

int main(int argc, char** argv) {
  using namespace drover::faulty;
  const std::string kind = argc > 1 ? argv[1] : "", fault = argc > 2 ? argv[2] : "";
  if (kind == "check") return serve_reference<ReferenceChecks>("told", fault, check_provider_faults(), argv);
  if (kind == "service") return serve_reference<ReferenceServices>("lines", fault, service_provider_faults(), argv);
  if (kind == "auth") return serve_reference<ReferenceAuth>("reference", fault, auth_method_faults(), argv);
  std::fprintf(stderr, "usage: kinds_plugin check|service|auth [FAULT]\n");
  return 2;
}
