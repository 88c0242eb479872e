// The parts of faults: changes of one method's answer, request, status or time.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "../../serve/base_service.h"
#include "faults.h"

namespace drover::faulty {

using serve::Call;
using serve::Handler;
using serve::Methods;
using WorldPtr = std::shared_ptr<World>;
using namespace std::chrono_literals;
namespace base = hashicorp::nomad::plugins::base::proto;

// "StartTask" of the driver, "base/PluginInfo" of every plugin, or the whole name.
inline std::string method(const std::string& name) {
  if (name.starts_with('/')) return name;
  if (name.starts_with("base/")) return "/hashicorp.nomad.plugins.base.proto.BasePlugin/" + name.substr(5);
  return "/hashicorp.nomad.plugins.drivers.proto.Driver/" + name;
}

// A call with its request or its answers changed on the way.
class Altered final : public Call {
 public:
  Altered(Call& inner, std::string request, std::function<bool(std::string&)> send)
      : inner_(inner), request_(std::move(request)), send_(std::move(send)) {}
  const std::string& request() const override { return request_; }
  std::optional<std::string> receive(std::stop_token stop) override { return inner_.receive(std::move(stop)); }
  // An answer for which the function says no is swallowed.
  bool send(std::string message) override {
    if (send_ && !send_(message)) return true;
    return inner_.send(std::move(message));
  }
  std::stop_token stop() const override { return inner_.stop(); }

 private:
  Call& inner_;
  const std::string request_;
  const std::function<bool(std::string&)> send_;
};

// `around` gets the method as it was.
inline void wrap(Methods& m, const std::string& name, std::function<Status(const Handler&, Call&)> around) {
  Handler& handler = m[method(name)];
  handler = [inner = handler, around = std::move(around)](Call& call) { return around(inner, call); };
}

template <typename Answer>
void answer(Methods& m, const std::string& name, std::function<void(Answer&)> change) {
  wrap(m, name, [change](const Handler& inner, Call& call) {
    Altered altered(call, call.request(), [&](std::string& bytes) {
      Answer parsed;
      (void)parsed.ParseFromString(bytes);
      change(parsed);
      bytes = serialize(parsed);
      return true;
    });
    return inner(altered);
  });
}

template <typename Request>
void request(Methods& m, const std::string& name, std::function<void(Request&)> change) {
  wrap(m, name, [change](const Handler& inner, Call& call) {
    Request parsed;
    (void)parsed.ParseFromString(call.request());
    change(parsed);
    Altered altered(call, serialize(parsed), {});
    return inner(altered);
  });
}

// Says yes where the driver says no, with an empty answer. `only`: where the error's text has this in it.
inline void accept(Methods& m, const std::string& name, const std::string& only = "") {
  wrap(m, name, [only](const Handler& inner, Call& call) {
    const Status status = inner(call);
    if (!status.ok() && status.code() != Code::cancelled && status.message().find(only) != std::string::npos) {
      (void)call.send("");
      return ok_status();
    }
    return status;
  });
}

// Says another thing where the driver says that the task is unknown.
inline void misname_unknown(Methods& m, const std::string& name) {
  wrap(m, name, [](const Handler& inner, Call& call) {
    const Status status = inner(call);
    return status.message().find("not found") != std::string::npos ? Status(Code::unknown, "who is that?") : status;
  });
}

inline void refuse(Methods& m, const std::string& name, const std::string& why = "no") {
  m[method(name)] = [why](Call&) { return Status(Code::unknown, why); };
}
inline void do_nothing(Methods& m, const std::string& name) {
  m[method(name)] = [](Call& call) {
    (void)call.send("");
    return ok_status();
  };
}
inline void delay(Methods& m, const std::string& name, std::chrono::nanoseconds time) {
  wrap(m, name, [time](const Handler& inner, Call& call) {
    (void)serve::wait(call, time);
    return inner(call);
  });
}

// How often this was asked, this time included.
inline int count(const WorldPtr& world, const std::string& what) {
  const std::lock_guard lock(world->mutex);
  return ++world->counts[what];
}
// True when count() has met it.
inline bool has_mark(const WorldPtr& world, const std::string& what) {
  const std::lock_guard lock(world->mutex);
  return world->counts.contains(what);
}
inline bool has_ended(const WorldPtr& world, const std::string& id) {
  const std::lock_guard lock(world->mutex);
  const auto found = world->tasks.find(id);
  return found != world->tasks.end() && found->second->result.has_value();
}
inline int instance(const WorldPtr& world) {
  const std::lock_guard lock(world->mutex);
  return world->instances;
}
inline std::shared_ptr<WorldTask> task_of(const WorldPtr& world, const std::string& id) {
  const std::lock_guard lock(world->mutex);
  const auto found = world->tasks.find(id);
  return found == world->tasks.end() ? nullptr : found->second;
}
// Ends a task from outside, as a careless driver does.
inline void end_task(const WorldPtr& world, const std::string& id) {
  const std::lock_guard lock(world->mutex);
  const auto found = world->tasks.find(id);
  if (found == world->tasks.end() || found->second->result) return;
  found->second->result.emplace().set_signal(9);
  found->second->writer.request_stop();
  world->changed.notify_all();
}
inline void end_all(const WorldPtr& world) {
  std::vector<std::string> ids;
  {
    const std::lock_guard lock(world->mutex);
    for (const auto& [id, task] : world->tasks) ids.push_back(id);
  }
  for (const std::string& id : ids) end_task(world, id);
}

// The identifier of a request that names its task in field 1.
inline std::string id_of(const Call& call) {
  driver::InspectTaskRequest request;
  (void)request.ParseFromString(call.request());
  return request.task_id();
}

}  // namespace drover::faulty
