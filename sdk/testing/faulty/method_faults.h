// Faults that plugins of every kind can have, by the method that has them.
#pragma once

#include "fault_parts.h"

namespace drover::faulty {

// Where the request is like this, the method says `status` instead.
template <typename Request>
void say_where(Methods& m, const std::string& name, std::function<bool(const Request&)> is_meant, Status status) {
  wrap(m, name, [is_meant, status](const Handler& inner, Call& call) {
    Request request;
    (void)request.ParseFromString(call.request());
    return is_meant(request) ? status : inner(call);
  });
}
// The same with an answer.
template <typename Request>
void answer_where(Methods& m, const std::string& name, std::function<bool(const Request&)> is_meant,
                  const google::protobuf::MessageLite& answer) {
  wrap(m, name, [is_meant, bytes = serialize(answer)](const Handler& inner, Call& call) {
    Request request;
    (void)request.ParseFromString(call.request());
    if (!is_meant(request)) return inner(call);
    (void)call.send(bytes);
    return ok_status();
  });
}
// A call for which the caller must wait until it gives up, where the request is like this.
template <typename Request>
void hang_where(Methods& m, const std::string& name, std::function<bool(const Request&)> is_meant) {
  wrap(m, name, [is_meant](const Handler& inner, Call& call) {
    Request request;
    (void)request.ParseFromString(call.request());
    if (is_meant(request)) serve::wait_end(call);
    return inner(call);
  });
}
inline Status no() { return Status(Code::unknown, "no"); }

// A call that the end of its instance broke off is what the next one stumbles over.
inline void after_crash_in(Methods& m, const WorldPtr& w, const std::string& name) {
  wrap(m, name, [w, name](const Handler& inner, Call& call) {
    {
      const std::lock_guard lock(w->mutex);
      if (w->instances > 1 && w->crashed_in.contains(name)) return Status(Code::unknown, "the journal is damaged");
    }
    if (serve::wait(call, 150ms)) {
      const std::lock_guard lock(w->mutex);
      w->crashed_in.insert(name);
    }
    return inner(call);
  });
}
inline void not_a_second_time(Methods& m, const WorldPtr& w) {
  wrap(m, "base/SetConfig", [w](const Handler& inner, Call& call) {
    return instance(w) > 1 ? Status(Code::unknown, "another one runs") : inner(call);
  });
}
inline void only_configured(Methods& m, const WorldPtr& w, const std::string& name) {
  wrap(m, "base/SetConfig", [w](const Handler& inner, Call& call) {
    (void)count(w, "configured");
    return inner(call);
  });
  wrap(m, name, [w](const Handler& inner, Call& call) {
    return has_mark(w, "configured") ? inner(call) : Status(Code::unknown, "configure me first");
  });
}
inline void not_side_by_side(Methods& m, const WorldPtr& w, const std::string& name) {
  delay(m, name, 5ms);
  wrap(m, name, [w, name](const Handler& inner, Call& call) {
    {
      const std::lock_guard lock(w->mutex);
      if (w->in_flight.count(name) > 1) return Status(Code::unknown, "one is enough");
    }
    return inner(call);
  });
}
inline void takes_garbage(Methods& m, const std::string& name) {
  wrap(m, name, [](const Handler& inner, Call& call) {
    if (!call.request().starts_with("\xff\xff\xff")) return inner(call);
    (void)call.send("");
    return ok_status();
  });
}
// Calls that were given up leave something behind, and it shows.
inline void remembers_the_abandoned(Methods& m, const WorldPtr& w, const std::string& name) {
  wrap(m, name, [w](const Handler& inner, Call& call) {
    const Status status = inner(call);
    (void)count(w, "left");
    return status;
  });
  wrap(m, "base/PluginInfo", [w](const Handler& inner, Call& call) {
    (void)serve::wait(call, 100ms);
    {
      const std::lock_guard lock(w->mutex);
      if (w->counts["left"] > 20) return Status(Code::unknown, "no thread is left");
    }
    return inner(call);
  });
}

}  // namespace drover::faulty
