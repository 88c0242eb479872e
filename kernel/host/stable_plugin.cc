#include "kernel/host/stable_plugin.h"

#include <vector>

#include "drover/log.h"
#include "drover/messages.h"
#include "drover/stable_endpoint.h"

#include "drover/v1/plugin_host.pb.h"

namespace drover::host {
namespace {

std::string_view view_of(drover_bytes bytes) { return {static_cast<const char*>(bytes.data), bytes.size}; }
drover_bytes bytes_of(std::string_view text) { return {text.data(), text.size()}; }

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

class StablePlugin final : public Plugin {
 public:
  StablePlugin(const std::string& name, const std::string& kind) : name_(name) { offer_.kind = kind; }

  Status open(StableEntry* entry) {
    if (const int32_t code = entry(&host_, &offer_.endpoint); code != 0) {
      return failed_precondition("its entry refuses to serve here: " + std::string(to_string(static_cast<Code>(code))));
    }
    const drover_endpoint& endpoint = offer_.endpoint;
    if (endpoint.size < sizeof(drover_endpoint) || endpoint.open == nullptr || endpoint.release == nullptr)
      return failed_precondition("its entry returned an endpoint without functions");
    return ok_status();
  }

  Status declare(Declarations& declare) override { return declare.extend<StableEndpoint>(name_, offer_); }
  Status start(Host&) override { return ok_status(); }
  void stop(SteadyTime) override {
    if (!std::exchange(offer_.is_taken, true)) offer_.endpoint.release(offer_.endpoint.self);
  }

 private:
  std::string name_;
  const drover_endpoint host_{
      .size = sizeof(drover_endpoint), .self = &name_, .open = &HostCall::open, .release = [](void*) {}};
  StableEndpoint offer_;
};

}  // namespace

Result<std::unique_ptr<Plugin>> open_stable(const std::string& name, const std::string& kind, StableEntry* entry) {
  auto plugin = std::make_unique<StablePlugin>(name, kind);
  DROVER_RETURN_IF_ERROR(plugin->open(entry));
  return std::unique_ptr<Plugin>(std::move(plugin));
}

}  // namespace drover::host
