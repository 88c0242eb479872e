// Checks the promises of a device plugin: its devices, what a task needs to reach them, how they are used.
#include <unistd.h>

#include <algorithm>
#include <set>

#include "nomad/plugins/device.pb.h"
#include "nomad/plugins/structs.pb.h"
#include "trial.h"

namespace drover::conformance {
namespace {

namespace device = hashicorp::nomad::plugins::device;

std::string device_method(std::string_view name) {
  return "/hashicorp.nomad.plugins.device.DevicePlugin/" + std::string(name);
}

std::shared_ptr<Messages> open_prints(Trial& t) {
  return t.open(device_method("Fingerprint"), device::FingerprintRequest());
}
Result<device::FingerprintResponse> fingerprint(Trial& t) {
  return t.next<device::FingerprintResponse>(open_prints(t));
}

std::string name_of(const device::DeviceGroup& group) {
  return group.vendor() + "/" + group.device_type() + "/" + group.device_name();
}

// Returns the first thing that `judge` says against a group.
Status each_group(Trial& t, const std::function<Status(const device::DeviceGroup&)>& judge) {
  DROVER_TRY(const auto print, fingerprint(t));
  for (const auto& group : print.device_group()) DROVER_RETURN_IF_ERROR(judge(group).with_context(name_of(group)));
  return ok_status();
}
Status each_device(Trial& t, const std::function<Status(const device::DetectedDevice&)>& judge) {
  return each_group(t, [&](const device::DeviceGroup& group) -> Status {
    for (const auto& one : group.devices()) DROVER_RETURN_IF_ERROR(judge(one).with_context(one.id()));
    return ok_status();
  });
}

std::set<std::string> ids_of(const device::FingerprintResponse& print) {
  std::set<std::string> ids;
  for (const auto& group : print.device_group()) {
    for (const auto& one : group.devices()) ids.insert(name_of(group) + " " + one.id());
  }
  return ids;
}

// The healthy instances of the first group that has some.
Result<std::vector<std::string>> some_ids(Trial& t) {
  DROVER_TRY(const auto print, fingerprint(t));
  std::vector<std::string> ids;
  for (const auto& group : print.device_group()) {
    for (const auto& one : group.devices()) {
      if (one.healthy()) ids.push_back(one.id());
    }
    if (!ids.empty()) break;
  }
  return ids;
}

Result<device::ReserveResponse> reserve(Trial& t, const std::vector<std::string>& ids) {
  device::ReserveRequest request;
  for (const std::string& id : ids) request.add_device_ids(id);
  return t.call<device::ReserveResponse>(device_method("Reserve"), request);
}

constexpr const char* kNone = "there is no healthy device on this machine";

// Judges the reservation of one healthy device.
Status with_reservation(Trial& t, const std::function<Status(const device::ContainerReservation&)>& judge) {
  DROVER_TRY(const auto ids, some_ids(t));
  if (ids.empty()) return t.inapplicable(kNone);
  DROVER_TRY(const auto answer, reserve(t, {ids.front()}));
  return judge(answer.container_res());
}

Status refuses(Trial& t, const std::vector<std::string>& ids) {
  const auto answer = reserve(t, ids);
  if (answer.ok()) return failure("Reserve succeeds");
  if (answer.status().code() == Code::unavailable || answer.status().code() == Code::deadline_exceeded)
    return answer.status();
  return t.is_alive();
}

std::shared_ptr<Messages> open_stats(Trial& t) {
  device::StatsRequest request;
  *request.mutable_collection_interval() = duration_of(100ms);
  return t.open(device_method("Stats"), request);
}

Status each_sample(Trial& t, const std::function<Status(const std::string&, const device::DeviceStats&)>& judge) {
  DROVER_TRY(const auto stats, t.next<device::StatsResponse>(open_stats(t)));
  bool has_any = false;
  for (const auto& group : stats.groups()) {
    for (const auto& [id, one] : group.instance_stats()) {
      has_any = true;
      DROVER_RETURN_IF_ERROR(judge(id, one).with_context(id));
    }
  }
  // That is allowed: an instance without statistics is left out.
  return has_any ? ok_status() : t.inapplicable("the samples are of no instance");
}

const Check kDevice[] = {
    {"information.device-type", "it says that it is a device plugin", "set type to DEVICE (3) in PluginInfo",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto info, t.info());
       return expect(info.type() == base::DEVICE, "it says type " + std::to_string(info.type()));
     }},

    {"fingerprint.at-once", "its first fingerprint comes without delay", "send one before the first pause of the loop",
     Check::nothing,
     [](Trial& t) -> Status {
       const auto began = std::chrono::steady_clock::now();
       DROVER_RETURN_IF_ERROR(fingerprint(t).status());
       return expect(std::chrono::steady_clock::now() - began < 3s, "it took more than three seconds");
     }},
    {"fingerprint.open", "the stream of fingerprints stays open", "its end withdraws all devices", Check::nothing,
     [](Trial& t) -> Status {
       const auto stream = open_prints(t);
       DROVER_RETURN_IF_ERROR(t.next(stream).status());
       return t.expect_open(stream);
     }},
    {"fingerprint.two", "two streams of fingerprints run side by side", "give each stream a loop of its own",
     Check::nothing,
     [](Trial& t) -> Status {
       const auto one = open_prints(t), two = open_prints(t);
       DROVER_RETURN_IF_ERROR(t.next(one).status().with_context("the first one"));
       return t.next(two).status().with_context("the second one");
     }},
    {"fingerprint.cancelled", "after a cancelled stream of fingerprints the next one answers",
     "end the loop when the call's context ends", Check::nothing,
     [](Trial& t) -> Status {
       for (int i = 0; i < 5; ++i) DROVER_RETURN_IF_ERROR(fingerprint(t).status());
       return ok_status();
     }},
    {"fingerprint.names", "every group has a vendor, a type and a name",
     "jobs ask by vendor/type/name; none may be empty", Check::nothing,
     [](Trial& t) {
       return each_group(t, [](const auto& group) {
         return expect(!group.vendor().empty() && !group.device_type().empty() && !group.device_name().empty(),
                       "one is empty");
       });
     }},
    {"fingerprint.slashes", "no vendor and no type has a slash in it", "a slash separates the parts of a group's name",
     Check::nothing,
     [](Trial& t) {
       return each_group(t, [](const auto& group) {
         return expect(
             group.vendor().find('/') == std::string::npos && group.device_type().find('/') == std::string::npos,
             "there is a slash");
       });
     }},
    {"fingerprint.groups-differ", "no two groups have one name", "put the instances of one name into one group",
     Check::nothing,
     [](Trial& t) -> Status {
       std::set<std::string> names;
       return each_group(
           t, [&](const auto& group) { return expect(names.insert(name_of(group)).second, "it comes twice"); });
     }},
    {"fingerprint.instances", "every group has instances", "leave out a group that has none", Check::nothing,
     [](Trial& t) {
       return each_group(t, [](const auto& group) { return expect(group.devices_size() > 0, "it has none"); });
     }},
    {"fingerprint.ids", "every instance has an ID", "use what stays the same after a restart of the machine",
     Check::nothing,
     [](Trial& t) {
       return each_device(t, [](const auto& one) { return expect(!one.id().empty(), "an ID is empty"); });
     }},
    {"fingerprint.ids-differ", "no two instances have one ID", "Reserve gets IDs alone", Check::nothing,
     [](Trial& t) -> Status {
       std::set<std::string> ids;
       return each_device(t, [&](const auto& one) { return expect(ids.insert(one.id()).second, "it comes twice"); });
     }},
    {"fingerprint.health-described", "an instance that is not healthy says why", "set health_description",
     Check::nothing,
     [](Trial& t) {
       return each_device(t, [](const auto& one) {
         return expect(one.healthy() || !one.health_description().empty(), "it does not");
       });
     }},
    {"fingerprint.values", "each attribute of a group has a value", "set exactly one of the value fields",
     Check::nothing,
     [](Trial& t) {
       return each_group(t, [](const auto& group) -> Status {
         for (const auto& [name, value] : group.attributes()) {
           if (value.value_case() == 0) return failure("\"" + name + "\" has none");
         }
         return ok_status();
       });
     }},
    {"fingerprint.units", "units stand on numbers only", "a text or a truth has no unit", Check::nothing,
     [](Trial& t) {
       return each_group(t, [](const auto& group) -> Status {
         for (const auto& [name, value] : group.attributes()) {
           if (!value.unit().empty() && !value.has_int_val() && !value.has_float_val())
             return failure("\"" + name + "\" has one");
         }
         return ok_status();
       });
     }},
    {"fingerprint.same-again", "asked again it finds the same instances",
     "IDs must not depend on when they are asked for", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, fingerprint(t));
       DROVER_TRY(const auto second, fingerprint(t));
       return expect(ids_of(first) == ids_of(second), "they are others");
     }},
    {"fingerprint.after-crash", "after a crash it finds the same instances",
     "tasks hold instances by their ID; keep it across restarts", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto first, fingerprint(t));
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const auto second, fingerprint(t));
       return expect(ids_of(first) == ids_of(second), "they are others");
     }},

    {"reserve.healthy", "every healthy instance can be reserved", "Reserve looks at the devices, not at who has them",
     Check::nothing,
     [](Trial& t) {
       return each_device(
           t, [&](const auto& one) { return one.healthy() ? reserve(t, {one.id()}).status() : ok_status(); });
     }},
    {"reserve.together", "all healthy instances of a group can be reserved together",
     "go through all the IDs of the request", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto ids, some_ids(t));
       if (ids.empty()) return t.inapplicable(kNone);
       return reserve(t, ids).status();
     }},
    {"reserve.complete", "a reservation is never empty-handed", "set container_res, even with nothing in it",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto ids, some_ids(t));
       if (ids.empty()) return t.inapplicable(kNone);
       DROVER_TRY(const auto answer, reserve(t, {ids.front()}));
       return expect(answer.has_container_res(), "container_res is missing");
     }},
    {"reserve.again", "reserving an instance again gives the same",
     "there is no call that gives it back; the answer depends on the instances alone", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto ids, some_ids(t));
       if (ids.empty()) return t.inapplicable(kNone);
       DROVER_TRY(const auto first, reserve(t, {ids.front()}));
       DROVER_TRY(const auto second, reserve(t, {ids.front()}));
       return expect(serialize(first) == serialize(second), "it gives another answer");
     }},
    {"reserve.after-crash", "after a crash reserving an instance gives the same", "keep nothing of reservations",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto ids, some_ids(t));
       if (ids.empty()) return t.inapplicable(kNone);
       DROVER_TRY(const auto first, reserve(t, {ids.front()}));
       DROVER_RETURN_IF_ERROR(t.replace());
       DROVER_TRY(const auto second, reserve(t, {ids.front()}));
       return expect(serialize(first) == serialize(second), "it gives another answer");
     }},
    {"reserve.unasked", "an instance can be reserved before anybody asks the new process for a fingerprint",
     "look for devices in Reserve, too: after a restart it may come first", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto ids, some_ids(t));
       if (ids.empty()) return t.inapplicable(kNone);
       DROVER_RETURN_IF_ERROR(t.replace());
       return reserve(t, {ids.front()}).status();
     }},
    {"reserve.unknown", "an instance that there is not is refused", "look every ID up", Check::nothing,
     [](Trial& t) { return refuses(t, {"no such instance"}); }},
    {"reserve.unknown-named", "the refusal names the instance", "put the ID into the error's text", Check::nothing,
     [](Trial& t) -> Status {
       const Status status = reserve(t, {"no such instance"}).status();
       return expect(status.message().find("no such instance") != std::string::npos, "it says: " + status.message());
     }},
    {"reserve.mixed", "a known instance together with an unknown one is refused", "look every ID up before answering",
     Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto ids, some_ids(t));
       if (ids.empty()) return t.inapplicable(kNone);
       return refuses(t, {ids.front(), "no such instance"});
     }},
    {"reserve.none", "a reservation of nothing is answered or refused, and it goes on",
     "do not take the first of no IDs", Check::nothing,
     [](Trial& t) -> Status {
       const Status status = reserve(t, {}).status();
       if (status.code() == Code::deadline_exceeded) return status;
       return t.is_alive();
     }},
    {"reserve.environment", "the variables of a reservation have names that an environment can hold",
     "no equals sign, no blank, not empty", Check::nothing,
     [](Trial& t) {
       return with_reservation(t, [](const auto& reservation) -> Status {
         for (const auto& [name, value] : reservation.envs()) {
           if (name.empty() || name.find_first_of("= \n") != std::string::npos || value.find('\0') != std::string::npos)
             return failure("\"" + name + "\"");
         }
         return ok_status();
       });
     }},
    {"reserve.device-paths", "device files are named by absolute paths", "both host_path and task_path", Check::nothing,
     [](Trial& t) {
       return with_reservation(t, [](const auto& reservation) -> Status {
         for (const auto& each : reservation.devices()) {
           if (!each.host_path().starts_with('/') || !each.task_path().starts_with('/'))
             return failure("\"" + each.host_path() + "\" as \"" + each.task_path() + "\"");
         }
         return ok_status();
       });
     }},
    {"reserve.device-files", "device files of a reservation are there", "reserve what exists", Check::nothing,
     [](Trial& t) {
       return with_reservation(t, [](const auto& reservation) -> Status {
         for (const auto& each : reservation.devices()) {
           if (::access(each.host_path().c_str(), F_OK) != 0) return failure(each.host_path() + " is not there");
         }
         return ok_status();
       });
     }},
    {"reserve.permissions", "permissions of device files are made of r, w and m",
     "they go into the device control group", Check::nothing,
     [](Trial& t) {
       return with_reservation(t, [](const auto& reservation) -> Status {
         for (const auto& each : reservation.devices()) {
           if (each.permissions().empty() || each.permissions().find_first_not_of("rwm") != std::string::npos)
             return failure(each.host_path() + " has \"" + each.permissions() + "\"");
         }
         return ok_status();
       });
     }},
    {"reserve.mount-paths", "mounts are named by absolute paths that are there", "both host_path and task_path",
     Check::nothing,
     [](Trial& t) {
       return with_reservation(t, [](const auto& reservation) -> Status {
         for (const auto& each : reservation.mounts()) {
           if (!each.host_path().starts_with('/') || !each.task_path().starts_with('/') ||
               ::access(each.host_path().c_str(), F_OK) != 0)
             return failure("\"" + each.host_path() + "\" at \"" + each.task_path() + "\"");
         }
         return ok_status();
       });
     }},
    {"reserve.at-once", "twenty reservations at once are all answered", "guard what calls share", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto ids, some_ids(t));
       if (ids.empty()) return t.inapplicable(kNone);
       std::vector<std::future<Status>> all;
       for (int i = 0; i < 20; ++i)
         all.push_back(std::async(std::launch::async, [&] { return reserve(t, {ids.front()}).status(); }));
       Status first;
       for (auto& one : all) {
         const Status status = one.get();
         if (first.ok()) first = status;
       }
       return first;
     }},

    {"stats.first", "the first sample comes soon", "send one before the first pause", Check::nothing,
     [](Trial& t) -> Status {
       const auto began = std::chrono::steady_clock::now();
       DROVER_RETURN_IF_ERROR(t.next(open_stats(t)).status());
       return expect(std::chrono::steady_clock::now() - began < 5s, "it took more than five seconds");
     }},
    {"stats.follows", "samples go on coming", "one per interval until the call ends", Check::nothing,
     [](Trial& t) -> Status {
       const auto stream = open_stats(t);
       DROVER_RETURN_IF_ERROR(t.next(stream).status());
       return t.next(stream).status().with_context("the second sample");
     }},
    {"stats.known", "samples are of instances that the fingerprint has", "use the same IDs", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto print, fingerprint(t));
       std::set<std::string> ids;
       for (const auto& group : print.device_group()) {
         for (const auto& one : group.devices()) ids.insert(one.id());
       }
       return each_sample(t,
                          [&](const auto& id, const auto&) { return expect(ids.contains(id), "it is no instance"); });
     }},
    {"stats.timestamp", "every sample has its time", "set timestamp", Check::nothing,
     [](Trial& t) {
       return each_sample(t, [](const auto&, const auto& one) {
         return expect(one.has_timestamp() && one.timestamp().seconds() > 0, "it has none");
       });
     }},
    {"stats.summary", "every sample has a summary with a value", "the one number that lists show", Check::nothing,
     [](Trial& t) {
       return each_sample(t, [](const auto&, const auto& one) {
         const auto& value = one.summary();
         return expect(value.has_float_numerator_val() || value.has_int_numerator_val() || value.has_string_val() ||
                           value.has_bool_val(),
                       "it has none");
       });
     }},
    {"stats.two", "two streams of samples run side by side", "give each stream a loop of its own", Check::nothing,
     [](Trial& t) -> Status {
       const auto one = open_stats(t), two = open_stats(t);
       DROVER_RETURN_IF_ERROR(t.next(one).status());
       return t.next(two).status().with_context("the second stream");
     }},
    {"stats.cancelled", "after cancelled streams of samples the next one answers",
     "end the loop when the call's context ends", Check::nothing,
     [](Trial& t) -> Status {
       for (int i = 0; i < 5; ++i) DROVER_RETURN_IF_ERROR(t.next(open_stats(t)).status());
       return ok_status();
     }},

    kCrashIdle,
    {"crash.fingerprint", "after a crash of the plugin during Fingerprint, the next stream has a fingerprint",
     "keep no lock or file that stops a second start", Check::nothing,
     [](Trial& t) -> Status {
       const auto stream = open_prints(t);
       DROVER_RETURN_IF_ERROR(t.next(stream).status());
       DROVER_RETURN_IF_ERROR(t.replace());
       return fingerprint(t).status();
     }},
    {"crash.reserve", "after a crash of the plugin during Reserve, the instance can be reserved",
     "keep nothing of reservations", Check::nothing,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto ids, some_ids(t));
       if (ids.empty()) return t.inapplicable(kNone);
       auto reserving = std::async(std::launch::async, [&] { return reserve(t, {ids.front()}).status(); });
       (void)reserving.wait_for(kShort);
       t.subject().kill();
       (void)reserving.get();
       DROVER_RETURN_IF_ERROR(t.subject().start());
       DROVER_RETURN_IF_ERROR(t.configure());
       return reserve(t, {ids.front()}).status();
     }},
    {"crash.stats", "after a crash of the plugin during Stats, the next stream has samples",
     "keep no lock or file that stops a second start", Check::nothing,
     [](Trial& t) -> Status {
       const auto stream = open_stats(t);
       DROVER_RETURN_IF_ERROR(t.next(stream).status());
       DROVER_RETURN_IF_ERROR(t.replace());
       return t.next(open_stats(t)).status();
     }},

    {"limits.garbage-reserve", "bytes that are no message are an error of Reserve alone",
     "let the protobuf library refuse them", Check::nothing,
     [](Trial& t) { return survives_garbage(t, device_method("Reserve")); }},
    {"limits.long-id", "an ID of a mebibyte is unknown, like any other",
     "put no bound or path on what is only looked up", Check::nothing,
     [](Trial& t) { return refuses(t, {std::string(1 << 20, 'x')}); }},
    {"limits.many-ids", "ten thousand unknown IDs are refused at once", "stop at the first one that there is not",
     Check::nothing,
     [](Trial& t) -> Status {
       std::vector<std::string> ids;
       for (int i = 0; i < 10'000; ++i) ids.push_back("no such instance " + std::to_string(i));
       return refuses(t, ids);
     }},
    {"limits.abandoned-streams", "two hundred abandoned streams leave nothing behind",
     "end the loop when the call's context ends", Check::nothing,
     [](Trial& t) -> Status {
       for (int i = 0; i < 200; ++i) (i % 2 ? open_prints(t) : open_stats(t))->cancel();
       return t.is_alive();
     }},
};

}  // namespace

std::span<const Check> device_checks() { return kDevice; }

}  // namespace drover::conformance
