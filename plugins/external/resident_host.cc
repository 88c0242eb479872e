#include "resident_host.h"

#include <memory>
#include <string_view>
#include <vector>

#include "drover/abi_bytes.h"
#include "drover/log.h"
#include "drover/messages.h"
#include "drover/methods.h"

#include "drover/v1/plugin_host.pb.h"

namespace drover::external {
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

// What the plugin asks of us. Every method is answered within its one request.
class HostCall {
 public:
  static drover_stream open(void* plugin, const drover_request* request, drover_stream replies) {
    auto* const call = new HostCall(*static_cast<const std::string*>(plugin), replies);
    if (view_of(request->method) != "/drover.v1.PluginHost/Log") call->finish(unimplemented("no such method"));
    return {.self = call, .push = &push, .end = [](void*) {}, .close = &close};
  }

 private:
  HostCall(const std::string& plugin, drover_stream replies) : plugin_(plugin), replies_(replies) {}

  static int32_t push(void* self, drover_bytes message) {
    auto& call = *static_cast<HostCall*>(self);
    if (call.is_over_) return 0;
    const auto line = parse_message<v1::PluginLogLine>(view_of(message));
    if (!line) {
      call.finish(line.status());
      return 1;
    }
    std::vector<log::Field> fields{{"plugin", call.plugin_}};
    for (const auto& [name, value] : line->fields()) fields.emplace_back(name, value);
    log::write(level_of(line->level()), "plugin", line->message(), fields);
    (void)call.replies_.push(call.replies_.self, {});
    call.finish(ok_status());
    return 1;
  }
  static void close(void* self, int32_t, drover_bytes) {
    const std::unique_ptr<HostCall> call(static_cast<HostCall*>(self));
    if (!call->is_over_) call->finish(cancelled("the caller has gone"));
  }

  void finish(const Status& status) {
    is_over_ = true;
    replies_.close(replies_.self, static_cast<int32_t>(status.code()), bytes_of(status.message()));
  }

  const std::string plugin_;
  const drover_stream replies_;
  bool is_over_ = false;
};

}  // namespace

drover_endpoint resident_host(const std::string& plugin) {
  return {.size = sizeof(drover_endpoint),
          .self = const_cast<std::string*>(&plugin),
          .open = &HostCall::open,
          .release = [](void*) {}};
}

}  // namespace drover::external
