// The services of every plugin that is a program of its own, of any kind: the base service, and those of the process
// (health, standard output, the orderly end). Also the parts of its other services.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "drover/configurable.h"
#include "drover/messages.h"
#include "drover/methods.h"
#include "drover/plugin_kind.h"
#include "drover/result.h"
#include "kind_methods.h"
#include "server.h"

#include "nomad/plugins/base.pb.h"
#include "nomad/plugins/hclspec.pb.h"

namespace google::protobuf {
class Duration;
}

namespace drover::serve {

inline constexpr const char* kApiVersion = "v0.1.0";  // of the protocol of every kind

// Adds them, over one object, which outlives the methods. `on_the_wire` gives an error of the plugin the form that
// hosts know.
using ErrorForm = Status (*)(const Status& status);
void add_base_methods(Methods& methods, const PluginKind& kind, Configurable& plugin, const About& about,
                      ErrorForm on_the_wire);

// The code as it is, but for two: hosts take `unavailable` for the end of the program, and `unimplemented` for a method
// that it lacks.
Status with_code(const Status& status);
// For a method that a plugin may lack.
Status with_code_or_lacking(const Status& status);

// One request, one answer.
template <typename Request, typename Answer>
Handler unary(ErrorForm on_the_wire, std::function<Result<Answer>(const Request&, Call&)> handle) {
  return [on_the_wire, handle = std::move(handle)](Call& call) -> Status {
    auto request = parse_message<Request>(call.request());
    if (!request) return request.status();
    const Result<Answer> answer = handle(*request, call);
    if (!answer) return on_the_wire(answer.status());
    (void)call.send(serialize(*answer));
    return ok_status();
  };
}

// Those of the process alone: health, standard output, the orderly end.
void add_process_methods(Methods& methods, const std::function<void()>& end);

// True when the call ended before.
bool wait(const Call& call, std::chrono::nanoseconds time);
void wait_end(const Call& call);

// Between nothing and a hundred years.
std::chrono::nanoseconds duration_of(const google::protobuf::Duration& duration);

// Between two samples that a host asked for: nothing means a second, and less than 100 ms is 100 ms.
std::chrono::nanoseconds sampling_interval(const google::protobuf::Duration& wanted);

}  // namespace drover::serve
