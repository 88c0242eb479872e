// Checks what a plugin says of itself before anybody starts a task: information, configuration, capabilities, health.
#include <algorithm>

#include "driver_subject.h"
#include "drover/hclspec.h"
#include "trial.h"

namespace drover::conformance {
namespace {

bool is_version(std::string_view text) {
  int numbers = 0;
  size_t i = text.starts_with('v') ? 1 : 0;
  while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) {
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) ++i;
    ++numbers;
    if (i == text.size() || text[i] == '-' || text[i] == '+') return true;
    if (text[i++] != '.') return false;
  }
  return false;
}

template <typename Answer, typename Request>
Result<std::string> bytes_of(Trial& t, const std::string& method, const Request& request) {
  DROVER_TRY(const Answer answer, t.call<Answer>(method, request));
  return serialize(answer);
}

// The same answer again, and from the next instance.
template <typename Answer, typename Request>
Status is_constant(Trial& t, const std::string& method, const Request& request, bool in_next_instance) {
  DROVER_TRY(const std::string first, (bytes_of<Answer>(t, method, request)));
  if (in_next_instance) DROVER_RETURN_IF_ERROR(t.replace());
  DROVER_TRY(const std::string second, (bytes_of<Answer>(t, method, request)));
  return expect(first == second,
                in_next_instance ? "the next instance answers something else" : "the second answer is another one");
}

Status set_config(Trial& t, const std::string& bytes) {
  base::SetConfigRequest request;
  request.set_plugin_api_version("v0.1.0");
  request.mutable_nomad_config()->mutable_driver()->set_clientminport(20000);
  request.mutable_nomad_config()->mutable_driver()->set_clientmaxport(32000);
  request.set_msgpack_config(bytes);
  return t.call<base::SetConfigResponse>(base_method("SetConfig"), request).status();
}

Status prints(Trial& t, const std::function<Status(const driver::FingerprintResponse&)>& judge) {
  DROVER_TRY(const driver::FingerprintResponse print, t.fingerprint());
  return judge(print);
}

const Check kChecks[] = {
    {"information.unconfigured", "it says what it is before it is configured",
     "PluginInfo comes first of all and must need nothing", Check::nothing, [](Trial& t) { return t.info().status(); }},
    {"information.type", "it says that it is a driver", "set type to DRIVER (2) in PluginInfo", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.info());
       return expect(info.type() == base::DRIVER, "it says type " + std::to_string(info.type()));
     }},
    {"information.name", "it has a name that jobs can write", "letters, digits, dash and underscore", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.info());
       const auto is_good = [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_' || c == '.'; };
       return expect(!info.name().empty() && std::ranges::all_of(info.name(), is_good),
                     "the name is \"" + info.name() + "\"");
     }},
    {"information.version", "its version is one that hosts can compare", "write 1.2.3, with nothing in front",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.info());
       return expect(is_version(info.plugin_version()), "the version is \"" + info.plugin_version() + "\"");
     }},
    {"information.api", "it speaks version v0.1.0 of the driver protocol", "list v0.1.0 in plugin_api_versions",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.info());
       return expect(std::ranges::find(info.plugin_api_versions(), "v0.1.0") != info.plugin_api_versions().end(),
                     "v0.1.0 is not among its versions");
     }},
    {"information.constant", "asked again it says the same", "PluginInfo is constant", Check::nothing,
     [](Trial& t) {
       return is_constant<base::PluginInfoResponse>(t, base_method("PluginInfo"), base::PluginInfoRequest(), false);
     }},
    {"information.constant-after-crash", "after a crash it says the same of itself",
     "a host refuses a plugin that comes back under another name", Check::nothing,
     [](Trial& t) {
       return is_constant<base::PluginInfoResponse>(t, base_method("PluginInfo"), base::PluginInfoRequest(), true);
     }},

    {"configuration.schema-unconfigured", "it gives the schema of its configuration before it is configured",
     "ConfigSchema must need nothing", Check::nothing,
     [](Trial& t) {
       return t.call<base::ConfigSchemaResponse>(base_method("ConfigSchema"), base::ConfigSchemaRequest()).status();
     }},
    {"configuration.schema-readable", "the schema of its configuration can be used",
     "every part set, types written as HCL types, literals as HCL expressions", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto schema,
                  t.call<base::ConfigSchemaResponse>(base_method("ConfigSchema"), base::ConfigSchemaRequest()));
       return schema.has_spec() ? hclspec::check(schema.spec()) : ok_status();
     }},
    {"configuration.schema-constant", "the schema of its configuration is always the same", "build it from constants",
     Check::nothing,
     [](Trial& t) {
       return is_constant<base::ConfigSchemaResponse>(t, base_method("ConfigSchema"), base::ConfigSchemaRequest(),
                                                      false);
     }},
    {"configuration.accepted", "it takes its configuration",
     "what the schema allows must be accepted; null stands for what nobody wrote", Check::nothing,
     [](Trial& t) { return t.configure(); }},
    {"configuration.twice", "it takes the same configuration again",
     "hosts repeat SetConfig; compare before restarting anything", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.configure());
       return t.configure().with_context("the second time");
     }},
    {"configuration.garbage", "a configuration that is no msgpack is refused, and it goes on",
     "check what the decoder says", Check::schema,
     [](Trial& t) -> Status {
       const Status status = set_config(t, "\xc1\xff garbage");
       if (status.ok()) return failure("SetConfig accepts it");
       if (status.code() == Code::unavailable) return status;
       return t.is_alive();
     }},
    {"configuration.after-refusal", "after a refused configuration it takes a good one",
     "keep nothing of the refused one", Check::schema,
     [](Trial& t) -> Status {
       (void)set_config(t, "\xc1\xff garbage");
       return t.configure();
     }},
    {"configuration.init", "it answers Init, or says UNIMPLEMENTED", "leave unknown methods to the gRPC library",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.configure());
       const Status status = t.call<driver::InitResponse>("Init", driver::InitRequest()).status();
       return status.code() == Code::unimplemented ? ok_status() : status;
     }},
    {"configuration.task-schema", "the schema of its tasks can be used", "as for its own configuration", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.configure());
       DROVER_TRY(const auto schema,
                  t.call<driver::TaskConfigSchemaResponse>("TaskConfigSchema", driver::TaskConfigSchemaRequest()));
       return schema.has_spec() ? hclspec::check(schema.spec()) : ok_status();
     }},
    {"configuration.task-schema-constant", "the schema of its tasks is always the same", "hosts ask once and keep it",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.configure());
       return is_constant<driver::TaskConfigSchemaResponse>(t, "TaskConfigSchema", driver::TaskConfigSchemaRequest(),
                                                            false);
     }},
    {"configuration.task-schema-after-crash", "after a crash the schema of its tasks is the same",
     "jobs were checked by it", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_RETURN_IF_ERROR(t.configure());
       return is_constant<driver::TaskConfigSchemaResponse>(t, "TaskConfigSchema", driver::TaskConfigSchemaRequest(),
                                                            true);
     }},

    {"capabilities.answered", "it says what it can do", "answer Capabilities with the message in it", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto answer,
                  t.call<driver::CapabilitiesResponse>("Capabilities", driver::CapabilitiesRequest()));
       return expect(answer.has_capabilities(), "the answer is empty");
     }},
    {"capabilities.constant", "what it can do does not change", "hosts ask once and keep it", Check::nothing,
     [](Trial& t) {
       return is_constant<driver::CapabilitiesResponse>(t, "Capabilities", driver::CapabilitiesRequest(), false);
     }},
    {"capabilities.constant-after-crash", "after a crash it can do the same", "hosts ask once and keep it",
     Check::nothing,
     [](Trial& t) {
       return is_constant<driver::CapabilitiesResponse>(t, "Capabilities", driver::CapabilitiesRequest(), true);
     }},
    {"capabilities.isolation", "its file system isolation is one that hosts know", "NONE, CHROOT, IMAGE or UNVEIL",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto can, t.capabilities());
       return expect(driver::DriverCapabilities::FSIsolation_IsValid(can.fs_isolation()),
                     "it says " + std::to_string(can.fs_isolation()));
     }},
    {"capabilities.network-modes", "its network modes are ones that hosts know", "HOST, GROUP, TASK or NONE",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto can, t.capabilities());
       for (const int mode : can.network_isolation_modes()) {
         if (!driver::NetworkIsolationSpec::NetworkIsolationMode_IsValid(mode))
           return failure("it says " + std::to_string(mode));
       }
       return ok_status();
     }},

    {"fingerprint.at-once", "its first fingerprint comes without delay", "send one before the first pause of the loop",
     Check::nothing,
     [](Trial& t) -> Status {
       const auto began = std::chrono::steady_clock::now();
       DROVER_RETURN_IF_ERROR(t.fingerprint().status());
       return expect(std::chrono::steady_clock::now() - began < 3s, "it took more than three seconds");
     }},
    {"fingerprint.healthy", "it is healthy on this machine",
     "the fingerprint's description says what is missing; most checks of tasks need a healthy driver", Check::nothing,
     [](Trial& t) {
       return prints(t, [](const auto& print) {
         return expect(print.health() == driver::FingerprintResponse::HEALTHY,
                       "it says: " + print.health_description() + " " + print.err());
       });
     }},
    {"fingerprint.described", "it describes its health in words", "set health_description; operators read it",
     Check::nothing,
     [](Trial& t) {
       return prints(t, [](const auto& print) {
         return expect(!print.health_description().empty(), "the description is empty");
       });
     }},
    {"fingerprint.no-error", "a healthy fingerprint carries no error", "leave err empty", Check::nothing,
     [](Trial& t) {
       return prints(t, [](const auto& print) {
         return expect(print.health() != driver::FingerprintResponse::HEALTHY || print.err().empty(),
                       "it says: " + print.err());
       });
     }},
    {"fingerprint.attributes", "its attributes are named after it: driver.NAME…",
     "constraints of jobs look for them there", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.info());
       return prints(t, [&](const auto& print) -> Status {
         const std::string own = "driver." + info.name();
         for (const auto& [name, value] : print.attributes()) {
           if (name != own && !name.starts_with(own + ".") && info.name() != kNoName)
             return failure("\"" + name + "\" is not below \"" + own + "\"");
           if (!name.starts_with("driver.")) return failure("\"" + name + "\" is not below \"driver.\"");
         }
         return ok_status();
       });
     }},
    {"fingerprint.values", "each of its attributes has a value", "set exactly one of the value fields", Check::nothing,
     [](Trial& t) {
       return prints(t, [](const auto& print) -> Status {
         for (const auto& [name, value] : print.attributes()) {
           if (value.value_case() == 0) return failure("\"" + name + "\" has none");
         }
         return ok_status();
       });
     }},
    {"fingerprint.open", "the stream of fingerprints stays open",
     "keep it until the host cancels; its end counts as a failure", Check::nothing,
     [](Trial& t) -> Status {
       const auto stream = t.open("Fingerprint", driver::FingerprintRequest());
       DROVER_RETURN_IF_ERROR(t.next(stream).status());
       return t.expect_open(stream);
     }},
    {"fingerprint.two", "two streams of fingerprints run side by side", "give each stream a loop of its own",
     Check::nothing,
     [](Trial& t) -> Status {
       const auto one = t.open("Fingerprint", driver::FingerprintRequest()),
                  two = t.open("Fingerprint", driver::FingerprintRequest());
       DROVER_RETURN_IF_ERROR(t.next(one).status().with_context("the first one"));
       return t.next(two).status().with_context("the second one");
     }},
    {"fingerprint.cancelled", "after a cancelled stream of fingerprints the next one answers",
     "end the loop when the call's context ends", Check::nothing,
     [](Trial& t) -> Status {
       for (int i = 0; i < 5; ++i) DROVER_RETURN_IF_ERROR(t.fingerprint().status());
       return ok_status();
     }},
    {"fingerprint.after-crash", "after a crash its health is the same",
     "what a fingerprint finds must not depend on a first start", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto before, t.fingerprint());
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const auto after, t.fingerprint());
       return expect(before.health() == after.health(), "it now says: " + after.health_description());
     }},
};

}  // namespace

std::span<const Check> information_checks() { return kChecks; }

}  // namespace drover::conformance
