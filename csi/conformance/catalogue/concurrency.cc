// Several calls at once. A host makes one at a time for a volume, but after its crash two may meet.
#include <future>
#include <set>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

constexpr int kAtOnce = 8;

// The statuses of as many calls at once.
template <typename Call>
auto at_once(const Call& call) {
  std::vector<std::future<decltype(call(0))>> open;
  for (int i = 0; i < kAtOnce; ++i) open.push_back(std::async(std::launch::async, [&call, i] { return call(i); }));
  std::vector<decltype(call(0))> all;
  for (auto& each : open) all.push_back(each.get());
  return all;
}

Status all_are_ok_or_aborted(const std::vector<Status>& all) {
  for (const Status& each : all) {
    const Status right = contract::one_of(each, {Code::ok, Code::aborted});
    if (!right.ok()) return right.with_context(each.message());
  }
  return {};
}

const Check kChecks[] = {
    {"concurrency.reads", "many questions at once are all answered", "calls for no volume do not wait for each other",
     Check::nothing,
     [](Trial& t) -> Status {
       for (const Status& each : at_once([&](int) { return t.done(v1::GetPluginCapabilitiesRequest()); }))
         DROVER_RETURN_IF_ERROR(each);
       return {};
     }},
    {"concurrency.names", "volumes of many names are made at once",
     "one call at a time is the rule for one volume only", Check::create,
     [](Trial& t) -> Status {
       std::set<std::string> ids;
       for (const auto& each : at_once([&](int) { return t.make(t.creation()); })) {
         DROVER_RETURN_IF_ERROR(each.status());
         ids.insert(each->volume_id());
       }
       return expect(ids.size() == kAtOnce, "two of them have the same volume_id");
     }},
    {"concurrency.same-name", "one name at once is one volume", "another call is pending: ABORTED, or wait",
     Check::create,
     [](Trial& t) -> Status {
       const auto request = t.creation();
       std::set<std::string> ids;
       for (const auto& each : at_once([&](int) { return t.make(request); })) {
         DROVER_RETURN_IF_ERROR(all_are_ok_or_aborted({each.status()}));
         if (each) ids.insert(each->volume_id());
       }
       DROVER_TRY(const auto volume, t.make(request));
       ids.insert(volume.volume_id());
       return expect(ids.size() == 1, "there are " + std::to_string(ids.size()) + " volumes of that name");
     }},
    {"concurrency.delete", "one volume deleted at once is gone", "another call is pending: ABORTED, or wait",
     Check::create,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.make(t.creation()));
       const auto request = Trial::deletion(volume.volume_id());
       DROVER_RETURN_IF_ERROR(all_are_ok_or_aborted(at_once([&](int) { return t.done(request); })));
       return t.done(request);
     }},
    {"concurrency.publish", "one target published at once is published once",
     "another call is pending: ABORTED, or wait", Check::node | Check::volume | Check::mounts,
     [](Trial& t) -> Status {
       DROVER_TRY(const Place place, t.staged());
       const auto request = t.publication(place, t.new_target());
       DROVER_RETURN_IF_ERROR(all_are_ok_or_aborted(at_once([&](int) { return t.done(request); })));
       DROVER_RETURN_IF_ERROR(t.done(request));
       DROVER_RETURN_IF_ERROR(t.done(Trial::unpublication(request.volume_id(), request.target_path())));
       for (const std::string& each : mounts_below(t.session().folder))
         DROVER_RETURN_IF_ERROR(expect(each != request.target_path(), "it was mounted more than once"));
       return {};
     }},
    {"concurrency.attach", "one volume attached at once is attached", "another call is pending: ABORTED, or wait",
     Check::attach | Check::volume,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto volume, t.volume());
       const auto request = t.attachment(volume, t.capability());
       DROVER_RETURN_IF_ERROR(all_are_ok_or_aborted(at_once([&](int) { return t.done(request); })));
       return t.done(request);
     }},
};

}  // namespace

std::span<const Check> concurrency_checks() { return kChecks; }

}  // namespace drover::csi_kit
