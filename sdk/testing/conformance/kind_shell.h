// The shell's commands for check providers, service providers and auth methods.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "trial.h"

#include "drover/v1/auth_method.pb.h"

namespace drover::conformance {

inline constexpr const char* kKindHelp =
    "of a check provider\n"
    "    describe                   the types of checks\n"
    "    check TYPE [FILE [ADDRESS [PORT]]]\n"
    "                               runs one whose options are the file's content\n"
    "of a service provider\n"
    "    describe                   how often a sync is repeated\n"
    "    sync NODE [SERVICE=ADDRESS:PORT…]\n"
    "                               these are the node's instances, and nothing else is\n"
    "of an auth method\n"
    "    describe                   type and flows\n"
    "    check-config FILE          the errors of a Config, which is the file's content\n"
    "    login FILE TOKEN           who that is\n"
    "    start-login FILE [REDIRECT_URI], complete-login FILE CODE\n"
    "                               where a browser goes to; who comes back from there\n";

class KindShell {
 public:
  using Print = std::function<Status(const google::protobuf::Message&)>;
  KindShell(Trial& trial, Print print) : trial_(trial), print_(std::move(print)) {}

  // Nothing: there is no such command.
  std::optional<Status> obey(const std::vector<std::string>& words);

 private:
  using Words = std::vector<std::string>;
  Status describe();
  Status check(const Words& words);
  Status sync(const Words& words);
  Status log_in(const Words& words);
  template <typename Answer, typename Request>
  Status ask(const char* method, const Request& request) {
    DROVER_TRY(const Answer answer, trial_.call<Answer>(method, request));
    return print_(answer);
  }

  Trial& trial_;
  const Print print_;
  std::optional<v1::CompleteAuthLoginRequest> started_;  // the last start-login
};

}  // namespace drover::conformance
