// Lists, whole and page by page.
#include <algorithm>

#include "../trial.h"
#include "catalogue.h"

namespace drover::csi_kit {
namespace {

constexpr uint32_t kVolumes = Check::create | Check::list;
constexpr uint32_t kSnapshots = Check::create | Check::snapshots | Check::list_snapshots;
constexpr int kMade = 3;
constexpr int kMostPages = 100'000;

const std::string& id_of(const v1::ListVolumesResponse::Entry& entry) { return entry.volume().volume_id(); }
const std::string& id_of(const v1::ListSnapshotsResponse::Entry& entry) { return entry.snapshot().snapshot_id(); }

// Made for the list, so that it has several.
Result<std::vector<std::string>> make_volumes(Trial& t) {
  std::vector<std::string> ids;
  for (int i = 0; i < kMade; ++i) {
    DROVER_TRY(const auto volume, t.make(t.creation()));
    ids.push_back(volume.volume_id());
  }
  return ids;
}

Result<std::vector<std::string>> make_snapshots(Trial& t) {
  DROVER_TRY(const auto volume, t.make(t.creation()));
  std::vector<std::string> ids;
  for (int i = 0; i < kMade; ++i) {
    DROVER_TRY(const auto snapshot, t.snapshot(t.snapshot_of(volume.volume_id())));
    ids.push_back(snapshot.snapshot_id());
  }
  return ids;
}

// Page by page to the end, each with `most` entries at most; 0: as many as there are.
template <typename Request>
Result<std::vector<std::string>> read_all_pages(Trial& t, int most) {
  std::vector<std::string> ids;
  Request request;
  request.set_max_entries(most);
  for (int page = 0; page < kMostPages; ++page) {
    DROVER_TRY(const auto answer, t.ask(request));
    DROVER_RETURN_IF_ERROR(expect(most == 0 || answer.entries_size() <= most,
                                  "a page has " + std::to_string(answer.entries_size()) + " entries"));
    for (const auto& each : answer.entries()) ids.push_back(id_of(each));
    if (answer.next_token().empty()) return ids;
    DROVER_RETURN_IF_ERROR(
        expect(answer.next_token() != request.starting_token(), "next_token is the one before: the list never ends"));
    request.set_starting_token(answer.next_token());
  }
  return failed_precondition("the list never ends");
}

Status expect_each_once(const std::vector<std::string>& made, const std::vector<std::string>& listed) {
  for (const std::string& id : made) {
    const auto times = std::ranges::count(listed, id);
    DROVER_RETURN_IF_ERROR(expect(times == 1, "\"" + id + "\" is in the list " + std::to_string(times) + " times"));
  }
  return {};
}

template <typename Request, auto kMake, int kMost>
Status lists_each_once(Trial& t) {
  DROVER_TRY(const auto made, kMake(t));
  DROVER_TRY(const auto listed, read_all_pages<Request>(t, kMost));
  return expect_each_once(made, listed);
}

template <typename Request>
Status refuses_the_token(Trial& t) {
  Request request;
  request.set_starting_token("drover-csi-test: no token of yours");
  return t.ends(request, {Code::aborted});
}

template <typename Request, auto kMake>
Status goes_on_after_the_first_page(Trial& t) {
  DROVER_RETURN_IF_ERROR(kMake(t).status());
  Request request;
  request.set_max_entries(1);
  DROVER_TRY(const auto answer, t.ask(request));
  return expect(!answer.next_token().empty(), "next_token is empty, and there is more");
}

const Check kChecks[] = {
    {"paging.volumes-all", "ListVolumes lists every volume once", "max_entries 0 means all", kVolumes,
     lists_each_once<v1::ListVolumesRequest, make_volumes, 0>},
    {"paging.volumes-one-by-one", "ListVolumes lists every volume once, one by one",
     "a page has max_entries at most; next_token leads to the next one", kVolumes,
     lists_each_once<v1::ListVolumesRequest, make_volumes, 1>},
    {"paging.volumes-two-by-two", "ListVolumes lists every volume once, two by two",
     "a page has max_entries at most; next_token leads to the next one", kVolumes,
     lists_each_once<v1::ListVolumesRequest, make_volumes, 2>},
    {"paging.volumes-goes-on", "ListVolumes says that there is more", "an empty next_token is the end of the list",
     kVolumes, goes_on_after_the_first_page<v1::ListVolumesRequest, make_volumes>},
    {"paging.volumes-token", "ListVolumes refuses a token that is none", "an invalid starting_token: ABORTED", kVolumes,
     refuses_the_token<v1::ListVolumesRequest>},
    {"paging.volumes-deleted", "a list goes on when a volume is deleted meanwhile",
     "the token stays good, or is refused with ABORTED and the list begins anew", kVolumes,
     [](Trial& t) -> Status {
       DROVER_TRY(const auto made, make_volumes(t));
       v1::ListVolumesRequest request;
       request.set_max_entries(1);
       DROVER_TRY(const auto first, t.ask(request));
       DROVER_RETURN_IF_ERROR(t.done(Trial::deletion(made.front())));
       request.set_starting_token(first.next_token());
       return t.ends(request, {Code::ok, Code::aborted});
     }},
    {"paging.snapshots-all", "ListSnapshots lists every snapshot once", "max_entries 0 means all", kSnapshots,
     lists_each_once<v1::ListSnapshotsRequest, make_snapshots, 0>},
    {"paging.snapshots-one-by-one", "ListSnapshots lists every snapshot once, one by one",
     "a page has max_entries at most; next_token leads to the next one", kSnapshots,
     lists_each_once<v1::ListSnapshotsRequest, make_snapshots, 1>},
    {"paging.snapshots-goes-on", "ListSnapshots says that there is more", "an empty next_token is the end of the list",
     kSnapshots, goes_on_after_the_first_page<v1::ListSnapshotsRequest, make_snapshots>},
    {"paging.snapshots-token", "ListSnapshots refuses a token that is none", "an invalid starting_token: ABORTED",
     kSnapshots, refuses_the_token<v1::ListSnapshotsRequest>},
};

}  // namespace

std::span<const Check> paging_checks() { return kChecks; }

}  // namespace drover::csi_kit
