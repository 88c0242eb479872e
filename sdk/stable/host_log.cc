#include "host_log.h"

#include "drover/abi_bytes.h"
#include "drover/messages.h"

#include "drover/v1/plugin_host.pb.h"

namespace drover::stable {
namespace {

constexpr std::string_view kLogMethod = "/drover.v1.PluginHost/Log";

v1::PluginLogLine::Level level_of(log::Level level) {
  switch (level) {
    case log::Level::trace:
      return v1::PluginLogLine::TRACE;
    case log::Level::debug:
      return v1::PluginLogLine::DEBUG;
    case log::Level::info:
      return v1::PluginLogLine::INFO;
    case log::Level::warn:
      return v1::PluginLogLine::WARN;
    case log::Level::error:
      return v1::PluginLogLine::ERROR;
  }
  return v1::PluginLogLine::LEVEL_UNSPECIFIED;
}

// Nobody waits for the answer, which is empty.
constexpr drover_stream kNobody = {.self = nullptr,
                                   .push = [](void*, drover_bytes) { return 1; },
                                   .end = [](void*) {},
                                   .close = [](void*, int32_t, drover_bytes) {}};

}  // namespace

HostLog::HostLog(const drover_endpoint& host) : host_(host) {
  log::set_sink(this);
  log::set_level(log::Level::debug);  // the host drops what it does not want
}

HostLog::~HostLog() {
  log::Sink* const current = log::set_sink(nullptr);
  if (current != this) log::set_sink(current);  // the plugin has been opened once more
}

void HostLog::write(log::Level level, std::string_view component, std::string_view sentence,
                    std::span<const log::Field> fields) {
  v1::PluginLogLine line;
  line.set_level(level_of(level));
  line.set_message(std::string(sentence));
  if (!component.empty()) (*line.mutable_fields())["module"] = component;
  for (const log::Field& field : fields) (*line.mutable_fields())[std::string(field.name)] = field.value;
  const std::string bytes = serialize(line);
  const drover_request request{.size = sizeof(request), .method = bytes_of(kLogMethod), .deadline_ns = 0};
  const drover_stream requests = host_.open(host_.self, &request, kNobody);
  (void)requests.push(requests.self, bytes_of(bytes));
  requests.end(requests.self);
  requests.close(requests.self, 0, {});
}

}  // namespace drover::stable
