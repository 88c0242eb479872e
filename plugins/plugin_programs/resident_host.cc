#include "resident_host.h"

#include <memory>
#include <string_view>
#include <vector>

#include "drover/abi_bytes.h"
#include "drover/log.h"
#include "drover/messages.h"
#include "drover/methods.h"

#include "drover/v1/plugin_host.pb.h"

namespace drover::plugin_programs {
namespace {

log::Level level_of(v1::PluginLogLine::Level level) {
  switch (level) {
    case v1::PluginLogLine::TRACE:
      return log::Level::trace;
    case v1::PluginLogLine::DEBUG:
      return log::Level::debug;
    case v1::PluginLogLine::WARN:
      return log::Level::warn;
    case v1::PluginLogLine::ERROR:
      return log::Level::error;
    default:
      return log::Level::info;
  }
}

// A call of the plugin to the agent. Every method is answered within its one request.
class HostCall {
 public:
  static drover_stream open(void* host, const drover_request* request, drover_stream replies) {
    auto* const call = new HostCall(*static_cast<const ResidentHost*>(host), *request, replies);
    return {.self = call, .push = &push, .end = [](void*) {}, .close = &close};
  }

 private:
  HostCall(const ResidentHost& host, const drover_request& request, drover_stream replies)
      : host_(host), method_(view_of(request.method)), replies_(replies) {
    if (request.deadline_ns != 0) deadline_ = SteadyTime(std::chrono::nanoseconds(request.deadline_ns));
  }

  static int32_t push(void* self, drover_bytes message) {
    auto& call = *static_cast<HostCall*>(self);
    if (call.is_over_) return 0;
    const auto answer = call.answer(view_of(message));
    if (answer) (void)call.replies_.push(call.replies_.self, bytes_of(*answer));
    call.finish(answer.status());
    return 1;
  }
  static void close(void* self, int32_t, drover_bytes) {
    const std::unique_ptr<HostCall> call(static_cast<HostCall*>(self));
    if (!call->is_over_) call->finish(cancelled("the caller has gone"));
  }

  Result<std::string> answer(std::string_view request) {
    if (method_ == "/" + std::string(kLogMethod)) {
      DROVER_RETURN_IF_ERROR(host_.grants->admit(method_));
      return write_line(request);
    }
    if (!host_.caller) return unimplemented("no such method: " + method_);
    CallContext context;
    context.method = method_;
    context.deadline = deadline_;
    context.gate = host_.grants;  // the router asks it
    DROVER_TRY(Reply reply, host_.caller->call_and_wait(std::move(context), std::string(request)));
    return std::move(reply.body);
  }

  Result<std::string> write_line(std::string_view request) const {
    DROVER_TRY(const auto line, parse_message<v1::PluginLogLine>(request));
    std::vector<log::Field> fields{{"plugin", host_.plugin}};
    for (const auto& [name, value] : line.fields()) fields.emplace_back(name, value);
    log::write(level_of(line.level()), "plugin", line.message(), fields);
    return std::string();
  }

  void finish(const Status& status) {
    is_over_ = true;
    replies_.close(replies_.self, static_cast<int32_t>(status.code()), bytes_of(status.message()));
  }

  const ResidentHost& host_;
  const std::string method_;
  const drover_stream replies_;
  SteadyTime deadline_ = SteadyTime::max();
  bool is_over_ = false;
};

}  // namespace

drover_endpoint endpoint_of(const ResidentHost& host) {
  return {.size = sizeof(drover_endpoint),
          .self = const_cast<ResidentHost*>(&host),
          .open = &HostCall::open,
          .release = [](void*) {}};
}

}  // namespace drover::plugin_programs
