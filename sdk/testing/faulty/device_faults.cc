// A device plugin without fault, in memory, and its faults: for every check of devices at least one.
#include "../../serve/kind_methods.h"
#include "device_reference.h"
#include "fault_parts.h"
#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/structs.pb.h"

namespace drover::faulty {
namespace {

namespace proto = hashicorp::nomad::plugins::device;
using Print = proto::FingerprintResponse;
using Group = proto::DeviceGroup;
using Reserved = proto::ReserveResponse;
using Sampled = proto::StatsResponse;

std::string of(const std::string& name) { return "/hashicorp.nomad.plugins.device.DevicePlugin/" + name; }

void prints(Methods& m, std::function<void(Print&)> change) { answer<Print>(m, of("Fingerprint"), std::move(change)); }
void first_group(Methods& m, std::function<void(Group&)> change) {
  prints(m, [change](Print& print) { change(*print.mutable_device_group(0)); });
}
void reservations(Methods& m, std::function<void(proto::ContainerReservation&)> change) {
  answer<Reserved>(m, of("Reserve"), [change](auto& a) {
    if (a.container_res().devices_size() > 0) change(*a.mutable_container_res());
  });
}
void samples(Methods& m, std::function<void(proto::DeviceStats&)> change) {
  answer<Sampled>(m, of("Stats"), [change](auto& a) {
    for (auto& group : *a.mutable_groups()) {
      for (auto& [id, one] : *group.mutable_instance_stats()) change(one);
    }
  });
}
void alone(Methods& m, const WorldPtr& w, const std::string& name) {
  wrap(m, name, [w, name](const Handler& inner, Call& call) {
    {
      const std::lock_guard lock(w->mutex);
      if (w->in_flight.count(name) > 1) return Status(Code::unknown, "one is enough");
    }
    return inner(call);
  });
}
void at_most(Methods& m, const WorldPtr& w, const std::string& name, int most) {
  wrap(m, name, [w, name, most](const Handler& inner, Call& call) {
    return count(w, name) > most ? Status(Code::unknown, "no more") : inner(call);
  });
}
void refused_later(Methods& m, const WorldPtr& w, const std::string& crashed, const std::string& name) {
  wrap(m, name, [w, crashed](const Handler& inner, Call& call) {
    {
      const std::lock_guard lock(w->mutex);
      if (w->instances > 1 && w->crashed_in.contains(crashed)) return Status(Code::unknown, "the journal is damaged");
    }
    return inner(call);
  });
}
// Grants what there is not, where the request is like this.
void grant(Methods& m, std::function<bool(const proto::ReserveRequest&)> is_meant) {
  wrap(m, of("Reserve"), [is_meant](const Handler& inner, Call& call) {
    proto::ReserveRequest request;
    (void)request.ParseFromString(call.request());
    if (!is_meant(request)) return inner(call);
    (void)call.send(serialize(Reserved()));
    return ok_status();
  });
}

const Fault kFaults[] = {
    {"information.device-type",
     [](Methods& m, const WorldPtr&) {
       answer<base::PluginInfoResponse>(m, "base/PluginInfo", [](auto& a) { a.set_type(base::DRIVER); });
     }},

    {"fingerprint.at-once", [](Methods& m, const WorldPtr&) { delay(m, of("Fingerprint"), 3200ms); }},
    {"fingerprint.open",
     [](Methods& m, const WorldPtr&) {
       wrap(m, of("Fingerprint"), [](const Handler&, Call& call) {
         (void)call.send(serialize(*ReferenceDevice().fingerprint()));
         return ok_status();
       });
     }},
    {"fingerprint.two", [](Methods& m, const WorldPtr& w) { alone(m, w, of("Fingerprint")); }},
    {"fingerprint.cancelled", [](Methods& m, const WorldPtr& w) { at_most(m, w, of("Fingerprint"), 3); }},
    {"fingerprint.names", [](Methods& m, const WorldPtr&) { first_group(m, [](auto& g) { g.clear_device_name(); }); }},
    {"fingerprint.slashes", [](Methods& m, const WorldPtr&) { first_group(m, [](auto& g) { g.set_vendor("a/b"); }); }},
    {"fingerprint.groups-differ",
     [](Methods& m, const WorldPtr&) {
       prints(m, [](auto& p) { p.mutable_device_group(1)->set_device_name(p.device_group(0).device_name()); });
     }},
    {"fingerprint.instances",
     [](Methods& m, const WorldPtr&) { prints(m, [](auto& p) { p.mutable_device_group(1)->clear_devices(); }); }},
    {"fingerprint.ids",
     [](Methods& m, const WorldPtr&) {
       prints(m, [](auto& p) { p.mutable_device_group(1)->mutable_devices(0)->clear_id(); });
     }},
    {"fingerprint.ids-differ",
     [](Methods& m, const WorldPtr&) {
       prints(m, [](auto& p) {
         p.mutable_device_group(1)->mutable_devices(0)->set_id(p.device_group(0).devices(0).id());
       });
     }},
    {"fingerprint.health-described",
     [](Methods& m, const WorldPtr&) {
       prints(m, [](auto& p) { p.mutable_device_group(1)->mutable_devices(0)->set_healthy(false); });
     }},
    {"fingerprint.values",
     [](Methods& m, const WorldPtr&) { first_group(m, [](auto& g) { (void)(*g.mutable_attributes())["empty"]; }); }},
    {"fingerprint.units",
     [](Methods& m, const WorldPtr&) {
       first_group(m, [](auto& g) {
         (*g.mutable_attributes())["colour"].set_string_val("red");
         (*g.mutable_attributes())["colour"].set_unit("MiB");
       });
     }},
    {"fingerprint.same-again",
     [](Methods& m, const WorldPtr& w) {
       prints(m, [w](auto& p) {
         p.mutable_device_group(1)->mutable_devices(0)->set_id("id " + std::to_string(count(w, "ids")));
       });
     }},
    {"fingerprint.after-crash",
     [](Methods& m, const WorldPtr& w) {
       prints(m, [w](auto& p) {
         p.mutable_device_group(1)->mutable_devices(0)->set_id("id " + std::to_string(instance(w)));
       });
     }},

    {"reserve.healthy",
     [](Methods& m, const WorldPtr&) {
       wrap(m, of("Reserve"), [](const Handler& inner, Call& call) {
         return call.request().find("/dev/zero") != std::string::npos && call.request().size() < 15
                    ? Status(Code::unknown, "not that one")
                    : inner(call);
       });
     }},
    {"reserve.together",
     [](Methods& m, const WorldPtr&) {
       wrap(m, of("Reserve"), [](const Handler& inner, Call& call) {
         proto::ReserveRequest r;
         (void)r.ParseFromString(call.request());
         return r.device_ids_size() == 2 && r.device_ids(1) == "/dev/zero" ? Status(Code::unknown, "one at a time")
                                                                           : inner(call);
       });
     }},
    {"reserve.complete",
     [](Methods& m, const WorldPtr&) { answer<Reserved>(m, of("Reserve"), [](auto& a) { a.clear_container_res(); }); }},
    {"reserve.again",
     [](Methods& m, const WorldPtr& w) {
       reservations(m, [w](auto& r) { (*r.mutable_envs())["TIMES"] = std::to_string(count(w, "times")); });
     }},
    {"reserve.after-crash",
     [](Methods& m, const WorldPtr& w) {
       reservations(m, [w](auto& r) { (*r.mutable_envs())["TIMES"] = std::to_string(instance(w)); });
     }},
    {"reserve.unasked",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, of("Fingerprint"), [w](const Handler& inner, Call& call) {
         (void)count(w, "asked " + std::to_string(instance(w)));
         return inner(call);
       });
       wrap(m, of("Reserve"), [w](const Handler& inner, Call& call) {
         {
           const std::lock_guard lock(w->mutex);
           if (!w->counts.contains("asked " + std::to_string(w->instances)))
             return Status(Code::unknown, "nobody has looked yet");
         }
         return inner(call);
       });
     }},
    {"reserve.unknown",
     [](Methods& m, const WorldPtr&) {
       grant(m, [](auto& r) { return r.device_ids_size() == 1 && r.device_ids(0) == "no such instance"; });
     }},
    {"reserve.unknown-named",
     [](Methods& m, const WorldPtr&) {
       wrap(m, of("Reserve"), [](const Handler& inner, Call& call) {
         const Status status = inner(call);
         return status.ok() ? status : Status(Code::unknown, "no");
       });
     }},
    {"reserve.mixed",
     [](Methods& m, const WorldPtr&) {
       grant(m, [](auto& r) { return r.device_ids_size() == 2 && r.device_ids(1) == "no such instance"; });
     }},
    {"reserve.none",
     [](Methods& m, const WorldPtr&) {
       wrap(m, of("Reserve"), [](const Handler& inner, Call& call) {
         if (call.request().empty()) serve::wait_end(call);
         return inner(call);
       });
     }},
    {"reserve.environment",
     [](Methods& m, const WorldPtr&) { reservations(m, [](auto& r) { (*r.mutable_envs())["A B"] = "c"; }); }},
    {"reserve.device-paths",
     [](Methods& m, const WorldPtr&) {
       reservations(m, [](auto& r) { r.mutable_devices(0)->set_task_path("null"); });
     }},
    {"reserve.device-files",
     [](Methods& m, const WorldPtr&) {
       reservations(m, [](auto& r) { r.mutable_devices(0)->set_host_path("/dev/no-such-file"); });
     }},
    {"reserve.permissions",
     [](Methods& m, const WorldPtr&) {
       reservations(m, [](auto& r) { r.mutable_devices(0)->set_permissions("rx"); });
     }},
    {"reserve.mount-paths",
     [](Methods& m, const WorldPtr&) { reservations(m, [](auto& r) { r.mutable_mounts(0)->set_host_path("dev"); }); }},
    {"reserve.at-once",
     [](Methods& m, const WorldPtr& w) {
       delay(m, of("Reserve"), 5ms);
       alone(m, w, of("Reserve"));
     }},

    {"stats.first", [](Methods& m, const WorldPtr&) { delay(m, of("Stats"), 5200ms); }},
    {"stats.follows",
     [](Methods& m, const WorldPtr&) {
       wrap(m, of("Stats"), [](const Handler& inner, Call& call) {
         bool is_first = true;
         Altered altered(call, call.request(), [&](std::string&) { return std::exchange(is_first, false); });
         return inner(altered);
       });
     }},
    {"stats.known",
     [](Methods& m, const WorldPtr&) {
       answer<Sampled>(m, of("Stats"), [](auto& a) {
         (*a.mutable_groups(0)->mutable_instance_stats())["another"] =
             (*a.mutable_groups(0)->mutable_instance_stats())["/dev/null"];
       });
     }},
    {"stats.timestamp", [](Methods& m, const WorldPtr&) { samples(m, [](auto& s) { s.clear_timestamp(); }); }},
    {"stats.summary", [](Methods& m, const WorldPtr&) { samples(m, [](auto& s) { s.clear_summary(); }); }},
    {"stats.two", [](Methods& m, const WorldPtr& w) { alone(m, w, of("Stats")); }},
    {"stats.cancelled", [](Methods& m, const WorldPtr& w) { at_most(m, w, of("Stats"), 3); }},

    {"crash.idle",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "base/SetConfig", [w](const Handler& inner, Call& call) {
         return instance(w) > 1 ? Status(Code::unknown, "another one runs") : inner(call);
       });
     }},
    {"crash.fingerprint",
     [](Methods& m, const WorldPtr& w) { refused_later(m, w, of("Fingerprint"), of("Fingerprint")); }},
    {"crash.reserve",
     [](Methods& m, const WorldPtr& w) {
       delay(m, of("Reserve"), 150ms);
       refused_later(m, w, of("Reserve"), of("Reserve"));
     }},
    {"crash.stats", [](Methods& m, const WorldPtr& w) { refused_later(m, w, of("Stats"), of("Stats")); }},

    {"limits.garbage-reserve",
     [](Methods& m, const WorldPtr&) {
       wrap(m, of("Reserve"), [](const Handler& inner, Call& call) {
         if (!call.request().starts_with("\xff\xff\xff")) return inner(call);
         (void)call.send("");
         return ok_status();
       });
     }},
    {"limits.long-id",
     [](Methods& m, const WorldPtr&) {
       grant(m, [](auto& r) { return r.device_ids_size() == 1 && r.device_ids(0).size() > 1 << 16; });
     }},
    {"limits.many-ids",
     [](Methods& m, const WorldPtr&) { grant(m, [](auto& r) { return r.device_ids_size() > 1000; }); }},
    {"limits.abandoned-streams",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, of("Stats"), [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         (void)count(w, "left");
         return status;
       });
       wrap(m, "base/PluginInfo", [w](const Handler& inner, Call& call) {
         (void)serve::wait(call, 10ms);
         {
           const std::lock_guard lock(w->mutex);
           if (w->counts["left"] > 50) return Status(Code::unknown, "no thread is left");
         }
         return inner(call);
       });
     }},
};

}  // namespace

std::span<const Fault> device_faults() { return kFaults; }

// ---- the reference

namespace {

const std::pair<const char*, std::vector<std::string>> kGroups[] = {{"nothing", {"/dev/null", "/dev/zero"}},
                                                                    {"noise", {"/dev/urandom"}}};

}  // namespace

Result<Print> ReferenceDevice::fingerprint() {
  Print out;
  for (const auto& [name, files] : kGroups) {
    auto& group = *out.add_device_group();
    group.set_vendor("reference");
    group.set_device_type("file");
    group.set_device_name(name);
    auto& speed = (*group.mutable_attributes())["speed"];
    speed.set_int_val(1);
    speed.set_unit("GB/s");
    for (const std::string& file : files) {
      group.add_devices()->set_id(file);
      group.mutable_devices(group.devices_size() - 1)->set_healthy(true);
    }
  }
  return out;
}

Result<proto::ContainerReservation> ReferenceDevice::reserve(std::span<const std::string> ids) {
  proto::ContainerReservation out;
  for (const std::string& id : ids) {
    if (id != "/dev/null" && id != "/dev/zero" && id != "/dev/urandom")
      return not_found("there is no device " + id.substr(0, 100));
    auto& one = *out.add_devices();
    one.set_host_path(id);
    one.set_task_path(id);
    one.set_permissions("rw");
  }
  (*out.mutable_envs())["REFERENCE"] = "1";
  auto& mount = *out.add_mounts();
  mount.set_host_path("/dev");
  mount.set_task_path("/dev-of-host");
  return out;
}

Result<Sampled> ReferenceDevice::stats() {
  Sampled out;
  for (const auto& [name, files] : kGroups) {
    auto& group = *out.add_groups();
    group.set_vendor("reference");
    group.set_type("file");
    group.set_name(name);
    for (const std::string& file : files) {
      auto& one = (*group.mutable_instance_stats())[file];
      one.mutable_summary()->mutable_bool_val()->set_value(true);
      one.mutable_timestamp()->set_seconds(SystemClock().wall_ns() / 1'000'000'000);
    }
  }
  return out;
}

}  // namespace drover::faulty
