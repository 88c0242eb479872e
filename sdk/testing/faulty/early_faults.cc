#include "fault_parts.h"

namespace drover::faulty {
namespace {

using Print = driver::FingerprintResponse;

void only_configured(Methods& m, const std::string& name, const WorldPtr& w) {
  wrap(m, "base/SetConfig", [w](const Handler& inner, Call& call) {
    (void)count(w, "configured");
    return inner(call);
  });
  wrap(m, name, [w](const Handler& inner, Call& call) {
    {
      const std::lock_guard lock(w->mutex);
      if (w->counts["configured"] == 0) return Status(Code::unknown, "configure me first");
    }
    return inner(call);
  });
}

const Fault kFaults[] = {
    {"handshake.health", [](Methods& m, const WorldPtr&) { do_nothing(m, "/grpc.health.v1.Health/Check"); }},
    {"handshake.health-during-call",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "/grpc.health.v1.Health/Check", [w](const Handler& inner, Call& call) {
         const std::lock_guard lock(w->mutex);
         return w->in_flight.contains(method("WaitTask")) ? Status(Code::unknown, "busy") : inner(call);
       });
     }},
    {"handshake.unknown-method", [](Methods& m, const WorldPtr&) { do_nothing(m, "NoSuchMethod"); }},
    {"handshake.stdio", [](Methods& m, const WorldPtr&) { do_nothing(m, "/plugin.GRPCStdio/StreamStdio"); }},

    {"information.unconfigured", [](Methods& m, const WorldPtr& w) { only_configured(m, "base/PluginInfo", w); }},
    {"information.type",
     [](Methods& m, const WorldPtr&) {
       answer<base::PluginInfoResponse>(m, "base/PluginInfo", [](auto& a) { a.set_type(base::DEVICE); });
     }},
    {"information.name",
     [](Methods& m, const WorldPtr&) {
       answer<base::PluginInfoResponse>(m, "base/PluginInfo", [](auto& a) { a.set_name("a name"); });
     }},
    {"information.version",
     [](Methods& m, const WorldPtr&) {
       answer<base::PluginInfoResponse>(m, "base/PluginInfo", [](auto& a) { a.set_plugin_version("the first"); });
     }},
    {"information.api",
     [](Methods& m, const WorldPtr&) {
       answer<base::PluginInfoResponse>(m, "base/PluginInfo", [](auto& a) { a.clear_plugin_api_versions(); });
     }},
    {"information.constant",
     [](Methods& m, const WorldPtr& w) {
       answer<base::PluginInfoResponse>(
           m, "base/PluginInfo", [w](auto& a) { a.set_plugin_version("1.0." + std::to_string(count(w, "info"))); });
     }},
    {"information.constant-after-crash",
     [](Methods& m, const WorldPtr& w) {
       answer<base::PluginInfoResponse>(m, "base/PluginInfo",
                                        [w](auto& a) { a.set_plugin_version("1.0." + std::to_string(instance(w))); });
     }},

    {"configuration.schema-unconfigured",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "base/ConfigSchema", [w](const Handler& inner, Call& call) {
         return count(w, "schema") == 1 ? Status(Code::unknown, "not yet") : inner(call);
       });
     }},
    {"configuration.schema-readable",
     [](Methods& m, const WorldPtr&) {
       answer<base::ConfigSchemaResponse>(m, "base/ConfigSchema",
                                          [](auto& a) { a.mutable_spec()->mutable_attr()->set_type("no type"); });
     }},
    {"configuration.schema-constant",
     [](Methods& m, const WorldPtr& w) {
       answer<base::ConfigSchemaResponse>(m, "base/ConfigSchema", [w](auto& a) {
         auto& attr = *(*a.mutable_spec()->mutable_object()->mutable_attributes())["more"].mutable_attr();
         attr.set_name("greeting" + std::to_string(count(w, "schema")));
         attr.set_type("string");
       });
       request<base::SetConfigRequest>(m, "base/SetConfig", [](auto& r) {
         if (!r.msgpack_config().starts_with('\xc1')) r.clear_msgpack_config();
       });
     }},
    {"configuration.accepted", [](Methods& m, const WorldPtr&) { refuse(m, "base/SetConfig"); }},
    {"configuration.twice",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "base/SetConfig", [w](const Handler& inner, Call& call) {
         const Status status = inner(call);
         if (!status.ok()) return status;
         return count(w, "set " + std::to_string(instance(w))) > 1 ? Status(Code::unknown, "is configured") : status;
       });
     }},
    {"configuration.garbage", [](Methods& m, const WorldPtr&) { accept(m, "base/SetConfig", "msgpack"); }},
    {"configuration.after-refusal",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "base/SetConfig", [w](const Handler& inner, Call& call) {
         if (count(w, "asked") > 1000) return Status(Code::unknown, "was spoiled");
         const Status status = inner(call);
         const std::lock_guard lock(w->mutex);
         if (!status.ok()) w->counts["asked"] += 1000;
         return status;
       });
     }},
    {"configuration.init", [](Methods& m, const WorldPtr&) { refuse(m, "Init"); }},
    {"configuration.task-schema",
     [](Methods& m, const WorldPtr&) {
       answer<driver::TaskConfigSchemaResponse>(m, "TaskConfigSchema",
                                                [](auto& a) { a.mutable_spec()->mutable_attr()->set_type("no type"); });
     }},
    {"configuration.task-schema-constant",
     [](Methods& m, const WorldPtr& w) {
       answer<driver::TaskConfigSchemaResponse>(m, "TaskConfigSchema", [w](auto& a) {
         (*a.mutable_spec()->mutable_object()->mutable_attributes())["kind"].mutable_attr()->set_required(
             count(w, "schema") % 2 == 0);
       });
     }},
    {"configuration.task-schema-after-crash",
     [](Methods& m, const WorldPtr& w) {
       answer<driver::TaskConfigSchemaResponse>(m, "TaskConfigSchema", [w](auto& a) {
         (*a.mutable_spec()->mutable_object()->mutable_attributes())["kind"].mutable_attr()->set_required(instance(w) ==
                                                                                                          1);
       });
     }},

    {"capabilities.answered", [](Methods& m, const WorldPtr&) { do_nothing(m, "Capabilities"); }},
    {"capabilities.constant",
     [](Methods& m, const WorldPtr& w) {
       answer<driver::CapabilitiesResponse>(m, "Capabilities", [w](auto& a) {
         a.mutable_capabilities()->set_dynamic_workload_users(count(w, "can") % 2 == 0);
       });
     }},
    {"capabilities.constant-after-crash",
     [](Methods& m, const WorldPtr& w) {
       answer<driver::CapabilitiesResponse>(
           m, "Capabilities", [w](auto& a) { a.mutable_capabilities()->set_dynamic_workload_users(instance(w) > 1); });
     }},
    {"capabilities.isolation",
     [](Methods& m, const WorldPtr&) {
       answer<driver::CapabilitiesResponse>(m, "Capabilities", [](auto& a) {
         a.mutable_capabilities()->set_fs_isolation(static_cast<driver::DriverCapabilities::FSIsolation>(9));
       });
     }},
    {"capabilities.network-modes",
     [](Methods& m, const WorldPtr&) {
       answer<driver::CapabilitiesResponse>(m, "Capabilities", [](auto& a) {
         a.mutable_capabilities()->add_network_isolation_modes(
             static_cast<driver::NetworkIsolationSpec::NetworkIsolationMode>(9));
       });
     }},

    {"fingerprint.at-once", [](Methods& m, const WorldPtr&) { delay(m, "Fingerprint", 3200ms); }},
    {"fingerprint.healthy",
     [](Methods& m, const WorldPtr&) {
       answer<Print>(m, "Fingerprint", [](auto& a) { a.set_health(Print::UNHEALTHY); });
     }},
    {"fingerprint.described",
     [](Methods& m, const WorldPtr&) {
       answer<Print>(m, "Fingerprint", [](auto& a) { a.clear_health_description(); });
     }},
    {"fingerprint.no-error",
     [](Methods& m, const WorldPtr&) { answer<Print>(m, "Fingerprint", [](auto& a) { a.set_err("it failed"); }); }},
    {"fingerprint.attributes",
     [](Methods& m, const WorldPtr&) {
       answer<Print>(m, "Fingerprint", [](auto& a) { (*a.mutable_attributes())["colour"].set_string_val("red"); });
     }},
    {"fingerprint.values",
     [](Methods& m, const WorldPtr&) {
       answer<Print>(m, "Fingerprint", [](auto& a) { (void)(*a.mutable_attributes())["driver.reference.empty"]; });
     }},
    {"fingerprint.open",
     [](Methods& m, const WorldPtr&) {
       wrap(m, "Fingerprint", [](const Handler&, Call& call) {
         Print print;
         print.set_health(Print::HEALTHY);
         print.set_health_description("Healthy");
         (void)call.send(serialize(print));
         return ok_status();
       });
     }},
    {"fingerprint.two",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "Fingerprint", [w](const Handler& inner, Call& call) {
         {
           const std::lock_guard lock(w->mutex);
           if (w->in_flight.count(method("Fingerprint")) > 1) return Status(Code::unknown, "one is enough");
         }
         return inner(call);
       });
     }},
    {"fingerprint.cancelled",
     [](Methods& m, const WorldPtr& w) {
       wrap(m, "Fingerprint", [w](const Handler& inner, Call& call) {
         return count(w, "prints") > 3 ? Status(Code::unknown, "no more") : inner(call);
       });
     }},
    {"fingerprint.after-crash",
     [](Methods& m, const WorldPtr& w) {
       answer<Print>(m, "Fingerprint", [w](auto& a) {
         if (instance(w) > 1) a.set_health(Print::UNDETECTED);
       });
     }},
};

}  // namespace

std::span<const Fault> early_faults() { return kFaults; }

void track(Methods& methods, const WorldPtr& world) {
  for (auto& [name, handler] : methods) {
    handler = [inner = handler, name = name, world](Call& call) {
      {
        const std::lock_guard lock(world->mutex);
        world->in_flight.insert(name);
      }
      const Status status = inner(call);
      const std::lock_guard lock(world->mutex);
      if (const auto found = world->in_flight.find(name); found != world->in_flight.end())
        world->in_flight.erase(found);
      return status;
    };
  }
}

}  // namespace drover::faulty
