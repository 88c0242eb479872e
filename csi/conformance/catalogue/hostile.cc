// Input that no good host sends. The plugin refuses it, and lives.
#include "csi/protocol/method_path.h"

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

Status lives(Trial& t) { return t.done(v1::ProbeRequest()).with_context("after that"); }

// An error of its own, not the end of it.
Status is_refused(Trial& t, const Status& came) {
  DROVER_RETURN_IF_ERROR(expect(!came.ok(), "it is answered with OK"));
  DROVER_RETURN_IF_ERROR(expect(came.code() != Code::unavailable && came.code() != Code::deadline_exceeded,
                                "it is not answered: " + came.message()));
  return lives(t);
}

template <typename Request>
Status garbage(Trial& t) {
  return is_refused(t, t.send(*Request::descriptor(), "\xff\xff\xff\xff garbage"));
}

const Check kChecks[] = {
    {"hostile.garbage-identity", "bytes that are no message do not hurt the identity service",
     "what cannot be read is an error", Check::nothing, garbage<v1::GetPluginInfoRequest>},
    {"hostile.garbage-controller", "bytes that are no message do not hurt the controller",
     "what cannot be read is an error", Check::create, garbage<v1::CreateVolumeRequest>},
    {"hostile.garbage-node", "bytes that are no message do not hurt the node", "what cannot be read is an error",
     Check::node, garbage<v1::NodePublishVolumeRequest>},
    {"hostile.control-characters", "a name with control characters is refused",
     "U+0000 to U+0008 and the like are banned from names", Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.set_name(request.name() + '\x01');
       return t.ends(request, {Code::invalid_argument});
     }},
    {"hostile.unknown-mode", "an access mode that there is not is refused",
     "a field with a value unsupported: an error", Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.mutable_volume_capabilities(0)->mutable_access_mode()->set_mode(static_cast<AccessMode::Mode>(99));
       return is_refused(t, t.done(request));
     }},
    {"hostile.negative", "a negative size is refused", "required_bytes is not negative", Check::create,
     [](Trial& t) -> Status {
       auto request = t.creation();
       request.mutable_capacity_range()->set_required_bytes(-1);
       return is_refused(t, t.done(request));
     }},
    {"hostile.long-id", "an identifier of a megabyte does not hurt", "a string has 128 bytes at most",
     Check::controller,
     [](Trial& t) -> Status {
       v1::ValidateVolumeCapabilitiesRequest request;
       request.set_volume_id(std::string(1 << 20, 'x'));
       *request.add_volume_capabilities() = t.capability();
       return is_refused(t, t.done(request));
     }},
    {"hostile.path-as-id", "an identifier that is a path is none", "identifiers are the plugin's own words",
     Check::controller,
     [](Trial& t) -> Status {
       v1::ValidateVolumeCapabilitiesRequest request;
       request.set_volume_id("../../../../etc");
       *request.add_volume_capabilities() = t.capability();
       return is_refused(t, t.done(request));
     }},
    {"hostile.secret", "no error repeats a secret", "secrets are never logged, and never said", Check::create,
     [](Trial& t) -> Status {
       const std::string secret = "a-secret-of-" + Trial::new_name();
       auto request = t.creation();
       request.clear_volume_capabilities();
       (*request.mutable_secrets())["password"] = secret;
       const Status came = t.send(*v1::CreateVolumeRequest::descriptor(), request.SerializeAsString());
       return expect(came.message().find(secret) == std::string::npos, "the error has the secret in it");
     }},
};

}  // namespace

std::span<const Check> hostile_checks() { return kChecks; }

}  // namespace drover::csi_kit
